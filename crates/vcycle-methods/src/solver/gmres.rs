//! Generalised minimal residuals.

use super::basis::Basis;
use super::least_squares::LeastSquares;
use super::per_column::PerColumn;
use super::{Method, Run, check_restart, solver};
use crate::error::Result;
use crate::executor::Scratch;
use crate::registration::{Component, Need, Registration, Symmetry};
use crate::scalar::{Field, Scalar};
use crate::stop::Status;
use crate::vector::{Coefficient, Scalars, Vector};

/// Generalised minimal residuals (Saad and Schultz 1986), restarted and preconditioned from the
/// right.
///
/// The residual is minimal over the Krylov space, whose basis is kept and orthogonalised by
/// modified Gram–Schmidt; the norm that is watched is that of the residual itself. When the space
/// has `restart` dimensions the method starts afresh from the solution reached, which can slow it
/// down or stall it.
///
/// **Choose it** for nonsymmetric or indefinite matrices, the more so the better the
/// preconditioner is; take [`Fgmres`](super::Fgmres) if that varies.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, solver::{Gmres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// let outcome = Solver::<f64>::new(Gmres::default(), a)?.solve(&b, &mut x)?;
/// assert!(outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Gmres {
    /// Vectors kept before the method starts afresh.
    pub restart: usize,
}

impl Default for Gmres {
    fn default() -> Self {
        Self { restart: 50 }
    }
}

impl Component for Gmres {
    const REGISTRATION: Registration = Registration {
        name: "gmres",
        summary: "Generalised minimal residuals.",
        after_colon: &["restart"],
        needs: &[Need::FixedPreconditioner],
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Varying
    }
}

solver!(Gmres);

impl<T: Scalar> Method<T> for Gmres {
    fn name(&self) -> &'static str {
        Self::REGISTRATION.name
    }

    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()> {
        iterate(run, self.restart, false)
    }
}

/// The iteration of [`Gmres`] and, `flexible`, of [`Fgmres`](super::Fgmres).
pub(super) fn iterate<T: Scalar>(
    run: &mut Run<'_, T>,
    restart: usize,
    flexible: bool,
) -> Result<()> {
    let restart = check_restart(restart, run)?;
    let mut space = Space::take(run, restart, flexible)?;
    let mut ended = run.start(&mut space.v[0], &mut space.norm)?;
    while !ended {
        let steps = space.cycle(run, restart)?;
        space.update(run, steps)?;
        ended = run.monitor.all_ended();
        if !ended {
            run.residual(&mut space.v[0])?;
            space.v[0].norm(&mut space.norm)?;
        }
    }
    Ok(())
}

/// The Krylov space and the projected problem of each column.
struct Space<'w, T: Scalar> {
    flexible: bool,
    /// Orthonormal basis.
    v: Scratch<'w, Basis<T>>,
    /// What the preconditioner made of each of them if flexible, else of the last one.
    z: Scratch<'w, Basis<T>>,
    projected: Scratch<'w, PerColumn<T, LeastSquares<T::Arith>>>,
    norm: Scratch<'w, Scalars<T>>,
    factor: Scratch<'w, Scalars<T>>,
}

impl<'w, T: Scalar> Space<'w, T> {
    fn take(run: &Run<'w, T>, restart: usize, flexible: bool) -> Result<Self> {
        let ws = run.ws;
        let mut projected = PerColumn::<T, LeastSquares<T::Arith>>::take(ws, run.b)?;
        for column in projected.iter_mut() {
            column.reserve(restart);
        }
        Ok(Self {
            flexible,
            v: Basis::take(ws, run.b, 1)?,
            z: Basis::take(ws, run.b, 1)?,
            projected,
            norm: ws.scalars(run.b)?,
            factor: ws.scalars(run.b)?,
        })
    }

    /// Grows the space until all columns have ended or it is full; returns its dimension. Starts
    /// from the residual in `v[0]`, whose norm is `norm`.
    fn cycle(&mut self, run: &mut Run<'_, T>, restart: usize) -> Result<usize> {
        self.v[0].scale(Coefficient::one().over(&self.norm))?;
        self.projected
            .receive(&self.norm, |column, norm| column.start(norm))?;
        for step in 0..restart {
            self.expand(run, step)?;
            for (index, column) in self.projected.iter_mut().enumerate() {
                column.eliminate(step, run.monitor.is_active(index));
            }
            self.projected.send(&mut self.norm, |column| {
                T::Arith::from_real(column.residual(step + 1))
            })?;
            run.done(&self.norm)?;
            for (index, column) in self.projected.iter().enumerate() {
                if column.dimension() <= step {
                    run.monitor.end(index, Status::Breakdown)?;
                }
            }
            if run.monitor.all_ended() {
                return Ok(step + 1);
            }
        }
        Ok(restart)
    }

    /// One step of Arnoldi: `A M v_step` made orthonormal to the basis is its next vector.
    fn expand(&mut self, run: &Run<'_, T>, step: usize) -> Result<()> {
        let slot = if self.flexible { step } else { 0 };
        self.v.grow(step + 2)?;
        self.z.grow(slot + 1)?;
        let (basis, next) = self.v.split_at_mut(step + 1);
        let next = &mut next[0];
        run.precondition(&basis[step], &mut self.z[slot])?;
        run.multiply(&self.z[slot], next)?;
        for (row, v) in basis.iter().enumerate() {
            v.dot(next, &mut self.factor)?;
            next.axpy(-Coefficient::of(&self.factor), v)?;
            self.projected
                .receive(&self.factor, |column, value| column.set(row, value))?;
        }
        next.norm(&mut self.factor)?;
        self.projected
            .receive(&self.factor, |column, value| column.set(step + 1, value))?;
        next.scale(Coefficient::one().over(&self.factor))
    }

    /// Adds to the solution what the projected problems say.
    fn update(&mut self, run: &mut Run<'_, T>, steps: usize) -> Result<()> {
        self.projected.iter_mut().for_each(LeastSquares::solve);
        if self.flexible {
            for step in 0..steps {
                self.coefficient(step)?;
                run.x.axpy(Coefficient::of(&self.factor), &self.z[step])?;
            }
            return Ok(());
        }
        let mut sum = run.ws.vector_like::<T, T>(run.b)?;
        sum.fill(T::default())?;
        for step in 0..steps {
            self.coefficient(step)?;
            sum.axpy(Coefficient::of(&self.factor), &self.v[step])?;
        }
        let correction: &Vector<T> = run.preconditioned(&sum, &mut self.z[0])?;
        self.projected.send(&mut self.factor, |column| {
            T::Arith::from_f64(if column.dimension() > 0 { 1.0 } else { 0.0 })
        })?;
        run.x.axpy(Coefficient::of(&self.factor), correction)
    }

    fn coefficient(&mut self, step: usize) -> Result<()> {
        self.projected
            .send(&mut self.factor, |column| column.solution(step))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::executor::Executor;
    use crate::matrix::Csr;
    use crate::solver::testing;

    #[test]
    fn n_iterations_suffice() {
        let a = testing::rotation(&Executor::reference(), 6);
        let outcome = testing::solve_with(Arc::new(Gmres::default()), &a, None);
        assert!(outcome.converged() && outcome.iterations <= 6, "{outcome}");
    }

    #[test]
    fn restarts_go_on_to_the_solution() {
        let a = testing::convection_diffusion::<f64>(&Executor::reference(), 8);
        let full = testing::solve_with(Arc::new(Gmres::default()), &a, None);
        let restarted = testing::solve_with(Arc::new(Gmres { restart: 5 }), &a, None);
        assert!(restarted.converged());
        assert!(restarted.iterations > full.iterations);
        assert_eq!(restarted.history.len(), restarted.iterations + 1);
        assert!(
            restarted
                .history
                .is_sorted_by(|a, b| *b <= a * (1.0 + 1e-12))
        );
    }

    #[test]
    fn a_singular_matrix_breaks_it_down() {
        let host = Executor::reference();
        let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 2.0, 0.0]));
        let outcome = testing::solve_with(Arc::new(Gmres::default()), &a, None);
        assert_eq!(outcome.status, Status::Breakdown);
        assert!(outcome.relative_residual < 0.6);
    }
}
