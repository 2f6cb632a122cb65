//! `vcycle-bench scaling`: several processes under MPI, ours and hypre's, on the same rows.

use std::path::PathBuf;

use vcycle::executor::Executor;

use super::files::Files;
use super::measurement::Attempt;
use super::program::{Library, Peer, ProgramPlaces};
use super::race::{self, Program, race};
use crate::common::{Result, Table};
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

pub(crate) fn run(arguments: &ScalingArgs) -> Result<()> {
    let peer = (!arguments.alone).then(|| Peer::install(Library::Hypre, &arguments.places));
    let ranks = || arguments.ranks.iter().copied();
    let pairs: Vec<(&String, usize)> = match arguments.weak {
        true => arguments.problems.iter().zip(ranks()).collect(),
        false => {
            let of = |problem| ranks().map(move |ranks| (problem, ranks));
            arguments.problems.iter().flat_map(of).collect()
        }
    };
    let mut table =
        Table::new("problem | ranks | | set-up s | solve s | iterations | messages an iteration");
    for (name, ranks) in pairs {
        let system = problem::system(&Executor::cpu(), name)?;
        let files = Files::new(&system)?;
        let program = Program::new(arguments.program.as_deref(), &files, 1, Some(ranks))?;
        let ours = arguments.ours.iter();
        let ours = ours.map(|options| program.entrant(options, &files));
        let theirs = peer.iter().map(|peer| race::peer(peer, &files, ranks));
        let entrants: Vec<_> = ours.chain(theirs).collect();
        let title = format!("{name}, ranks {ranks}");
        for (who, attempt) in race(&title, &entrants, arguments.rounds) {
            table.row(format!("{name} | {ranks} | {who} | {}", cells(&attempt)));
        }
    }
    say!("{table}");
    Ok(())
}

fn cells(attempt: &Attempt) -> String {
    let found = match attempt {
        Err(why) => return why.clone(),
        Ok(found) => found,
    };
    let iterations = match found.converged() {
        true => found.iterations.to_string(),
        false => format!("residual {:.1e}", found.residual),
    };
    let (setup, solve, messages) = (found.setup, found.solve, found.messages);
    format!("{setup:.3} | {solve:.3} | {iterations} | {messages:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_its_row() {
        let why = "failed: no mpirun".to_owned();
        assert_eq!(cells(&Err(why.clone())), why);
    }
}
