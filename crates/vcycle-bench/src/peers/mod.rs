//! `vcycle-bench peers`: set-up and solve beside other multigrid libraries.

mod files;
mod measurement;
pub(crate) mod mechanics;
mod program;
mod race;
mod report;
pub(crate) mod scaling;

use std::sync::Arc;

use vcycle::executor::Executor;

use self::files::Files;
pub(crate) use self::measurement::Measurement;
use self::program::Peer;
pub(crate) use self::program::{Library, ProgramPlaces};
use self::race::{Program, race};
use self::report::PeerGroup;
use crate::asked::Asked;
use crate::common::{Result, short, threads};
use crate::problem::{self, BenchSystem};
use crate::table::write;

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let groups = match asked.path("from") {
        Some(file) => report::read(&std::fs::read_to_string(file)?)?,
        None => measured(asked)?,
    };
    if let (Some(file), Some(chart)) = (asked.path("chart"), report::chart(&groups)) {
        write(&file, &chart)?;
    }
    if let Some(file) = asked.path("parts") {
        let text = std::fs::read_to_string(&file)?;
        write(&file, &report::with_parts(&text, &groups)?)?;
    }
    match asked.has("json") {
        true => say!("{}", report::json(&groups)),
        false => say!(
            "{}\n\n{}",
            report::text(asked, &groups),
            asked.note("end", &[])
        ),
    }
    Ok(())
}

/// All problems with all numbers of threads.
fn measured(asked: &Asked) -> Result<Vec<PeerGroup>> {
    let peers = install(&Library::asked(asked), &ProgramPlaces::new(asked));
    let mut counts = asked.counts("threads");
    if counts.is_empty() {
        counts = vec![1, threads(None)?];
        counts.dedup();
    }
    let mut groups = Vec::new();
    for name in asked.list("problems") {
        let system = match problem::system(&Executor::cpu(), name) {
            Ok(system) => system,
            Err(why) => {
                eprintln!("{name} is left out: {why}");
                continue;
            }
        };
        let files = Files::new(&system)?;
        for &threads in &counts {
            let program = Program::new(asked, &files, threads, None)?;
            let ours = asked.list("ours").into_iter();
            let ours = ours.map(|options| program.entrant(options, &files));
            let theirs = peers.iter().filter(|peer| peer.uses(threads));
            let theirs = theirs.map(|peer| race::peer(peer, &files, threads));
            let entrants: Vec<_> = ours.chain(theirs).collect();
            let title = format!("{name}, threads {threads}");
            groups.push(PeerGroup {
                problem: short(name).to_owned(),
                threads,
                solves: race(&title, &entrants, asked.count("rounds")),
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
