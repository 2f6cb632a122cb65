//! `vcycle-bench peers` and `scaling`: set-up and solve beside other multigrid libraries.

mod measurement;
mod program;
mod race;
mod report;

pub(crate) use self::measurement::Measurement;
pub(crate) use self::program::{Library, Peer, ProgramPlaces};
use self::race::{Files, Program, race};
use self::report::PeerGroup;
use crate::common::{cores, short};
use crate::prelude::*;
use crate::problem::{self, BenchSystem};
use crate::table::write;

pub(crate) fn run(args: &Args) -> Result<()> {
    let groups = match args.path("from") {
        Some(file) => report::read(&std::fs::read_to_string(file)?)?,
        None => measured(args)?,
    };
    if let (Some(file), Some(chart)) = (args.path("chart"), report::chart(&groups)) {
        write(&file, &chart)?;
    }
    if let Some(file) = args.path("parts") {
        let text = std::fs::read_to_string(&file)?;
        write(&file, &report::with_parts(&text, &groups)?)?;
    }
    match args.has("json") {
        true => print_line!("{}", report::json(&groups)),
        false => print_line!(
            "{}\n\n{}",
            report::text(args, &groups),
            args.note("end", &[])
        ),
    }
    Ok(())
}

/// All problems with all numbers of threads.
fn measured(args: &Args) -> Result<Vec<PeerGroup>> {
    let peers = Peers::install(&Library::given(args), &ProgramPlaces::new(args));
    let mut counts = args.counts("threads");
    if counts.is_empty() {
        counts = vec![1, cores()?];
        counts.dedup();
    }
    let mut groups = Vec::new();
    for name in args.list("problems") {
        let system = match problem::system(&Executor::cpu(), name) {
            Ok(system) => system,
            Err(why) => {
                eprintln!("{name} is left out: {why}");
                continue;
            }
        };
        let files = Files::new(&system)?;
        for &threads in &counts {
            let program = Program::new(args, &files, threads, None)?;
            let ours = program.entrants(args);
            let entrants: Vec<_> = ours.chain(peers.entrants(&files, threads)).collect();
            let title = format!("{name}, threads {threads}");
            groups.push(PeerGroup {
                problem: short(name).to_owned(),
                threads,
                solves: race(&title, &entrants, args.count("rounds")),
            });
        }
    }
    match groups.is_empty() {
        true => Err("nothing was measured".into()),
        false => Ok(groups),
    }
}

/// `vcycle-bench scaling`: several processes under MPI, ours and hypre's, on the same rows.
pub(crate) fn scaling(args: &Args) -> Result<()> {
    let hypre: &[Library] = match args.has("alone") {
        true => &[],
        false => &[Library::Hypre],
    };
    let peers = Peers::install(hypre, &ProgramPlaces::new(args));
    let (problems, counts) = (args.list("problems"), args.counts("ranks"));
    let pairs: Vec<(&str, usize)> = match args.has("weak") {
        true => problems.into_iter().zip(counts).collect(),
        false => {
            let of = |problem| counts.iter().map(move |&ranks| (problem, ranks));
            problems.into_iter().flat_map(of).collect()
        }
    };
    let mut table = args.table("series");
    for (name, ranks) in pairs {
        let system = problem::system(&Executor::cpu(), name)?;
        let files = Files::new(&system)?;
        let program = Program::new(args, &files, 1, Some(ranks))?;
        let ours = program.entrants(args);
        let entrants: Vec<_> = ours.chain(peers.entrants(&files, ranks)).collect();
        let title = format!("{name}, ranks {ranks}");
        for (who, attempt) in race(&title, &entrants, args.count("rounds")) {
            table.row(match attempt {
                Err(why) => row![name, ranks, who, why],
                Ok(m) => {
                    let iterations = match m.converged() {
                        true => m.iterations.to_string(),
                        false => format!("residual {:.1e}", m.residual),
                    };
                    let (setup, solve, messages) = (m.setup, m.solve, m.messages);
                    row![name, ranks, who, setup, solve, iterations, messages]
                }
            });
        }
    }
    print_line!("{table}");
    Ok(())
}

/// Libraries that are measured beside something else.
#[derive(Clone, Default)]
pub(crate) struct Peers(Vec<Arc<Peer>>);

impl Peers {
    pub(crate) fn install(libraries: &[Library], places: &ProgramPlaces) -> Self {
        let install = |&library: &Library| Arc::new(Peer::install(library, places));
        Self(libraries.iter().map(install).collect())
    }

    /// That of a library, where it is among them.
    pub(crate) fn of(&self, library: Library) -> Self {
        let wanted = |peer: &&Arc<Peer>| peer.library == library;
        Self(self.0.iter().filter(wanted).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that can use so many threads.
    fn entrants<'e>(
        &'e self,
        files: &'e Files<'e>,
        threads: usize,
    ) -> impl Iterator<Item = race::Entrant<'e>> {
        let peers = self.0.iter().filter(move |peer| peer.uses(threads));
        peers.map(move |peer| race::peer(peer, files, threads))
    }

    /// Solves of a system on all cores, each in a process of its own. A solve that fails is reported and left out.
    pub(crate) fn solve(&self, system: &BenchSystem) -> Result<Vec<(&'static str, Measurement)>> {
        let (files, cores) = (Files::new(system)?, cores()?);
        let solve = |peer: &Arc<Peer>| {
            let threads = if peer.uses(cores) { cores } else { 1 };
            let solved = files.solve_by(peer, threads);
            let failed = |why| eprintln!("    {}: {why}", peer.name());
            Some((peer.name(), solved.map_err(failed).ok()?))
        };
        Ok(self.0.iter().filter_map(solve).collect())
    }
}
