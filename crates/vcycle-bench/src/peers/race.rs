//! Solvers that take turns, and how vcycle is one of them: by its program, or within this process.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use vcycle::config::Config;
use vcycle::multigrid::Report;

use super::files::Files;
use super::measurement::{Attempt, Measurement, TOLERANCE, fastest};
use super::program::Peer;
use crate::asked::Asked;
use crate::common::Result;
use crate::problem::{Ready, residual};

/// A solver with all it needs, by name.
pub(super) type Entrant<'e> = (String, Box<dyn Fn() -> Attempt + 'e>);

/// Lets all of them take turns; of each the best round.
pub(super) fn race(title: &str, entrants: &[Entrant<'_>], rounds: usize) -> Vec<(String, Attempt)> {
    let mut bests: Vec<Option<Attempt>> = vec![None; entrants.len()];
    for round in 1..=rounds.max(1) {
        for place in 0..entrants.len() {
            // There and back: nobody always comes after the same one, whose caches it finds.
            let place = match round % 2 {
                1 => place,
                _ => entrants.len() - 1 - place,
            };
            let (who, solve) = &entrants[place];
            let attempt = solve();
            match &attempt {
                Ok(m) => eprintln!(
                    "{title}, round {round}: {who} {:.3} + {:.3} s",
                    m.setup, m.solve
                ),
                Err(why) => eprintln!("{title}, round {round}: {who} {why}"),
            }
            bests[place] = Some(fastest(bests[place].take(), attempt));
        }
    }
    let names = entrants.iter().map(|(name, _)| name.clone());
    names.zip(bests.into_iter().flatten()).collect()
}

/// A peer among them.
pub(super) fn peer<'e>(peer: &'e Peer, files: &'e Files<'_>, threads: usize) -> Entrant<'e> {
    let solve = move || peer.solve(files, threads);
    (peer.name().to_owned(), Box::new(solve))
}

/// `vcycle solve`, in a process of its own for every solve, or in several under MPI.
pub(super) struct Program {
    path: PathBuf,
    arguments: Vec<String>,
    threads: usize,
    ranks: Option<usize>,
}

impl Program {
    /// The program that is asked for; else the one beside this program, or on `PATH`.
    pub(super) fn new(
        asked: &Asked,
        files: &Files<'_>,
        threads: usize,
        ranks: Option<usize>,
    ) -> Result<Self> {
        let name = format!("vcycle{}", std::env::consts::EXE_SUFFIX);
        let beside = std::env::current_exe().map(|own| own.with_file_name(&name));
        let beside = beside.ok().filter(|beside| beside.is_file());
        Ok(Self {
            path: asked
                .path("program")
                .or(beside)
                .unwrap_or_else(|| PathBuf::from(name)),
            arguments: files.for_vcycle()?,
            threads,
            ranks,
        })
    }

    /// A row of ours, by its options.
    pub(super) fn entrant<'e>(&'e self, options: &'e str, files: &'e Files<'_>) -> Entrant<'e> {
        let name = format!("vcycle {}", options.trim());
        let solve = || {
            let solved = self.solve(options, files);
            solved.map_err(|error| format!("failed: {error}"))
        };
        (name.trim_end().to_owned(), Box::new(solve))
    }

    fn solve(&self, options: &str, files: &Files<'_>) -> Result<Measurement> {
        let mut command = match self.ranks {
            None => Command::new(&self.path),
            Some(ranks) => {
                let mut command = Command::new("mpirun");
                command
                    .args(["--oversubscribe", "-n", &ranks.to_string()])
                    .arg(&self.path)
                    .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                command
            }
        };
        let output = command
            .arg("solve")
            .args(&self.arguments)
            .args(["--rtol", &TOLERANCE.to_string()])
            .args(["--threads", &self.threads.to_string(), "--json"])
            .args(options.split_whitespace())
            .arg("--output")
            .arg(files.solution())
            .output()
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let object: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
        let mut measured = measured(&object)?;
        measured.residual = files.vcycle_residual()?;
        Ok(measured)
    }
}

/// What `vcycle solve --json` says of its times; the residual is not taken from there.
fn measured(object: &Value) -> Result<Measurement> {
    if let Some(error) = object["error"].as_str() {
        return Err(error.into());
    }
    let seconds = |key: &str| object[key].as_f64().ok_or_else(|| format!("no `{key}`"));
    let iterations = object["iterations"].as_u64().unwrap_or(0) as usize;
    // Those of the rank that sends most, in all iterations.
    let of_rank = |rank: &Value| rank["traffic"][1]["messages"].as_f64();
    let ranks = object["ranks"].as_array().into_iter().flatten();
    let messages = ranks.filter_map(of_rank).fold(0.0, f64::max);
    Ok(Measurement {
        read: seconds("read_seconds")?,
        setup: seconds("setup_seconds")?,
        solve: seconds("solve_seconds")?,
        iterations,
        residual: f64::NAN,
        complexity: object["operator_complexity"].as_f64(),
        messages: messages / iterations.max(1) as f64,
    })
}

/// vcycle within this process, for methods that its program has no options for.
pub(super) fn within<'e>(name: &str, config: &'e Config, ready: &'e Ready) -> Entrant<'e> {
    let solve = || {
        let solved = ready.once(config);
        let solution = solved.map_err(|error| format!("failed: {error}"))?;
        let residual = residual(ready.matrix(), ready.rhs(), &solution.x);
        Ok(Measurement {
            read: 0.0,
            setup: solution.setup.as_secs_f64(),
            solve: solution.solving.as_secs_f64(),
            iterations: solution.outcome.iterations,
            residual: residual.map_err(|error| error.to_string())?,
            complexity: solution.multigrid.as_ref().map(Report::operator_complexity),
            messages: 0.0,
        })
    };
    (name.to_owned(), Box::new(solve))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vcycle::executor::Executor;

    use super::*;
    use crate::problem;

    #[test]
    fn times_and_messages_are_those_that_the_program_tells() {
        let rank = |count: u64| json!({"traffic": [{"messages": 900}, {"messages": count}]});
        let object = json!({
            "read_seconds": 0.5, "setup_seconds": 1.0, "solve_seconds": 2.0, "iterations": 8,
            "operator_complexity": 1.5, "ranks": [rank(20), rank(40)],
        });
        let one = measured(&object).unwrap();
        assert_eq!((one.read, one.total(), one.iterations), (0.5, 3.0, 8));
        assert_eq!((one.messages, one.converged()), (5.0, false));
        let refused = json!({"status": "error", "error": "no such file"});
        assert_eq!(measured(&refused).unwrap_err().to_string(), "no such file");
    }

    #[test]
    fn rows_are_named_by_their_options_and_measured_by_their_true_residual() {
        let system = problem::system(&Executor::reference(), "poisson5:20").unwrap();
        let files = Files::new(&system).unwrap();
        let line = ["vcycle-bench", "peers", "--program", "no/such/program"];
        let (_, asked) = Asked::read(&crate::asked::command().get_matches_from(line));
        let program = Program::new(&asked, &files, 1, None).unwrap();
        let names = ["", "--precond amg"].map(|options| program.entrant(options, &files).0);
        assert_eq!(names, ["vcycle", "vcycle --precond amg"]);
        let ready = Ready::of(&system, &Executor::reference()).unwrap();
        let config = "solver=cg preconditioner=amg".parse().unwrap();
        let both = [within("ours", &config, &ready), program.entrant("", &files)];
        let solved = race("poisson5:20", &both, 2);
        assert!(solved[0].1.as_ref().unwrap().converged());
        assert!(
            solved[1]
                .1
                .as_ref()
                .unwrap_err()
                .contains("no/such/program")
        );
    }
}
