//! Solves within this process beside those of peers, for methods that the program `vcycle` has no options for.

use vcycle::config::Config;

use super::files::Files;
use super::measurement::{Attempt, better};
use super::ours::Ours;
use super::program::Peer;
use super::report::PeerGroup;
use crate::common::Result;
use crate::problem::BenchSystem;

/// One solver with all it needs.
type Solve<'s> = Box<dyn Fn() -> Attempt + 's>;

/// One problem with one number of threads.
pub(super) struct Race<'r> {
    pub(super) name: &'r str,
    pub(super) threads: usize,
    pub(super) rounds: usize,
    /// What vcycle does, by name.
    pub(super) configs: Vec<(&'static str, Config)>,
    pub(super) peers: Vec<&'r Peer>,
}

impl Race<'_> {
    pub(super) fn run(&self, system: &BenchSystem) -> Result<PeerGroup> {
        let ours = Ours::new(system, self.threads)?;
        let (ours, files) = (&ours, Files::new(system)?);
        let mut solvers: Vec<(&'static str, Solve<'_>)> = Vec::new();
        for (name, config) in &self.configs {
            solvers.push((*name, Box::new(move || ours.solve(config))));
        }
        for peer in &self.peers {
            let solve = || peer.solve(&files, self.threads);
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
        let names = solvers.iter().map(|(name, _)| (*name).to_owned());
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
