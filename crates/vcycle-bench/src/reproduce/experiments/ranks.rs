//! Solves over several ranks, each a thread.

use std::sync::Arc;

use vcycle::communicator::threads;
use vcycle::config::{Config, SharedSystem, solve_shared};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::matrix::Distributed;
use vcycle::vector::Vector;

use super::super::experiment::Scope;
use crate::common::Result;

/// What a solve over ranks took, set-up and iterations, and how many.
#[derive(Clone, Copy)]
pub(super) struct Solved {
    pub seconds: f64,
    pub iterations: usize,
}

/// How many ranks there are to be: as many as cores at most, and two at least.
pub(super) fn counts(scope: &Scope) -> Result<Vec<usize>> {
    let cores = std::thread::available_parallelism()?.get();
    let most = scope.size([2, 2, cores.max(2)]);
    let counts = [1, 2, 4, 8, 16].into_iter();
    Ok(counts.filter(|&count| count <= most).collect())
}

/// The shortest of some solves by ranks of one thread each.
pub(super) fn solve(problem: &str, config: &Config, ranks: usize, rounds: usize) -> Result<Solved> {
    let solved = threads::run(ranks, |team| {
        let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let (a, b) = part(problem, &rank)?;
        let b = Vector::from_column(&rank, b);
        let system = SharedSystem::new(Arc::new(a));
        let mut best: Option<Solved> = None;
        for _ in 0..rounds {
            let solution = solve_shared(config, &system, &b, &Workspace::new())?;
            let seconds = (solution.setup + solution.solving).as_secs_f64();
            if best.is_none_or(|best| seconds < best.seconds) {
                best = Some(Solved {
                    seconds,
                    iterations: solution.outcome.iterations,
                });
            }
        }
        Ok(best)
    })?;
    let first = solved.into_iter().next().flatten();
    first.ok_or_else(|| "no rank has solved".into())
}

/// The rows of a rank; what is not made in parts is made by every rank as a whole.
fn part(problem: &str, rank: &Executor) -> vcycle::Result<(Distributed<f64>, Vec<f64>)> {
    if let Some(part) = gallery::build_part(problem, rank)? {
        return Ok(part);
    }
    let whole = gallery::build(problem, &Executor::cpu_with_threads(1)?)?;
    let a = Distributed::spread(rank, Some(&whole.matrix), 1)?;
    let own = a.rows().range(a.team().rank());
    let b = whole.rhs[own.start as usize..own.end as usize].to_vec();
    Ok((a, b))
}
