//! Many small systems at once: one pattern, one method, an outcome for each.
//!
//! Chemistry in every cell, collisions in a plasma and line solves have thousands of systems of some ten to some hundred
//! unknowns. Solved one after the other by [`Solver`](crate::solver::Solver) they spend most of their time on the way in
//! and out. Here one thread solves a system from its first to its last iteration, with its vectors in cache, and systems
//! are spread over the threads of the executor; on a device a block of threads solves it ([`DeviceBatch`]). A system that is singular, or does not converge, fails alone.
//!
//! Matrices are [`BatchCsr`] (of one pattern) or [`BatchDense`]; vectors of all systems lie one after the other. The bits of a solution do not depend on the number of threads, nor on the other systems.
//!
//! ```
//! use vcycle::{batch::{BatchCsr, BatchSolver}, executor::Executor};
//! // [2 1; 1 2], [4 0; 0 0] and [1 1; 0 1] on one pattern.
//! let a = BatchCsr::new(2, vec![0, 2, 4], vec![0, 1, 0, 1],
//!     vec![2.0, 1.0, 1.0, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0])?;
//! let b = [3.0, 3.0, 1.0, 1.0, 2.0, 1.0];
//! let mut x = [0.0_f64; 6];
//! let outcomes = BatchSolver::default().solve(&Executor::cpu(), &a, &b, &mut x)?;
//! assert!(outcomes[0].converged() && outcomes[2].converged());
//! assert_eq!(outcomes[1].to_string(), "breakdown after 0 iterations, relative residual 1.00e0: row 1 has no pivot");
//! assert!((x[0] - 1.0).abs() < 1e-7 && (x[4] - 1.0).abs() < 1e-7);
//! # Ok::<(), vcycle::Error>(())
//! ```

mod band_lu;
mod iterate;
mod matrix;
mod on_devices;
mod parameters;
mod precondition;
#[cfg(test)]
mod tests;

use std::fmt::{Display, Formatter};

pub use matrix::{BatchCsr, BatchDense, BatchMatrix};
pub use on_devices::{DeviceBatch, QueuedBatch};
pub use parameters::{BatchMethod, BatchPreconditioner, BatchSolver};

use self::band_lu::BandLu;
use self::iterate::{Iteration, Vectors};
use self::matrix::{One, add, norm};
use self::precondition::Inverse;
use crate::linop::check_size;
use crate::prelude::*;
use crate::stop::Status;

/// Systems that a thread takes at once.
const AT_ONCE: usize = 16;

/// How one system of a batch ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchOutcome {
    /// Converged, or why not.
    pub status: Status,
    /// Iterations made.
    pub iterations: usize,
    /// The norm of the true residual over that of the right-hand side.
    pub relative_residual: f64,
    /// The row that has no pivot, where a preconditioner or a factorisation found one.
    pub row: Option<usize>,
}

impl BatchOutcome {
    /// Whether the true residual is below the tolerance.
    pub fn converged(&self) -> bool {
        self.status == Status::Converged
    }
}

impl Display for BatchOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (status, count, residual) = (self.status, self.iterations, self.relative_residual);
        write!(
            f,
            "{status} after {count} iterations, relative residual {residual:.2e}"
        )?;
        match self.row {
            None => Ok(()),
            Some(row) => write!(f, ": row {row} has no pivot"),
        }
    }
}

impl BatchSolver {
    /// Solves `A_i x_i = b_i` for every system, starting from `x`; vectors lie one after the other.
    ///
    /// # Errors
    /// For vectors of another length and parameters out of range. A system that is not solved is no error: its outcome
    /// says so.
    pub fn solve<A: Field>(
        &self,
        executor: &Executor,
        matrix: &dyn BatchMatrix<A>,
        b: &[A],
        x: &mut [A],
    ) -> Result<Vec<BatchOutcome>> {
        self.check()?;
        let (systems, rows) = (matrix.systems(), matrix.rows());
        let fitting = Size::new(systems * rows, 1);
        check_size(
            "right-hand sides of a batch",
            fitting,
            Size::new(b.len(), 1),
        )?;
        check_size("solutions of a batch", fitting, Size::new(x.len(), 1))?;
        if rows == 0 {
            return Ok(Vec::new());
        }
        if executor.is_device() {
            return self.solve_there(executor, matrix, b, x);
        }
        let stride = AT_ONCE * rows;
        let pieces = b.chunks(stride).zip(x.chunks_mut(stride)).enumerate();
        let work = |scratch: &mut Scratch<A>, (piece, (b, x)): (usize, (&[A], &mut [A]))| {
            let both = b.chunks(rows).zip(x.chunks_mut(rows)).enumerate();
            both.map(|(at, (b, x))| {
                let a = One {
                    matrix,
                    system: piece * AT_ONCE + at,
                };
                self.solve_one(a, b, x, scratch)
            })
            .collect::<Vec<_>>()
        };
        let bytes = size_of_val(b) * 8;
        let scratch = || Scratch::new(self, matrix);
        let solved = executor.run_with(bytes, pieces.collect(), scratch, work);
        Ok(solved.into_iter().flatten().collect())
    }

    fn check(&self) -> Result<()> {
        let bad = |parameter, reason: &str| Err(Error::bad_parameter(parameter, reason));
        match self {
            _ if self.restart == 0 => bad("restart", "must be at least 1"),
            _ if self.block_size == 0 => bad("block-size", "must be at least 1"),
            Self {
                method: BatchMethod::Cg,
                preconditioner: BatchPreconditioner::Isai,
                ..
            } => bad(
                "preconditioner",
                "isai is not symmetric, which cg needs; use bicgstab or gmres with it",
            ),
            _ if !(self.rtol >= 0.0 && self.atol >= 0.0) => {
                bad("rtol", "tolerances must be zero or positive")
            }
            _ => Ok(()),
        }
    }

    /// Starts the method until the true residual is small enough, or starting it anew does not help.
    fn solve_one<A: Field>(
        &self,
        a: One<'_, A>,
        b: &[A],
        x: &mut [A],
        scratch: &mut Scratch<A>,
    ) -> BatchOutcome {
        let size = norm(b);
        let tolerance = (self.rtol * size).max(self.atol);
        let relative = |residual: f64| {
            if size > 0.0 {
                residual / size
            } else {
                residual
            }
        };
        let ended = |status, iterations, residual, row| BatchOutcome {
            status,
            iterations,
            relative_residual: relative(residual),
            row,
        };
        let mut last = f64::INFINITY;
        let mut iterations = 0;
        let mut broken = None;
        let mut is_set_up = false;
        loop {
            let residual = a.residual(b, x, &mut scratch.vectors.r);
            let status = match residual {
                // A right-hand side that is not finite has a tolerance that is not, either.
                _ if !residual.is_finite() => Status::NonFinite,
                _ if residual <= tolerance => Status::Converged,
                _ if broken.is_some() => broken.unwrap_or(Status::Breakdown),
                _ if iterations >= self.max_iterations => Status::IterationLimit,
                // What rounding leaves, no start repairs.
                _ if residual > 0.5 * last => Status::AccuracyLimit,
                _ => {
                    if !std::mem::replace(&mut is_set_up, true)
                        && let Err(row) = scratch.set_up(a)
                    {
                        return ended(Status::Breakdown, 0, residual, Some(row));
                    }
                    broken = scratch.run(self, a, x, tolerance, &mut iterations);
                    last = residual;
                    continue;
                }
            };
            return ended(status, iterations, residual, None);
        }
    }
}

/// What a thread needs for one system after the other.
struct Scratch<A: Field> {
    vectors: Vectors<A>,
    inverse: Inverse<A>,
    /// Of the direct method.
    factors: Option<BandLu<A>>,
}

impl<A: Field> Scratch<A> {
    fn new(solver: &BatchSolver, matrix: &dyn BatchMatrix<A>) -> Self {
        let n = matrix.rows();
        let basis = match solver.method {
            BatchMethod::Gmres => solver.restart.min(n) + 1,
            BatchMethod::Cg | BatchMethod::Bicgstab | BatchMethod::Direct => 0,
        };
        let is_direct = solver.method == BatchMethod::Direct;
        Self {
            vectors: Vectors::new(n, basis),
            inverse: Inverse::new(solver.preconditioner, solver.block_size, matrix),
            factors: is_direct.then(|| BandLu::of_band(matrix)),
        }
    }

    /// Sets up factors or a preconditioner, or names the row that has no pivot.
    fn set_up(&mut self, a: One<'_, A>) -> Result<(), usize> {
        match &mut self.factors {
            Some(factors) => {
                factors.clear();
                a.visit(|row, column, value| *factors.entry(row, column) += value);
                factors.factorise()
            }
            None => self.inverse.set_up(a),
        }
    }

    /// Iterates from the residual in `r` until it is small enough by its recurrence; what ended it otherwise.
    fn run(
        &mut self,
        solver: &BatchSolver,
        a: One<'_, A>,
        x: &mut [A],
        tolerance: f64,
        iterations: &mut usize,
    ) -> Option<Status> {
        if let Some(factors) = &self.factors {
            factors.solve(&mut self.vectors.r);
            add(A::one(), &self.vectors.r, x);
            *iterations += 1;
            return None;
        }
        let iteration = Iteration {
            a,
            inverse: &self.inverse,
            tolerance,
            most: solver.max_iterations,
        };
        match solver.method {
            BatchMethod::Cg => iteration.cg(&mut self.vectors, x, iterations),
            BatchMethod::Gmres => iteration.gmres(&mut self.vectors, x, solver.restart, iterations),
            BatchMethod::Bicgstab | BatchMethod::Direct => {
                iteration.bicgstab(&mut self.vectors, x, iterations)
            }
        }
    }
}
