//! How a solve went.

use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::solver::Solver;
use vcycle::stop::Outcome;
use vcycle::vector::Vector;
use vcycle_gpu::{Counts, Device};

use crate::common::Result;

/// Solves of which the best counts, after one that is not timed.
const ROUNDS: usize = 3;

/// How a solve went.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub milliseconds: f64,
    pub outcome: Outcome,
    /// Bytes of matrices that an iteration moves.
    pub moved: usize,
    pub each: Option<Each>,
}

/// What one iteration asks of the device, on average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Each {
    /// Kernels, recorded or not.
    pub launches: f64,
    pub allocations: f64,
    pub synchronizations: f64,
}

/// The best of some solves.
pub(super) fn solved(device: &Device, solver: &Solver<f64>, b: &Vector<f64>) -> Result<Solved> {
    let (_, outcome) = solve(device, solver, b)?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        best = best.min(solve(device, solver, b)?.0);
    }
    Ok(Solved {
        milliseconds: best,
        moved: solver.footprint().moved,
        each: each(device, solver, b, outcome.iterations)?,
        outcome,
    })
}

fn solve(device: &Device, solver: &Solver<f64>, b: &Vector<f64>) -> Result<(f64, Outcome)> {
    let mut x = Vector::zeros_like(b)?;
    device.synchronize()?;
    let begin = Instant::now();
    let outcome = solver.solve(b, &mut x)?;
    Ok((begin.elapsed().as_secs_f64() * 1e3, outcome))
}

fn each(
    device: &Device,
    solver: &Solver<f64>,
    b: &Vector<f64>,
    iterations: usize,
) -> Result<Option<Each>> {
    let half = iterations / 2;
    if half == 0 {
        return Ok(None);
    }
    let (few, many) = (
        counted(device, solver, b, half)?,
        counted(device, solver, b, iterations)?,
    );
    let per_iteration = |number: fn(&Counts) -> u64| {
        (number(&many) as f64 - number(&few) as f64) / (iterations - half) as f64
    };
    Ok(Some(Each {
        launches: per_iteration(|counts| counts.launches + counts.replayed),
        allocations: per_iteration(|counts| counts.allocations),
        synchronizations: per_iteration(|counts| counts.synchronizations),
    }))
}

fn counted(device: &Device, solver: &Solver<f64>, b: &Vector<f64>, most: usize) -> Result<Counts> {
    let stop = solver.stop().clone().max_iterations(most);
    let mut x = Vector::zeros_like(b)?;
    let before = device.counts();
    // How it ends is not what is asked: it may be cut short.
    let _ = solver.solve_in(b, &mut x, &stop, &Workspace::new())?;
    Ok(device.counts() - before)
}

/// Iterations, and how they ended if that is not as it should be.
pub(super) fn iterations(outcome: &Outcome) -> String {
    match outcome.converged() {
        true => outcome.iterations.to_string(),
        false => format!("{}: {}", outcome.iterations, outcome.status),
    }
}
