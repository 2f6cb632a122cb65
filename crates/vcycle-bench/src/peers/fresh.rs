//! vcycle and its peers, every solve in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::files::Files;
use super::measurement::{Attempt, Measurement, TOLERANCE};
use super::program::Peer;
use super::report::{OURS, PeerGroup};
use crate::common::Result;

/// Where the program `vcycle` is: beside this one, or on `PATH`.
pub(super) fn vcycle(asked: Option<&Path>) -> PathBuf {
    if let Some(path) = asked {
        return path.to_owned();
    }
    let name = format!("vcycle{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().map(|own| own.with_file_name(&name));
    match beside {
        Ok(beside) if beside.is_file() => beside,
        _ => PathBuf::from(name),
    }
}

/// One problem with one number of threads.
pub(super) struct FreshRace<'r> {
    pub(super) name: &'r str,
    pub(super) threads: usize,
    pub(super) rounds: usize,
    pub(super) program: &'r Path,
    /// Options of `vcycle solve`, one row each.
    pub(super) ours: &'r [String],
    pub(super) peers: Vec<&'r Peer>,
}

impl FreshRace<'_> {
    pub(super) fn run(&self, files: &Files<'_>) -> Result<PeerGroup> {
        let arguments = files.for_vcycle()?;
        let ours = self.ours.iter().map(|options| label(options));
        let peers = self.peers.iter().map(|peer| peer.name().to_owned());
        let names: Vec<String> = ours.chain(peers).collect();
        let mut bests: Vec<Option<Attempt>> = vec![None; names.len()];
        for round in 1..=self.rounds.max(1) {
            for place in 0..names.len() {
                let attempt = match place.checked_sub(self.ours.len()) {
                    None => self.solve(&arguments, &self.ours[place], files),
                    Some(peer) => self.peers[peer].solve(files, self.threads),
                };
                self.tell(round, &names[place], &attempt);
                bests[place] = Some(fastest(bests[place].take(), attempt));
            }
        }
        Ok(PeerGroup {
            problem: self.name.rsplit('/').next().unwrap_or(self.name).to_owned(),
            threads: self.threads,
            solves: names.into_iter().zip(bests.into_iter().flatten()).collect(),
        })
    }

    /// A solve by `vcycle solve` with some options.
    fn solve(&self, arguments: &[String], options: &str, files: &Files<'_>) -> Attempt {
        let solved = || -> Result<Measurement> {
            let output = Command::new(self.program)
                .arg("solve")
                .args(arguments)
                .args(["--rtol", &TOLERANCE.to_string()])
                .args(["--threads", &self.threads.to_string(), "--json", "--output"])
                .arg(files.solution())
                .args(options.split_whitespace())
                .output()
                .map_err(|error| format!("{}: {error}", self.program.display()))?;
            let object: Value = serde_json::from_slice(&output.stdout)
                .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
            let mut measured = measured(&object)?;
            measured.residual = files.vcycle_residual()?;
            Ok(measured)
        };
        solved().map_err(|error| format!("failed: {error}"))
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

fn label(options: &str) -> String {
    match options.trim() {
        "" => OURS.to_owned(),
        options => format!("{OURS} {options}"),
    }
}

/// What `vcycle solve --json` says of its times; the residual is not taken from there.
pub(super) fn measured(object: &Value) -> Result<Measurement> {
    if let Some(error) = object["error"].as_str() {
        return Err(error.into());
    }
    let seconds = |key: &str| object[key].as_f64().ok_or_else(|| format!("no `{key}`"));
    Ok(Measurement {
        read: seconds("read_seconds")?,
        setup: seconds("setup_seconds")?,
        solve: seconds("solve_seconds")?,
        iterations: object["iterations"].as_u64().unwrap_or(0) as usize,
        residual: f64::NAN,
        complexity: object["operator_complexity"].as_f64(),
        messages: 0.0,
    })
}

/// The better of two rounds: one that succeeded, and of two such the one with the smaller total, whole.
pub(super) fn fastest(old: Option<Attempt>, new: Attempt) -> Attempt {
    match (old, new) {
        (Some(Ok(old)), Ok(new)) if old.converged() == new.converged() => {
            Ok(if new.total() < old.total() { new } else { old })
        }
        (Some(Ok(old)), new) if old.converged() || new.is_err() => Ok(old),
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_those_of_one_process() {
        let object = json!({
            "read_seconds": 0.5, "setup_seconds": 1.0, "solve_seconds": 2.0, "iterations": 7,
            "operator_complexity": 1.5,
        });
        let mut one = measured(&object).unwrap();
        assert_eq!((one.read, one.total(), one.iterations), (0.5, 3.0, 7));
        assert!(!one.converged());
        one.residual = 1e-9;
        let other = Measurement {
            setup: 0.5,
            solve: 2.6,
            ..one.clone()
        };
        assert_eq!(
            fastest(Some(Ok(other.clone())), Ok(one.clone())).unwrap(),
            one
        );
        assert_eq!(
            fastest(Some(Ok(one.clone())), Err("failed".to_owned())).unwrap(),
            one
        );
        let wrong = Measurement {
            residual: 1.0,
            setup: 0.1,
            ..one.clone()
        };
        assert_eq!(
            fastest(Some(Ok(one.clone())), Ok(wrong.clone())).unwrap(),
            one
        );
        assert_eq!(fastest(Some(Ok(wrong)), Ok(one.clone())).unwrap(), one);
        let refused = json!({"status": "error", "error": "no such file"});
        assert_eq!(measured(&refused).unwrap_err().to_string(), "no such file");
    }

    #[test]
    fn rows_are_named_by_their_options() {
        assert_eq!(label(""), "vcycle");
        assert_eq!(label("--precond amg"), "vcycle --precond amg");
        assert_eq!(vcycle(Some(Path::new("a/b"))), Path::new("a/b"));
    }
}
