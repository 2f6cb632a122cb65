//! Solves over several ranks, each a thread.

use std::sync::Arc;

use vcycle::communicator::threads;
use vcycle::config::{Config, RunConfig, SharedSystem, solve_shared};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery::{self, Problem};
use vcycle::matrix::{Distributed, Partition};
use vcycle::vector::Vector;

use super::super::experiment::Scope;
use crate::common::Result;

/// What a solve over ranks took, set-up and iterations, and how many.
#[derive(Clone, Copy)]
pub(super) struct Solved {
    pub seconds: f64,
    pub iterations: usize,
    pub converged: bool,
}

impl Solved {
    /// What has to be said of it.
    pub fn remark(&self) -> &'static str {
        match self.converged {
            true => "",
            false => "not converged",
        }
    }
}

/// How many ranks there are to be: as many as cores at most, and two at least.
pub(super) fn counts(scope: &Scope) -> Result<Vec<usize>> {
    let cores = std::thread::available_parallelism()?.get();
    let most = scope.size([2, 2, cores.max(2)]);
    let counts = [1, 2, 4, 8, 16].into_iter();
    Ok(counts.filter(|&count| count <= most).collect())
}

/// Lets configurations take turns for some rounds, on ranks of one thread each or on ranks that share a device; of each the shortest solve.
pub(super) fn solve(
    scope: &Scope,
    problem: &str,
    configs: &[Config],
    (ranks, rounds): (usize, usize),
) -> Result<Vec<Solved>> {
    let whole = match gallery::is_made_in_parts(problem) {
        true => None,
        false => Some(gallery::build(problem, &Executor::cpu())?),
    };
    let mut run = RunConfig::default();
    run.device.clone_from(&scope.device);
    run.threads = (scope.device == "cpu").then_some(1);
    let solved = threads::run(ranks, |team| {
        let (rank, _) = run.executor_of_rank(&team)?;
        let (a, b) = part(problem, whole.as_ref(), &rank)?;
        let b = Vector::from_column(&rank, b);
        let system = SharedSystem::new(Arc::new(a));
        let mut best: Vec<Option<Solved>> = vec![None; configs.len()];
        for _ in 0..rounds {
            for (config, best) in configs.iter().zip(&mut best) {
                let solution = solve_shared(config, &system, &b, &Workspace::new())?;
                let seconds = (solution.setup + solution.solving).as_secs_f64();
                if best.is_none_or(|best| seconds < best.seconds) {
                    *best = Some(Solved {
                        seconds,
                        iterations: solution.outcome.iterations,
                        converged: solution.outcome.converged(),
                    });
                }
            }
        }
        Ok(best.into_iter().flatten().collect())
    })?;
    let first = solved.into_iter().next();
    first.ok_or_else(|| "no rank has solved".into())
}

/// The rows of a rank, of a problem that is made in parts, or as a whole.
fn part(
    problem: &str,
    whole: Option<&Problem>,
    rank: &Executor,
) -> vcycle::Result<(Distributed<f64>, Vec<f64>)> {
    let Some(whole) = whole else {
        let part = gallery::build_part(problem, rank)?;
        return Ok(part.expect("a problem that is made in parts"));
    };
    let team = rank.team().expect("the executor of a rank");
    let (rows, block) = (whole.rhs.len() as u64, whole.block_size as u64);
    let even = Partition::even(rows, block, team.size());
    let own = even.range(team.rank());
    let a = Distributed::part_of(rank, &whole.matrix, even)?;
    Ok((a, whole.rhs[own.start as usize..own.end as usize].to_vec()))
}
