//! `vcycle-bench scaling`: several processes under MPI, ours and hypre's, on the same rows.

use vcycle::executor::Executor;

use super::files::Files;
use super::program::{Library, Peer, ProgramPlaces};
use super::race::{self, Program, race};
use crate::asked::Asked;
use crate::common::Result;
use crate::problem;
use crate::table::row;

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let places = ProgramPlaces::new(asked);
    let peer = (!asked.has("alone")).then(|| Peer::install(Library::Hypre, &places));
    let (problems, counts) = (asked.list("problems"), asked.counts("ranks"));
    let pairs: Vec<(&str, usize)> = match asked.has("weak") {
        true => problems.into_iter().zip(counts).collect(),
        false => {
            let of = |problem| counts.iter().map(move |&ranks| (problem, ranks));
            problems.into_iter().flat_map(of).collect()
        }
    };
    let mut table = asked.table("series");
    for (name, ranks) in pairs {
        let system = problem::system(&Executor::cpu(), name)?;
        let files = Files::new(&system)?;
        let program = Program::new(asked, &files, 1, Some(ranks))?;
        let ours = asked.list("ours").into_iter();
        let ours = ours.map(|options| program.entrant(options, &files));
        let theirs = peer.iter().map(|peer| race::peer(peer, &files, ranks));
        let entrants: Vec<_> = ours.chain(theirs).collect();
        let title = format!("{name}, ranks {ranks}");
        for (who, attempt) in race(&title, &entrants, asked.count("rounds")) {
            table.row(match attempt {
                Err(why) => row![name, ranks, who, why],
                Ok(found) => {
                    let iterations = match found.converged() {
                        true => found.iterations.to_string(),
                        false => format!("residual {:.1e}", found.residual),
                    };
                    row![
                        name,
                        ranks,
                        who,
                        found.setup,
                        found.solve,
                        iterations,
                        found.messages
                    ]
                }
            });
        }
    }
    say!("{table}");
    Ok(())
}
