//! `vcycle-bench peers`: set-up and solve beside other multigrid libraries.

mod files;
mod measurement;
pub(crate) mod mechanics;
mod program;
mod race;
mod report;
pub(crate) mod scaling;

use std::path::PathBuf;
use std::sync::Arc;

use vcycle::executor::Executor;

use self::files::Files;
pub(crate) use self::measurement::Measurement;
use self::program::Peer;
pub(crate) use self::program::{Library, ProgramPlaces};
use self::race::{Program, race};
use self::report::PeerGroup;
use crate::common::{Result, threads, write};
use crate::problem::{self, BenchSystem};

/// vcycle as it chooses by itself.
const OURS: &str = "vcycle";

/// Options of `peers`.
#[derive(Clone, Debug, clap::Args)]
pub struct PeersArgs {
    /// Problems of the gallery, or files; what there is not is left out
    #[arg(long, num_args = 1.., default_values = [
        "poisson7:128", "poisson27:96", "jump7:64,1e6", "elasticity:80x20x20", "aniso5:1000,0.001",
        "tet:64", "tet:64,1e4",
    ])]
    problems: Vec<String>,
    /// Whom to compare with
    #[arg(long, num_args = 0.., default_values = ["hypre", "gamg", "amgcl", "pyamg"])]
    peers: Vec<Library>,
    /// Options of `vcycle solve` for a row of ours; several times for several rows
    /// [default: none, and --precond amg]
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_values = ["", "--precond amg"], hide_default_value = true)]
    ours: Vec<String>,
    /// The program `vcycle` [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Threads, or processes of a peer [default: 1, and all cores]
    #[arg(long, num_args = 1..)]
    threads: Vec<usize>,
    /// Turns each solver takes, each in a new process
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Measure nothing: take what `--json` has printed before from a file
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Draw the totals as an SVG file, too
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Write our parts of the best peer's time into a file, between the marks it has for them
    #[arg(long, value_name = "FILE")]
    parts: Option<PathBuf>,
    #[command(flatten)]
    places: ProgramPlaces,
}

pub(crate) fn run(arguments: &PeersArgs) -> Result<()> {
    let groups = match &arguments.from {
        Some(file) => report::read(&std::fs::read_to_string(file)?)?,
        None => measured(arguments)?,
    };
    if let (Some(file), Some(chart)) = (&arguments.chart, report::chart(&groups)) {
        write(file, &chart)?;
    }
    if let Some(file) = &arguments.parts {
        let text = std::fs::read_to_string(file)?;
        write(file, &report::with_parts(&text, &groups)?)?;
    }
    match arguments.json {
        true => say!("{}", report::json(&groups)),
        false => say!(
            "{}\n\nEvery solve in a process of its own, in turns; of some rounds the one with the smallest total. \
             Reading is not part of it. b as the problem has it; relative residual 1e-8, computed from the solution \
             by this program.",
            report::text(&groups)
        ),
    }
    Ok(())
}

/// All problems with all numbers of threads.
fn measured(arguments: &PeersArgs) -> Result<Vec<PeerGroup>> {
    let peers = install(&arguments.peers, &arguments.places);
    let mut counts = arguments.threads.clone();
    if counts.is_empty() {
        counts = vec![1, threads(None)?];
        counts.dedup();
    }
    let mut groups = Vec::new();
    for name in &arguments.problems {
        let system = match problem::system(&Executor::cpu(), name) {
            Ok(system) => system,
            Err(why) => {
                eprintln!("{name} is left out: {why}");
                continue;
            }
        };
        let files = Files::new(&system)?;
        for &threads in &counts {
            let program = Program::new(arguments.program.as_deref(), &files, threads, None)?;
            let ours = arguments.ours.iter();
            let ours = ours.map(|options| program.entrant(options, &files));
            let theirs = peers.iter().filter(|peer| peer.uses(threads));
            let theirs = theirs.map(|peer| race::peer(peer, &files, threads));
            let entrants: Vec<_> = ours.chain(theirs).collect();
            let title = format!("{name}, threads {threads}");
            groups.push(PeerGroup {
                problem: name.rsplit('/').next().unwrap_or(name).to_owned(),
                threads,
                solves: race(&title, &entrants, arguments.rounds),
            });
        }
    }
    match groups.is_empty() {
        true => Err("nothing was measured".into()),
        false => Ok(groups),
    }
}

fn install(libraries: &[Library], places: &ProgramPlaces) -> Vec<Peer> {
    let install = |&library: &Library| Peer::install(library, places);
    libraries.iter().map(install).collect()
}

/// Libraries that are measured beside something else.
#[derive(Clone, Default)]
pub(crate) struct Peers(Vec<Arc<Peer>>);

impl Peers {
    pub(crate) fn install(libraries: &[Library], places: &ProgramPlaces) -> Self {
        let peers = install(libraries, places).into_iter();
        Self(peers.map(Arc::new).collect())
    }

    /// That of a library, where it is among them.
    pub(crate) fn of(&self, library: Library) -> Self {
        let wanted = |peer: &&Arc<Peer>| peer.library() == library;
        Self(self.0.iter().filter(wanted).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Solves of a system on all cores, each in a process of its own. A solve that fails is told and left out.
    pub(crate) fn solve(&self, system: &BenchSystem) -> Result<Vec<(&'static str, Measurement)>> {
        let (files, threads) = (Files::new(system)?, threads(None)?);
        let solve = |peer: &Arc<Peer>| {
            let threads = if peer.uses(threads) { threads } else { 1 };
            match peer.solve(&files, threads) {
                Ok(measured) => Some((peer.name(), measured)),
                Err(why) => {
                    eprintln!("    {}: {why}", peer.name());
                    None
                }
            }
        };
        Ok(self.0.iter().filter_map(solve).collect())
    }
}
