//! Minimal residuals.

use num_traits::Float;

use super::per_column::PerColumn;
use super::{Method, Run};
use crate::error::Result;
use crate::scalar::{Field, Real, RealOf, Scalar};
use crate::stop::{Part, Status};
use crate::vector::Coefficient;

/// Minimal residuals for symmetric matrices (Paige and Saunders 1975).
///
/// The Lanczos process with a QR factorisation of its tridiagonal matrix: the residual is minimal
/// in the norm of the preconditioner, with three-term recurrences. The residual vector itself is
/// carried along, `r_k = s_k^2 r_(k-1) + phi_k c_k v_(k+1)`, so that its Euclidean norm is known
/// and not only that of the preconditioned residual.
///
/// **Choose it** for symmetric (Hermitian) matrices that are indefinite or singular but
/// consistent. The preconditioner has to be positive definite.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, solver::{Minres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, -2.0, 4.0]));
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// let outcome = Solver::<f64>::new(Minres::default(), a)?.solve(&b, &mut x)?;
/// assert!(outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Minres {}

/// The QR factorisation of one column's tridiagonal matrix, as far as it is still needed.
#[derive(Clone, Copy, Default)]
struct Rotation<R> {
    /// The entry of the Lanczos matrix beside its last diagonal one.
    next_beta: R,
    /// The largest entry so far.
    scale: R,
    /// The diagonal entry, rotated by all but the newest rotation.
    diagonal: R,
    /// The last two rotations.
    cosine: R,
    sine: R,
    old_cosine: R,
    old_sine: R,
    /// The last column of the triangular factor, from the diagonal upwards.
    gamma: R,
    delta: R,
    epsilon: R,
    /// The rotated right-hand side: the entry that is final and the one that follows.
    tau: R,
    phi: R,
    /// Whether the Krylov space holds nothing more.
    exhausted: bool,
}

impl<R: Real> Rotation<R> {
    fn start(beta: R) -> Self {
        Self {
            next_beta: beta,
            phi: beta,
            cosine: R::one(),
            old_cosine: R::one(),
            ..Self::default()
        }
    }

    /// Applies the old rotations to a new column of the tridiagonal matrix.
    fn extend(&mut self, alpha: R) {
        let beta = self.next_beta;
        self.scale = self.scale.max(Float::abs(alpha)).max(beta);
        self.epsilon = self.old_sine * beta;
        let rotated = self.old_cosine * beta;
        self.delta = self.cosine * rotated + self.sine * alpha;
        self.diagonal = self.cosine * alpha - self.sine * rotated;
    }

    /// Makes the rotation that removes the entry below the diagonal.
    fn eliminate(&mut self, next_beta: R) {
        self.next_beta = next_beta;
        (self.old_cosine, self.old_sine) = (self.cosine, self.sine);
        self.gamma = Float::hypot(self.diagonal, next_beta);
        // What is left is rounding: the matrix is singular and the system inconsistent.
        self.exhausted = self.gamma <= R::epsilon() * self.scale;
        (self.cosine, self.sine) = if self.exhausted {
            (R::zero(), R::one())
        } else {
            (self.diagonal / self.gamma, next_beta / self.gamma)
        };
        self.tau = self.cosine * self.phi;
        self.phi = -self.sine * self.phi;
    }
}

impl<T: Scalar> Method<T> for Minres {
    fn name(&self) -> &'static str {
        "minres"
    }

    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()> {
        let ws = run.ws;
        let scratch = || ws.vector_like::<T, T>(run.b);
        let (mut r, mut old_v, mut v, mut next_v) =
            (scratch()?, scratch()?, scratch()?, scratch()?);
        let (mut z, mut w, mut old_w) = (scratch()?, scratch()?, scratch()?);
        let mut qr = PerColumn::<T, Rotation<RealOf<T>>>::take(ws, run.b)?;
        let (mut beta, mut next_beta) = (ws.scalars(run.b)?, ws.scalars(run.b)?);
        let (mut factor, mut norm) = (ws.scalars(run.b)?, ws.scalars(run.b)?);

        run.initial_residual(&mut r)?;
        r.norm(&mut norm)?;
        if run.start(&norm)? {
            return Ok(());
        }
        run.precondition(&r, &mut z)?;
        r.dot(&z, &mut beta)?;
        if run.require_positive(&beta, Part::Preconditioner)? {
            return Ok(());
        }
        beta.square_root()?;
        qr.receive(&beta, |column, beta| *column = Rotation::start(beta.real()))?;
        v.axpby(Coefficient::one().over(&beta), &r, Coefficient::zero())?;
        z.scale(Coefficient::one().over(&beta))?;
        for vector in [&mut old_v, &mut w, &mut old_w] {
            vector.fill(T::default())?;
        }
        loop {
            // Lanczos: next_beta next_v = A z - alpha v - beta old_v.
            run.multiply(&z, &mut next_v)?;
            z.dot(&next_v, &mut factor)?;
            if run.require_finite(&factor)? {
                return Ok(());
            }
            qr.receive(&factor, |column, alpha| column.extend(alpha.real()))?;
            next_v.axpy(-Coefficient::of(&factor), &v)?;
            next_v.axpy(-Coefficient::of(&beta), &old_v)?;

            // gamma w = z - delta w_(k-1) - epsilon w_(k-2); gamma is known further down.
            std::mem::swap(&mut w, &mut old_w);
            qr.send(&mut factor, |column| T::Arith::from_real(column.epsilon))?;
            w.axpby(Coefficient::one(), &z, -Coefficient::of(&factor))?;
            qr.send(&mut factor, |column| T::Arith::from_real(column.delta))?;
            w.axpy(-Coefficient::of(&factor), &old_w)?;

            run.precondition(&next_v, &mut z)?;
            next_v.dot(&z, &mut next_beta)?;
            if run.require_nonnegative(&next_beta, Part::Preconditioner)? {
                return Ok(());
            }
            next_beta.square_root()?;
            qr.receive(&next_beta, |column, beta| column.eliminate(beta.real()))?;
            qr.send(&mut factor, |column| T::Arith::from_real(column.gamma))?;
            w.scale(Coefficient::one().over(&factor))?;
            qr.send(&mut factor, |column| T::Arith::from_real(column.tau))?;
            let step = Coefficient::of(&factor).times(run.monitor.active());
            run.x.axpy(step, &w)?;

            qr.send(&mut norm, |column| {
                T::Arith::from_real(column.sine * column.sine)
            })?;
            qr.send(&mut factor, |column| {
                T::Arith::from_real(column.phi * column.cosine)
            })?;
            let share = Coefficient::ratio(&factor, &next_beta);
            r.axpby(share, &next_v, Coefficient::of(&norm))?;
            r.norm(&mut norm)?;
            if run.done(&norm)? || end_exhausted(run, &qr)? {
                return Ok(());
            }
            next_v.scale(Coefficient::one().over(&next_beta))?;
            z.scale(Coefficient::one().over(&next_beta))?;
            std::mem::swap(&mut old_v, &mut v);
            std::mem::swap(&mut v, &mut next_v);
            std::mem::swap(&mut beta, &mut next_beta);
        }
    }
}

fn end_exhausted<T: Scalar>(
    run: &mut Run<'_, T>,
    qr: &PerColumn<T, Rotation<RealOf<T>>>,
) -> Result<bool> {
    for (index, column) in qr.iter().enumerate() {
        if column.exhausted {
            run.monitor.end(index, Status::Breakdown)?;
        }
    }
    Ok(run.monitor.all_ended())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::executor::Executor;
    use crate::matrix::Csr;
    use crate::solver::testing;

    #[test]
    fn an_indefinite_preconditioner_is_named() {
        let host = Executor::reference();
        let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 2.0]));
        let m = Arc::new(Csr::diagonal_matrix(&host, vec![-1.0, -1.0]));
        let outcome = testing::solve_with(Arc::new(Minres::default()), &a, Some(m));
        assert_eq!(outcome.status, Status::Indefinite(Part::Preconditioner));
    }

    #[test]
    fn an_inconsistent_system_does_not_converge() {
        let host = Executor::reference();
        let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0]));
        let outcome = testing::solve_with(Arc::new(Minres::default()), &a, None);
        assert!(!outcome.converged());
        assert!((outcome.relative_residual - 0.5f64.sqrt()).abs() < 1e-12);
    }
}
