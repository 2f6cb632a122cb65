//! `vcycle-bench scaling`: several processes under MPI, ours and hypre's, on the same rows.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use vcycle::executor::Executor;

use super::files::Files;
use super::fresh::{fastest, measured, vcycle};
use super::measurement::{Attempt, Measurement, TOLERANCE};
use super::program::{Library, Peer, ProgramPlaces};
use crate::common::{Result, table};
use crate::problem;

/// Options of `scaling`.
#[derive(Clone, Debug, clap::Args)]
pub struct ScalingArgs {
    /// Problems of the gallery
    #[arg(long, num_args = 1.., default_values = ["poisson7:96"])]
    problems: Vec<String>,
    /// Ranks, each a process with one thread
    #[arg(long, num_args = 1.., default_values_t = [1, 2])]
    ranks: Vec<usize>,
    /// A weak series: problems and ranks go together one by one
    #[arg(long)]
    weak: bool,
    /// Options of `vcycle solve` for a row of ours; several times for several rows
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_values = ["", "--precond amg", "--coarsening pmis"], hide_default_value = true)]
    ours: Vec<String>,
    /// The program `vcycle` [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Turns each solver takes
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Leave hypre out
    #[arg(long)]
    alone: bool,
    #[command(flatten)]
    places: ProgramPlaces,
}

/// What one solver took with a number of ranks.
struct Line {
    who: String,
    attempt: Attempt,
}

pub(crate) fn run(arguments: &ScalingArgs) -> Result<()> {
    let peer = (!arguments.alone).then(|| Peer::install(Library::Hypre, &arguments.places));
    let program = vcycle(arguments.program.as_deref());
    let pairs: Vec<(&String, usize)> = match arguments.weak {
        true => arguments
            .problems
            .iter()
            .zip(arguments.ranks.iter().copied())
            .collect(),
        false => {
            let of = |problem| arguments.ranks.iter().map(move |&ranks| (problem, ranks));
            arguments.problems.iter().flat_map(of).collect()
        }
    };
    let mut lines = table(&[
        "problem",
        "ranks",
        "",
        "set-up s",
        "solve s",
        "iterations",
        "messages an iteration",
    ]);
    for (name, ranks) in pairs {
        let system = problem::system(&Executor::cpu(), name)?;
        let files = Files::new(&system)?;
        for line in race(arguments, &program, peer.as_ref(), &files, ranks)? {
            lines.add_row(row(name, ranks, &line));
        }
    }
    say!("{lines}");
    Ok(())
}

/// All solvers take turns.
fn race(
    arguments: &ScalingArgs,
    program: &Path,
    peer: Option<&Peer>,
    files: &Files<'_>,
    ranks: usize,
) -> Result<Vec<Line>> {
    let system = files.for_vcycle()?;
    let ours = arguments
        .ours
        .iter()
        .map(|options| format!("vcycle {options}"));
    let names: Vec<String> = ours
        .chain(peer.map(|peer| peer.name().to_owned()))
        .collect();
    let mut bests: Vec<Option<Attempt>> = vec![None; names.len()];
    for _ in 0..arguments.rounds.max(1) {
        for (place, best) in bests.iter_mut().enumerate() {
            let attempt = match (arguments.ours.get(place), peer) {
                (Some(options), _) => solve(program, &system, options, files, ranks),
                (None, Some(peer)) => peer.solve(files, ranks),
                (None, None) => unreachable!("one more than ours is a peer"),
            };
            *best = Some(fastest(best.take(), attempt));
        }
    }
    let pairs = names.into_iter().zip(bests.into_iter().flatten());
    Ok(pairs.map(|(who, attempt)| Line { who, attempt }).collect())
}

/// A solve by processes of `vcycle solve`.
fn solve(
    program: &Path,
    system: &[String],
    options: &str,
    files: &Files<'_>,
    ranks: usize,
) -> Attempt {
    let solved = || -> Result<Measurement> {
        let output = Command::new("mpirun")
            .args(["--oversubscribe", "-n", &ranks.to_string()])
            .arg(program)
            .arg("solve")
            .args(system)
            .args(["--rtol", &TOLERANCE.to_string(), "--threads", "1", "--json"])
            .args(options.split_whitespace())
            .arg("--output")
            .arg(files.solution())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .output()?;
        let object: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
        let mut measured = measured(&object)?;
        measured.residual = files.vcycle_residual()?;
        measured.messages = messages(&object) / measured.iterations.max(1) as f64;
        Ok(measured)
    };
    solved().map_err(|error| format!("failed: {error}"))
}

/// Messages that the rank that sends most has sent in all iterations.
fn messages(object: &Value) -> f64 {
    let of_rank = |rank: &Value| rank["traffic"][1]["messages"].as_f64();
    let ranks = object["ranks"].as_array();
    let ranks = ranks.into_iter().flatten().filter_map(of_rank);
    ranks.fold(0.0, f64::max)
}

fn row(problem: &str, ranks: usize, line: &Line) -> Vec<String> {
    let mut cells = vec![problem.to_owned(), ranks.to_string(), line.who.clone()];
    match &line.attempt {
        Err(why) => cells.push(why.clone()),
        Ok(found) => cells.extend([
            format!("{:.3}", found.setup),
            format!("{:.3}", found.solve),
            match found.converged() {
                true => found.iterations.to_string(),
                false => format!("residual {:.1e}", found.residual),
            },
            format!("{:.1}", found.messages),
        ]),
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rank_that_sends_most_counts() {
        let rank = |count: u64| json!({"traffic": [{"messages": 900}, {"messages": count}]});
        assert_eq!(messages(&json!({"ranks": [rank(20), rank(40)]})), 40.0);
        assert_eq!(messages(&json!({"status": "error"})), 0.0);
    }

    #[test]
    fn a_failure_is_told_in_its_row() {
        let line = Line {
            who: "vcycle".to_owned(),
            attempt: Err("failed: no mpirun".to_owned()),
        };
        assert_eq!(row("poisson5:9", 2, &line)[3], "failed: no mpirun");
    }
}
