//! Solvers that take turns, vcycle and peers, each in processes of its own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use vcycle::io::{AnyVector, read_vector, write_matrix, write_vector};

use super::measurement::{Attempt, Measurement, TOLERANCE, fastest};
use super::program::{Peer, mpirun};
use crate::common::Folder;
use crate::install::output;
use crate::prelude::*;
use crate::problem::BenchSystem;
use crate::system_file;

/// A solver with all it needs, by name.
pub(super) type Entrant<'e> = (String, Box<dyn Fn() -> Result<Measurement> + 'e>);

/// Lets all of them take turns; of each the best round.
pub(super) fn race(title: &str, entrants: &[Entrant<'_>], rounds: usize) -> Vec<(String, Attempt)> {
    let mut bests: Vec<Option<Attempt>> = vec![None; entrants.len()];
    for round in 1..=rounds.max(1) {
        for place in 0..entrants.len() {
            // There and back, so that nobody always finds the caches of the same one.
            let place = match round % 2 {
                1 => place,
                _ => entrants.len() - 1 - place,
            };
            let (who, solve) = &entrants[place];
            let attempt = solve().map_err(|error| error.to_string());
            let text = match &attempt {
                Ok(m) => format!("{:.3} + {:.3} s", m.setup, m.solve),
                Err(why) => why.clone(),
            };
            eprintln!("{title}, round {round}: {who} {text}");
            bests[place] = Some(fastest(bests[place].take(), attempt));
        }
    }
    let names = entrants.iter().map(|(name, _)| name.clone());
    names.zip(bests.into_iter().flatten()).collect()
}

/// A system in files of a temporary folder, for programs that solve it and leave their solution there.
pub(super) struct Files<'s> {
    folder: Folder,
    system: &'s BenchSystem,
}

impl<'s> Files<'s> {
    /// Writes the raw arrays, which the programs of the peers read.
    pub(super) fn new(system: &'s BenchSystem) -> Result<Self> {
        let folder = Folder::new()?;
        let files = Self { folder, system };
        system_file::write(&files.path("system"), system)?;
        Ok(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes matrix, right-hand side and near-nullspace as `vcycle solve` reads them; returns its arguments.
    fn for_vcycle(&self) -> Result<Vec<String>> {
        let system = self.system;
        let files = ["a.npz", "b.npy", "modes.npy"].map(|name| self.path(name));
        let [matrix, rhs, near] = files.each_ref().map(|path| path.display().to_string());
        let host = Executor::reference();
        write_matrix(&files[0], &system.matrix)?;
        write_vector(&files[1], &Vector::from_column(&host, system.rhs.clone()))?;
        let mut arguments = vec![matrix, "--rhs".to_owned(), rhs];
        let modes = system.modes();
        if !modes.is_empty() {
            let rows = 0..system.rhs.len();
            let values = rows.flat_map(|row| modes.iter().map(move |mode| mode[row]));
            let modes = Vector::from_rows(&host, modes.len(), values.collect())?;
            write_vector(&files[2], &modes)?;
            let block = system.block_size().to_string();
            let known = ["--near-nullspace", &near, "--block-size", &block];
            arguments.extend(known.map(str::to_owned));
        }
        Ok(arguments)
    }

    /// The relative residual of what vcycle has written.
    fn vcycle_residual(&self) -> Result<f64> {
        match read_vector(self.path("x.npy"), &Executor::reference())? {
            AnyVector::Real(x) => self.system.residual(x.to_vec()),
            AnyVector::Complex(_) => Err("the solution is complex".into()),
        }
    }

    /// Solves by a peer in a new process; the residual is that of the solution it leaves.
    pub(super) fn solve_by(&self, peer: &Peer, threads: usize) -> Result<Measurement> {
        let (system, x) = (self.path("system"), self.path("x"));
        let mut command = peer.command(threads)?;
        // Processes write their rows to it.
        system_file::write_zeros(&x, self.system)?;
        let solved = || {
            let mut measured = Measurement::parse(&output(command.arg(system).arg(&x))?)?;
            measured.residual = system_file::residual(&x, self.system)?;
            Ok(measured)
        };
        failing(solved())
    }
}

fn failing<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| format!("failed: {error}").into())
}

/// A peer among the entrants.
pub(super) fn peer<'e>(peer: &'e Peer, files: &'e Files<'_>, threads: usize) -> Entrant<'e> {
    let solve = move || files.solve_by(peer, threads);
    (peer.name().to_owned(), Box::new(solve))
}

/// `vcycle solve`, in a process of its own for every solve, or in several under MPI.
pub(super) struct Program<'f> {
    path: PathBuf,
    files: &'f Files<'f>,
    arguments: Vec<String>,
    ranks: Option<usize>,
}

impl<'f> Program<'f> {
    /// The program of `--program`; else the one beside this program, or on `PATH`.
    pub(super) fn new(
        args: &Args,
        files: &'f Files<'f>,
        threads: usize,
        ranks: Option<usize>,
    ) -> Result<Self> {
        let name = format!("vcycle{}", std::env::consts::EXE_SUFFIX);
        let beside = std::env::current_exe().map(|own| own.with_file_name(&name));
        let beside = beside.ok().filter(|beside| beside.is_file());
        let path = args.path("program").or(beside);
        let mut arguments = files.for_vcycle()?;
        let (rtol, threads) = (TOLERANCE.to_string(), threads.to_string());
        let common = ["--json", "--rtol", &rtol, "--threads", &threads];
        arguments.extend(common.map(str::to_owned));
        Ok(Self {
            path: path.unwrap_or_else(|| PathBuf::from(name)),
            files,
            arguments,
            ranks,
        })
    }

    /// An entrant for every row of `--ours`, named by its options.
    pub(super) fn entrants<'e>(&'e self, args: &'e Args) -> impl Iterator<Item = Entrant<'e>> {
        args.list("ours").into_iter().map(move |options| {
            let name = format!("vcycle {}", options.trim());
            let solve = Box::new(move || failing(self.solve(options)));
            (name.trim_end().to_owned(), solve as Box<_>)
        })
    }

    fn solve(&self, options: &str) -> Result<Measurement> {
        let mut command = match self.ranks {
            None => Command::new(&self.path),
            Some(ranks) => mpirun(&self.path, ranks),
        };
        let solution = self.files.path("x.npy");
        // There is none before the first solve.
        let _ = std::fs::remove_file(&solution);
        let output = command
            .arg("solve")
            .args(&self.arguments)
            .args(options.split_whitespace())
            .arg("--output")
            .arg(solution)
            .output()
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let object: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
        let mut measured = measured(object)?;
        measured.residual = self.files.vcycle_residual()?;
        Ok(measured)
    }
}

/// What `vcycle solve --json` prints.
fn measured(object: Value) -> Result<Measurement> {
    if let Some(error) = object["error"].as_str() {
        return Err(error.into());
    }
    // Those of the rank that sends most, in all iterations.
    let of_rank = |rank: &Value| rank["traffic"][1]["messages"].as_f64();
    let ranks = object["ranks"].as_array().into_iter().flatten();
    let messages = ranks.filter_map(of_rank).fold(0.0, f64::max);
    let mut measured: Measurement = serde_json::from_value(object)?;
    measured.messages = messages / measured.iterations.max(1) as f64;
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::system;

    #[test]
    fn times_and_messages_are_those_that_the_program_prints() {
        let rank = |count: u64| json!({"traffic": [{"messages": 900}, {"messages": count}]});
        let object = json!({
            "read_seconds": 0.5, "setup_seconds": 1.0, "solve_seconds": 2.0, "iterations": 8,
            "operator_complexity": 1.5, "relative_residual": 1e-3, "ranks": [rank(20), rank(40)],
        });
        let one = measured(object).unwrap();
        assert_eq!((one.read, one.total(), one.iterations), (0.5, 3.0, 8));
        assert_eq!((one.messages, one.converged()), (5.0, false));
        let refused = json!({"status": "error", "error": "no such file"});
        assert_eq!(measured(refused).unwrap_err().to_string(), "no such file");
    }

    #[test]
    fn rows_are_named_by_their_options_and_residuals_are_those_of_the_solution_in_the_file() {
        let system = system(&Executor::reference(), "elasticity:2x1x1").unwrap();
        let files = Files::new(&system).unwrap();
        let args = Args::parse("peers --program no/such/program");
        let program = Program::new(&args, &files, 1, None).unwrap();
        let all: Vec<_> = program.entrants(&args).collect();
        let solved = race("elasticity", &all, 2);
        let names: Vec<&str> = solved.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["vcycle", "vcycle --precond amg"]);
        let why = solved[0].1.as_ref().unwrap_err();
        assert!(why.contains("no/such/program"), "{why}");
        // vcycle gets the modes that peers get.
        let arguments = &program.arguments;
        assert_eq!(arguments[3], "--near-nullspace");
        assert_eq!(arguments[5..7], ["--block-size", "3"]);
        let modes = read_vector(&arguments[4], &Executor::reference()).unwrap();
        assert_eq!((modes.size().rows, modes.size().cols), (24, 6));
        let zeros = Vector::<f64>::zeros(&Executor::reference(), 24, 1).unwrap();
        write_vector(files.path("x.npy"), &zeros).unwrap();
        assert_eq!(files.vcycle_residual().unwrap(), 1.0);
    }
}
