//! `vcycle-bench peers`: set-up and solve beside other multigrid libraries.

mod measurement;
pub(crate) mod mechanics;
mod on_grid;
mod ours;
mod program;
mod report;
mod strengths;

use std::path::Path;

use vcycle::config::Config;
use vcycle::executor::Executor;

use self::measurement::{Attempt, better};
use self::on_grid::OnGrid;
use self::ours::{Choices, Ours, in_double};
use self::program::{Library, Peer, ProgramPlaces};
use self::report::PeerGroup;
use crate::common::{Result, threads};
use crate::folder::Folder;
use crate::problem::BenchSystem;
use crate::{problem, system_file};

/// Options of `peers`.
#[derive(Clone, Debug, clap::Args)]
pub struct PeersArgs {
    /// Problems of the gallery, or files
    #[arg(long, num_args = 1.., default_values = [
        "poisson7:128", "poisson27:96", "jump7:96,1e6", "aniso5:1000,0.001",
        "elasticity:60x20x20",
    ])]
    problems: Vec<String>,
    /// Whom to compare with
    #[arg(long, num_args = 0.., default_values = ["hypre", "gamg", "amgcl", "pyamg"])]
    peers: Vec<Library>,
    /// Threads, or processes of a peer; all cores unless given. One thread is measured as well
    #[arg(long)]
    threads: Option<usize>,
    /// Turns each solver takes
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    places: ProgramPlaces,
}

pub(crate) fn run(arguments: &PeersArgs) -> Result<()> {
    let config = arguments.choices.config()?;
    let peers = install(&arguments.peers, &arguments.places);
    let mut counts = vec![1, threads(arguments.threads)?];
    counts.dedup();
    let mut groups = Vec::new();
    for name in &arguments.problems {
        let system = problem::system(&Executor::cpu(), name)?;
        let folder = Folder::new()?;
        let file = folder.path().join("system");
        system_file::write(&file, &system)?;
        for &threads in &counts {
            // What `auto` decides is known after a solve.
            let decided = Ours::new(&system, threads)?.solve(&config).1;
            let race = Race {
                name,
                threads,
                rounds: arguments.rounds,
                configs: also_in_double(&config, decided.as_ref()),
                on_grid: match &decided {
                    Some(decided) => OnGrid::new(&system, threads, &config, decided)?,
                    None => None,
                },
                peers: peers.iter().filter(|peer| peer.uses(threads)).collect(),
            };
            groups.push(race.run(&system, &file)?);
        }
    }
    match arguments.json {
        true => say!("{}", report::json(&groups)),
        false => say!(
            "{}\n\nThe fastest set-up and the fastest solve of {} rounds, in turns; b as the problem \
             has it, true relative residual 1e-8.",
            report::text(&groups),
            arguments.rounds
        ),
    }
    Ok(())
}

fn install(libraries: &[Library], places: &ProgramPlaces) -> Vec<Peer> {
    let install = |&library: &Library| Peer::install(library, places);
    libraries.iter().map(install).collect()
}

/// A configuration, and what it decides on in double precision unless it is that already.
fn also_in_double(config: &Config, decided: Option<&Config>) -> Vec<(&'static str, Config)> {
    let double = decided.and_then(in_double);
    let double = double.map(|config| (report::DOUBLE, config));
    let all = [(report::OURS, config.clone())].into_iter().chain(double);
    all.collect()
}

/// One solver with all it needs.
type Solve<'s> = Box<dyn Fn() -> Attempt + 's>;

/// One problem with one number of threads.
struct Race<'r> {
    name: &'r str,
    threads: usize,
    rounds: usize,
    /// What vcycle does, by name.
    configs: Vec<(&'static str, Config)>,
    /// Structured multigrid that starts from a stencil, too.
    on_grid: Option<OnGrid>,
    peers: Vec<&'r Peer>,
}

impl Race<'_> {
    fn run(&self, system: &BenchSystem, file: &Path) -> Result<PeerGroup> {
        let ours = Ours::new(system, self.threads)?;
        let ours = &ours;
        let mut solvers: Vec<(&'static str, Solve<'_>)> = Vec::new();
        for (name, config) in &self.configs {
            solvers.push((*name, Box::new(move || ours.solve(config).0)));
        }
        if let Some(on_grid) = &self.on_grid {
            solvers.push((report::STENCIL, Box::new(|| on_grid.solve())));
        }
        for peer in &self.peers {
            let solve = || peer.solve(file, self.threads);
            solvers.push((peer.name(), Box::new(solve)));
        }
        let mut bests = vec![None; solvers.len()];
        for round in 1..=self.rounds.max(1) {
            for place in 0..solvers.len() {
                // There and back: nobody always comes after the same one, whose caches it finds.
                let place = if round % 2 == 1 {
                    place
                } else {
                    solvers.len() - 1 - place
                };
                let (name, solve) = &solvers[place];
                let attempt = solve();
                self.tell(round, name, &attempt);
                bests[place] = Some(better(bests[place].take(), attempt));
            }
        }
        let names = solvers.iter().map(|(name, _)| *name);
        Ok(PeerGroup {
            problem: self.name.rsplit('/').next().unwrap_or(self.name).to_owned(),
            threads: self.threads,
            solves: names.zip(bests.into_iter().flatten()).collect(),
        })
    }

    fn tell(&self, round: usize, who: &str, attempt: &Attempt) {
        let (name, threads) = (self.name, self.threads);
        match attempt {
            Ok(m) => eprintln!(
                "{name}, threads {threads}, round {round}: {who} {:.3} + {:.3} s",
                m.setup, m.solve
            ),
            Err(why) => eprintln!("{name}, threads {threads}, round {round}: {who} {why}"),
        }
    }
}
