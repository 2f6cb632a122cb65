//! Biconjugate gradients.

use num_traits::Zero;

use super::per_column::PerColumn;
use super::{Method, Run};
use crate::error::Result;
use crate::scalar::{Field, Scalar};
use crate::vector::Coefficient;

/// Biconjugate gradients (Fletcher 1976).
///
/// Two coupled conjugate gradient recurrences, with `A` and with its adjoint. The residual can
/// jump about.
///
/// **Choose it** for nonsymmetric matrices where products with the adjoint are cheap; mostly
/// [`Bicgstab`](super::Bicgstab) or [`Idr`](super::Idr) is the better choice. Matrix and
/// preconditioner must be able to apply their adjoint.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, solver::{Bicg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// let outcome = Solver::<f64>::new(Bicg::default(), a)?.solve(&b, &mut x)?;
/// assert!(outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Bicg {}

impl<T: Scalar> Method<T> for Bicg {
    fn name(&self) -> &'static str {
        "bicg"
    }

    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()> {
        let ws = run.ws;
        let scratch = || ws.vector_like::<T, T>(run.b);
        let (mut r, mut z, mut p, mut q) = (scratch()?, scratch()?, scratch()?, scratch()?);
        // The shadow recurrence, with the adjoint.
        let (mut sr, mut sz, mut sp, mut sq) = (scratch()?, scratch()?, scratch()?, scratch()?);
        let (mut rho, mut old_rho) = (ws.scalars(run.b)?, ws.scalars(run.b)?);
        let (mut sigma, mut step) = (ws.scalars(run.b)?, ws.scalars(run.b)?);
        let (mut conjugate, mut norm) = (ws.scalars(run.b)?, ws.scalars(run.b)?);
        let mut host = PerColumn::<T, T::Arith>::take(ws, run.b)?;

        run.initial_residual(&mut r)?;
        r.norm(&mut norm)?;
        if run.start(&norm)? {
            return Ok(());
        }
        sr.copy_from(&*r)?;
        // Over a zero the first direction's coefficient is zero: p = z.
        old_rho.assign(Coefficient::constant(T::Arith::zero()))?;
        loop {
            let z = run.preconditioned(&r, &mut z)?;
            let sz = run.preconditioned_adjoint(&sr, &mut sz)?;
            sr.dot(z, &mut rho)?;
            if run.require_nonzero(&rho)? {
                return Ok(());
            }
            step.assign(Coefficient::ratio(&rho, &old_rho))?;
            host.receive(&step, |own, value| *own = value.conj())?;
            host.send(&mut conjugate, |own| *own)?;
            p.axpby(Coefficient::one(), z, Coefficient::of(&step))?;
            sp.axpby(Coefficient::one(), sz, Coefficient::of(&conjugate))?;
            run.multiply(&p, &mut q)?;
            run.multiply_adjoint(&sp, &mut sq)?;
            sp.dot(&q, &mut sigma)?;
            if run.require_nonzero(&sigma)? {
                return Ok(());
            }
            step.assign(Coefficient::ratio(&rho, &sigma))?;
            host.receive(&step, |own, value| *own = value.conj())?;
            host.send(&mut conjugate, |own| *own)?;
            let alpha = Coefficient::of(&step);
            run.x.axpy(alpha.times(run.monitor.active()), &p)?;
            r.axpy(-alpha, &q)?;
            sr.axpy(-Coefficient::of(&conjugate), &sq)?;
            r.norm(&mut norm)?;
            if run.done(&norm)? {
                return Ok(());
            }
            std::mem::swap(&mut rho, &mut old_rho);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::linop::LinOp;
    use crate::solver::Solver;
    use crate::solver::testing::{self, NoTranspose};
    use crate::vector::Vector;

    #[test]
    fn an_operator_without_adjoint_is_refused() {
        let host = Executor::reference();
        let a: Arc<dyn LinOp<f64>> = Arc::new(NoTranspose(testing::laplacian_1d(&host, 4)));
        let solver = Solver::new(Bicg::default(), a).unwrap();
        let b = Vector::filled(&host, 4, 1, 1.0).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        assert!(matches!(
            solver.solve(&b, &mut x),
            Err(Error::Unsupported { .. })
        ));
    }
}
