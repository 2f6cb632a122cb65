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
mod cg;
mod cgs;
mod chebyshev;
#[cfg(feature = "direct")]
mod direct;
mod fcg;
mod fgmres;
mod gcr;
mod gcro_dr;
mod gmres;
mod idr;
mod ir;
mod limit;
#[cfg(test)]
mod method_tests;
mod minres;
mod orthonormal;
mod per_column;
mod pipecg;
mod pipegmres;
mod random;
#[cfg(test)]
mod rank_tests;
mod recurrence;
mod recycled;
mod run;
mod spectrum;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

pub use bicg::Bicg;
pub use bicgstab::Bicgstab;
pub use block_cg::BlockCg;
pub use block_gmres::BlockGmres;
pub use cg::Cg;
pub use cgs::Cgs;
pub use chebyshev::Chebyshev;
#[cfg(feature = "direct")]
pub use direct::{Direct, DirectSetup};
pub use fcg::Fcg;
pub use fgmres::Fgmres;
pub use gcr::Gcr;
pub use gcro_dr::{GcroDr, Recycling};
pub use gmres::Gmres;
pub use idr::Idr;
pub use ir::Ir;
pub use limit::rounding_levels;
pub use minres::Minres;
use num_traits::{One, Zero};
pub use pipecg::PipeCg;
pub use pipegmres::PipeGmres;
pub(crate) use random::Numbers;
pub use run::Run;
use vcycle_kernels::compiled;

use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{
    Factory, Footprint, Identity, LinOp, Size, check_apply, check_size, check_square,
};
use crate::registration::Component;
use crate::scalar::{Field, Real, Scalar};
use crate::stop::{ColumnOutcome, Monitor, Outcome, Status, Stop};
use crate::vector::{Coefficient, Scalars, Vector};

/// Restarts from the true residual when the recurrence converged and the residual did not.
const RESTARTS: usize = 10;
/// Rounding leaves nothing to gain once a restart leaves more than this part of the residual.
const WORTH_A_RESTART: f64 = 0.9;

/// An iteration for `A x = b`; what a file of this module holds.
pub trait Method<T: Scalar>: Debug + Send + Sync {
    /// Its name in options and reports.
    fn name(&self) -> &'static str;

    /// Improves `run.x` until the monitor says that every column has ended.
    ///
    /// # Errors
    /// Only for what is no outcome of an iteration: a failing operator or executor.
    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()>;
}

/// A component that is an iteration.
pub trait SolverComponent: Component {
    /// The iteration for vectors of `T`; compiled once, with this crate.
    fn method<T: Scalar>(&self) -> Arc<dyn Method<T>>;
}

/// Registers parameters that are a [`Method`] as a solver; stands in their own file.
macro_rules! solver {
    ($parameters:ident) => {
        impl crate::solver::SolverComponent for $parameters {
            fn method<T: Scalar>(&self) -> std::sync::Arc<dyn Method<T>> {
                vcycle_kernels::compiled!(
                    working T: fn(&$parameters) -> std::sync::Arc<dyn Method<T>> = |own| {
                        std::sync::Arc::new(own.to_owned())
                    }
                )(self)
            }
        }
    };
}
use solver;

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
            .map(|column| column_outcome(&monitor, column, norms[column], levels[column]))
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
        self.method.iterate(&mut Run {
            a: self.a.as_ref(),
            preconditioner: self.preconditioner.as_ref(),
            b,
            x,
            zero_guess,
            monitor,
            ws,
        })
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
        Ok(r.norms()?.into_iter().map(Real::to_f64).collect())
    }
}

/// Vectors that a restarted method keeps: no more than can be of use.
fn check_restart<T: Scalar>(restart: usize, run: &Run<'_, T>) -> Result<usize> {
    if restart == 0 {
        return Err(Error::bad_parameter("restart", "must be at least 1"));
    }
    let useful = run.b.global_rows()?.min(run.monitor.iterations_left());
    Ok(restart.min(useful.max(1)))
}

/// Checks the initial guess; says whether it is zero.
fn prepare_guess<T: Scalar>(x: &mut Vector<T>, norms: &mut Scalars<T>) -> Result<bool> {
    x.norm(norms)?;
    check_finite("initial guess", x, norms)?;
    let zero = norms.host()?.iter().all(Zero::is_zero);
    if zero {
        // The squares of tiny numbers vanish, the numbers do not.
        x.fill(T::default())?;
    }
    Ok(zero)
}

/// Zero solves a zero right-hand side, whatever the guess.
fn clear_solved<T: Scalar>(x: &mut Vector<T>, rhs_norms: &mut Scalars<T>) -> Result<()> {
    let norms = rhs_norms.host_mut()?;
    if !norms.iter().any(Zero::is_zero) {
        return Ok(());
    }
    for norm in norms.iter_mut().filter(|norm| !norm.is_zero()) {
        *norm = T::Arith::one();
    }
    x.scale(Coefficient::of(rhs_norms))
}

/// Fails, naming the place, if a vector of these norms holds an infinity or NaN.
fn check_finite<T: Scalar>(what: &'static str, v: &Vector<T>, norms: &Scalars<T>) -> Result<()> {
    if norms.host()?.iter().all(|norm| Field::is_finite(*norm)) {
        return Ok(());
    }
    let first = v.executor().before(v.rows())?;
    let values = v.to_vec();
    let place = values.iter().position(|value| !value.load().is_finite());
    let checked = match place {
        // Only the sum of the squares is too large, or another rank has the value.
        None => Ok(()),
        Some(place) => Err(Error::NonFiniteVector {
            what,
            row: first + place / v.cols(),
            column: place % v.cols(),
        }),
    };
    v.executor().agree(checked)
}

fn column_outcome<T: Scalar>(
    monitor: &Monitor<T>,
    column: usize,
    norm: f64,
    level: f64,
) -> ColumnOutcome {
    ColumnOutcome {
        status: monitor.verdict(column, norm, level),
        iterations: monitor.column_iterations(column),
        relative_residual: monitor.relative(column, norm),
        recurrence_residual: monitor.recurrence_residual(column),
        backward_error: if norm > 0.0 { norm / level } else { norm },
        condition: monitor.relative(column, level),
    }
}

/// Makes NaN of the columns that ended as non-finite: whoever applied the solver must notice.
fn spread_non_finite<T: Scalar>(
    monitor: &Monitor<T>,
    x: &mut Vector<T>,
    ws: &Workspace,
) -> Result<()> {
    let failed = |column: usize| monitor.status(column) == Some(Status::NonFinite);
    if !(0..x.cols()).any(failed) {
        return Ok(());
    }
    let mut factors = ws.scalars(x)?;
    for (column, factor) in factors.host_mut()?.iter_mut().enumerate() {
        let nan = if failed(column) { f64::NAN } else { 1.0 };
        *factor = T::Arith::from_f64(nan);
    }
    x.scale(Coefficient::of(&factors))
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
        Footprint {
            held: a.held + m.held,
            moved: a.moved + m.moved,
        }
    }
}

/// Makes a [`Solver`] of any matrix: a method, a preconditioner's factory and a stopping criterion.
#[derive(Clone, Debug)]
pub struct SolverFactory<T: Scalar> {
    /// The iteration.
    pub method: Arc<dyn Method<T>>,
    /// Makes the preconditioner; none without.
    pub preconditioner: Option<Arc<dyn Factory<T>>>,
    /// When to stop.
    pub stop: Stop,
}

impl<T: Scalar> SolverFactory<T> {
    /// Makes solvers without a preconditioner.
    pub fn unpreconditioned(method: Arc<dyn Method<T>>, stop: &Stop) -> Self {
        Self {
            method,
            preconditioner: None,
            stop: stop.clone(),
        }
    }

    /// As a factory of operators.
    pub fn shared(self) -> Arc<dyn Factory<T>> {
        compiled!(working T: fn(SolverFactory<T>) -> Arc<dyn Factory<T>> = |own| Arc::new(own))(
            self,
        )
    }

    /// The solver itself, not only as an operator.
    ///
    /// # Errors
    /// When the matrix is not square or the preconditioner's set-up fails.
    pub fn solver(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Solver<T>> {
        let solver = Solver::from_shared(Arc::clone(&self.method), Arc::clone(a))?;
        let solver = solver.stopping(self.stop.clone());
        match &self.preconditioner {
            None => Ok(solver),
            Some(factory) => solver.with_preconditioner(factory.generate(a, ws)?),
        }
    }
}

impl<T: Scalar> Factory<T> for SolverFactory<T> {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        Ok(Arc::new(self.solver(a, ws)?))
    }
}
