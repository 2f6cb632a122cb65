//! Biconjugate gradients.

use super::per_column::PerColumn;
use super::{Run, example, solver};
use crate::prelude::*;

solver! {
    /// Biconjugate gradients (Fletcher 1976).
    ///
    /// Two coupled conjugate gradient recurrences, with `A` and with its adjoint. The residual can
    /// jump about.
    ///
    /// **Choose it** for nonsymmetric matrices where products with the adjoint are cheap; mostly
    /// [`Bicgstab`](super::Bicgstab) or [`Idr`](super::Idr) is the better choice. Matrix and
    /// preconditioner must be able to apply their adjoint.
    ///
    #[doc = example!("Bicg")]
    pub struct Bicg {}
    name: "bicg", summary: "Biconjugate gradients.", after_colon: &[],
    needs: &[FixedPreconditioner], symmetry: Varying, memory: Memory::vectors(7),
}

impl Bicg {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, mut z, mut p, mut q] = run.vectors()?;
        // The shadow recurrence, with the adjoint.
        let [mut sr, mut sz, mut sp, mut sq] = run.vectors()?;
        let [mut rho, mut old_rho, mut sigma, mut norm] = run.scalars()?;
        let [mut plain, mut conjugate] = run.scalars()?;
        let mut host = PerColumn::take(run.ws, run.b)?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        sr.copy_from(&*r)?;
        // Over a zero the first direction's coefficient is zero: p = z.
        old_rho.assign(Coefficient::zero())?;
        loop {
            let z = run.preconditioned(&r, &mut z)?;
            let sz = run.preconditioned_adjoint(&sr, &mut sz).map_err(advised)?;
            sr.dot(z, &mut rho)?;
            if run.require_nonzero(&rho)? {
                return Ok(());
            }
            let beta = Coefficient::ratio(&rho, &old_rho);
            evaluate(beta, &mut host, [&mut plain, &mut conjugate])?;
            p.axpby(Coefficient::one(), z, Coefficient::of(&plain))?;
            sp.axpby(Coefficient::one(), sz, Coefficient::of(&conjugate))?;
            run.multiply(&p, &mut q)?;
            run.multiply_adjoint(&sp, &mut sq).map_err(advised)?;
            sp.dot(&q, &mut sigma)?;
            if run.require_nonzero(&sigma)? {
                return Ok(());
            }
            let alpha = Coefficient::ratio(&rho, &sigma);
            evaluate(alpha, &mut host, [&mut plain, &mut conjugate])?;
            sr.axpy(-Coefficient::of(&conjugate), &sq)?;
            if run.advance(Coefficient::of(&plain), &p, &q, &mut r, &mut norm)? {
                return Ok(());
            }
            std::mem::swap(&mut rho, &mut old_rho);
        }
    }
}

/// The error of an operator without an adjoint, with what to use instead.
fn advised(error: Error) -> Error {
    match error {
        Error::Unsupported {
            component,
            operation,
        } => Error::Unsupported {
            component,
            operation: format!("{operation}, which bicg needs; use bicgstab, idr or gmres instead"),
        },
        other => other,
    }
}

/// Evaluates a coefficient of the recurrence, and its conjugate for the shadow.
fn evaluate<T: Scalar>(
    value: Coefficient<'_, T>,
    host: &mut PerColumn<T, T::Arith>,
    [plain, conjugate]: [&mut Scalars<T>; 2],
) -> Result<()> {
    plain.assign(value)?;
    host.receive(plain, |own, value| *own = value.conj())?;
    host.send(conjugate, |own| *own)
}
