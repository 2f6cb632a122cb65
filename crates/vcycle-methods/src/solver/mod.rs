//! Iterative and direct solvers: a [`Method`] bound to a matrix is a [`Solver`].
//!
//! Every method is one file. It iterates with vector operations and operator applications alone,
//! asks the [`Monitor`] whether to go on, and neither measures time nor prints.
//!
//! ```
//! use std::sync::Arc;
//! use vcycle::{executor::Executor, matrix::Csr, precond::Jacobi, solver::{Cg, Solver},
//!              stop::Stop, vector::Vector};
//! let cpu = Executor::cpu();
//! let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
//! let solver = Solver::<f64>::new(Cg::default(), a)?
//!     .preconditioned_by(&Jacobi::default())?
//!     .stopping(Stop::relative(1e-12));
//! let b = Vector::filled(&cpu, 3, 1, 1.0)?;
//! let mut x = Vector::zeros_like(&b)?;
//! let outcome = solver.solve(&b, &mut x)?;
//! assert!(outcome.converged());
//! assert_eq!(x.to_vec(), [1.0, 0.5, 0.25]);
//! # Ok::<(), vcycle::Error>(())
//! ```

mod basis;
mod bicg;
mod bicgstab;
mod block_cg;
mod block_gmres;
mod block_space;
mod cg;
mod cgs;
mod chebyshev;
mod checks;
#[cfg(feature = "direct")]
mod direct;
mod factory;
mod fcg;
mod gcr;
mod gcro_dr;
mod gmres;
mod idr;
mod ir;
mod macros;
mod method;
#[cfg(test)]
mod method_tests;
mod minres;
mod orthonormal;
mod per_column;
mod pipecg;
mod pipegmres;
#[cfg(test)]
mod rank_tests;
mod recurrence;
mod recycled;
mod run;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::time::Instant;

pub(crate) use basis::Numbers;
pub use bicg::Bicg;
pub use bicgstab::Bicgstab;
pub use block_cg::BlockCg;
pub use block_gmres::BlockGmres;
pub use cg::Cg;
pub use cgs::Cgs;
pub use chebyshev::Chebyshev;
pub use checks::rounding_levels;
use checks::{check_finite, clear_solved, prepare_guess, spread_non_finite};
#[cfg(feature = "direct")]
pub(crate) use direct::minimum_degree;
#[cfg(feature = "direct")]
pub use direct::{Direct, DirectSetup, FactorCost};
pub use factory::SolverFactory;
pub use fcg::Fcg;
pub use gcr::Gcr;
pub use gcro_dr::{GcroDr, Recycling};
pub use gmres::{Fgmres, Gmres};
pub use idr::Idr;
pub use ir::Ir;
use macros::{example, solver};
pub use method::{Method, SolverComponent};
pub use minres::Minres;
use orthonormal::norms;
pub use pipecg::PipeCg;
pub use pipegmres::PipeGmres;
pub use run::Run;
use run::check_restart;
use vcycle_kernels::compiled;

use crate::linop::{Identity, check_apply, check_size, check_square};
use crate::prelude::*;
use crate::stop::{Monitor, Outcome, Status, Stop};

/// Restarts from the true residual when the recurrence converged and the residual did not.
const RESTARTS: usize = 10;
/// Rounding leaves nothing to gain once a restart leaves more than this part of the residual.
const WORTH_A_RESTART: f64 = 0.9;

/// A [`Method`] bound to a matrix, a preconditioner and a stopping criterion.
///
/// It is an operator itself: applying it to `b` solves with a zero initial guess, so a solver can
/// be another's preconditioner.
#[derive(Debug)]
pub struct Solver<T: Scalar> {
    method: Arc<dyn Method<T>>,
    a: Arc<dyn LinOp<T>>,
    preconditioner: Arc<dyn LinOp<T>>,
    stop: Stop,
}

impl<T: Scalar> Solver<T> {
    /// Binds a method to a matrix, without preconditioner and with the default [`Stop`].
    ///
    /// # Errors
    /// When the matrix is not square.
    pub fn new(method: impl Method<T> + 'static, a: Arc<dyn LinOp<T>>) -> Result<Self> {
        Self::from_shared(Arc::new(method), a)
    }

    fn from_shared(method: Arc<dyn Method<T>>, a: Arc<dyn LinOp<T>>) -> Result<Self> {
        check_square(a.as_ref(), method.name())?;
        let preconditioner = Arc::new(Identity::new(a.executor(), a.size().rows));
        Ok(Self {
            method,
            a,
            preconditioner,
            stop: Stop::default(),
        })
    }

    /// Sets up a preconditioner for the matrix.
    ///
    /// # Errors
    /// When its set-up fails.
    pub fn preconditioned_by(self, factory: &dyn Factory<T>) -> Result<Self> {
        let preconditioner = factory.generate(&self.a, &Workspace::new())?;
        self.with_preconditioner(preconditioner)
    }

    /// Uses an operator as the preconditioner: an approximation of the inverse.
    ///
    /// # Errors
    /// When its size is not that of the matrix.
    pub fn with_preconditioner(mut self, preconditioner: Arc<dyn LinOp<T>>) -> Result<Self> {
        if preconditioner.size() != self.a.size() {
            return Err(Error::SizeMismatch {
                operation: "preconditioner",
                expected: self.a.size(),
                found: preconditioner.size(),
            });
        }
        self.preconditioner = preconditioner;
        Ok(self)
    }

    /// Stops by other criteria.
    #[must_use]
    pub fn stopping(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Solves `A x = b`, starting from the contents of `x`.
    ///
    /// # Errors
    /// For operands that do not fit or hold infinities, and for failures of the executor. Not
    /// converging is no error: look at the [`Outcome`].
    pub fn solve(&self, b: &Vector<T>, x: &mut Vector<T>) -> Result<Outcome> {
        self.solve_in(b, x, &self.stop, &Workspace::new())
    }

    /// Solves `A x = b` by other criteria and with the scratch memory and observers of `ws`.
    ///
    /// # Errors
    /// As [`solve`](Solver::solve).
    pub fn solve_in(
        &self,
        b: &Vector<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        ws: &Workspace,
    ) -> Result<Outcome> {
        compiled!(working T: fn(&Solver<T>, &Vector<T>, &mut Vector<T>, &Stop, &Workspace) -> Result<Outcome>
            = Solver::solved)(self, b, x, stop, ws)
    }

    fn solved(
        &self,
        b: &Vector<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        ws: &Workspace,
    ) -> Result<Outcome> {
        let fitting = Size::new(self.a.size().rows, b.cols());
        check_size("right-hand side", fitting, b.size())?;
        check_apply(self.method.name(), self.a.size(), self.a.executor(), b, x)?;
        let start = Instant::now();
        ws.log().follow(b.executor());
        let _stage = ws.stage("solve", 0);
        let mut norms = ws.scalars(b)?;
        let zero_guess = prepare_guess(x, &mut norms)?;
        b.norm(&mut norms)?;
        check_finite("right-hand side", b, &norms)?;
        let mut monitor = ws.take::<Monitor<T>>(b.executor(), 1, b.cols())?;
        monitor.reset(stop, &norms, true)?;
        clear_solved(x, &mut norms)?;
        self.run(b, x, zero_guess, &mut monitor, ws)?;
        let (norms, levels) = self.verify(b, x, &mut monitor, ws)?;
        let history = monitor.take_history();
        let columns = (0..b.cols())
            .map(|column| monitor.outcome(column, norms[column], levels[column]))
            .collect();
        Ok(Outcome::from_columns(columns, history, start.elapsed()))
    }

    /// Corrects the solution while recurrences were wrong about the residual and that helps;
    /// returns the true residual norms and the levels that rounding comes from.
    ///
    /// The correction is found from zero and added in one step: added piece by piece to a large
    /// solution it would lose its last digits to rounding.
    fn verify(
        &self,
        b: &Vector<T>,
        x: &mut Vector<T>,
        monitor: &mut Monitor<T>,
        ws: &Workspace,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut r = ws.vector_like::<T, T>(b)?;
        let mut norms = self.true_residual(b, x, &mut r, ws)?;
        let mut levels = rounding_levels(self.a.as_ref(), b, x, ws)?;
        let mut previous = f64::INFINITY;
        for _ in 0..RESTARTS {
            let worst = (0..norms.len())
                .filter(|&column| monitor.restartable(column, norms[column], levels[column]))
                .map(|column| monitor.relative(column, norms[column]))
                .fold(0.0, f64::max);
            if worst == 0.0 || worst > WORTH_A_RESTART * previous {
                break;
            }
            previous = worst;
            monitor.reopen(&norms, &levels)?;
            let mut correction = ws.vector_like::<T, T>(b)?;
            correction.fill(T::default())?;
            self.run(&r, &mut correction, true, monitor, ws)?;
            x.axpy(Coefficient::one(), &correction)?;
            norms = self.true_residual(b, x, &mut r, ws)?;
            levels = rounding_levels(self.a.as_ref(), b, x, ws)?;
        }
        Ok((norms, levels))
    }

    /// The matrix.
    pub fn matrix(&self) -> &Arc<dyn LinOp<T>> {
        &self.a
    }

    /// The preconditioner.
    pub fn preconditioner(&self) -> &Arc<dyn LinOp<T>> {
        &self.preconditioner
    }

    /// The stopping criterion.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    fn run(
        &self,
        b: &Vector<T>,
        x: &mut Vector<T>,
        zero_guess: bool,
        monitor: &mut Monitor<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let limited = ws.iterations_end_by(monitor.end_of_products(), self.a.executor().team());
        let ended = self.method.iterate(&mut Run {
            a: self.a.as_ref(),
            preconditioner: self.preconditioner.as_ref(),
            b,
            x,
            zero_guess,
            monitor,
            ws,
        });
        drop(limited);
        match ended {
            Err(Error::OutOfTime) => {
                let is_requested = self.a.executor().any(ws.log().wants_stop())?;
                monitor.end_all(match is_requested {
                    true => Status::Interrupted,
                    false => Status::TimeLimit,
                })
            }
            ended => ended,
        }
    }

    /// `r = b - A x` and its norms.
    fn true_residual(
        &self,
        b: &Vector<T>,
        x: &Vector<T>,
        r: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<Vec<f64>> {
        self.a.residual(b, x, r, ws)?;
        norms(r)
    }
}

impl<T: Scalar> LinOp<T> for Solver<T> {
    fn size(&self) -> Size {
        self.a.size().transposed()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply(self.method.name(), self.size(), self.executor(), b, x)?;
        let mut norms = ws.scalars(b)?;
        b.norm(&mut norms)?;
        let mut monitor = ws.take::<Monitor<T>>(b.executor(), 1, b.cols())?;
        monitor.reset(&self.stop, &norms, false)?;
        x.fill(T::default())?;
        self.run(b, x, true, &mut monitor, ws)?;
        spread_non_finite(&monitor, x, ws)
    }

    fn label(&self) -> &'static str {
        self.method.name()
    }

    fn footprint(&self) -> Footprint {
        let (a, m) = (self.a.footprint(), self.preconditioner.footprint());
        Footprint::new(a.held + m.held, a.moved + m.moved)
    }
}
