//! Biconjugate gradients.

use super::per_column::PerColumn;
use super::{Run, example, solver};
use crate::error::{Error, Result};
use crate::executor::Scratch;
use crate::scalar::{Field, Scalar};
use crate::vector::{Coefficient, Scalars};

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
        let mut factor = Factor::take(run)?;
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
            factor.set(Coefficient::ratio(&rho, &old_rho))?;
            p.axpby(Coefficient::one(), z, factor.plain())?;
            sp.axpby(Coefficient::one(), sz, factor.conjugate())?;
            run.multiply(&p, &mut q)?;
            run.multiply_adjoint(&sp, &mut sq).map_err(advised)?;
            sp.dot(&q, &mut sigma)?;
            if run.require_nonzero(&sigma)? {
                return Ok(());
            }
            factor.set(Coefficient::ratio(&rho, &sigma))?;
            sr.axpy(-factor.conjugate(), &sq)?;
            if run.advance(factor.plain(), &p, &q, &mut r, &mut norm)? {
                return Ok(());
            }
            std::mem::swap(&mut rho, &mut old_rho);
        }
    }
}

/// Says what to use where there is no adjoint.
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

/// A coefficient of the recurrence, and its conjugate for the shadow.
struct Factor<'w, T: Scalar> {
    plain: Scratch<'w, Scalars<T>>,
    conjugate: Scratch<'w, Scalars<T>>,
    host: Scratch<'w, PerColumn<T, T::Arith>>,
}

impl<'w, T: Scalar> Factor<'w, T> {
    fn take(run: &Run<'w, T>) -> Result<Self> {
        let [plain, conjugate] = run.scalars()?;
        let host = PerColumn::take(run.ws, run.b)?;
        Ok(Self {
            plain,
            conjugate,
            host,
        })
    }

    fn set(&mut self, value: Coefficient<'_, T>) -> Result<()> {
        self.plain.assign(value)?;
        self.host
            .receive(&self.plain, |own, value| *own = value.conj())?;
        self.host.send(&mut self.conjugate, |own| *own)
    }

    fn plain(&self) -> Coefficient<'_, T> {
        Coefficient::of(&self.plain)
    }

    fn conjugate(&self) -> Coefficient<'_, T> {
        Coefficient::of(&self.conjugate)
    }
}
