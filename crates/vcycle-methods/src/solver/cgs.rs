//! Conjugate gradients squared.

use super::{Run, example, solver};
use crate::prelude::*;

solver! {
    /// Conjugate gradients squared (Sonneveld 1989), preconditioned from the right.
    ///
    /// Applies the contraction of [`Bicg`](super::Bicg) twice, without the adjoint: twice as fast
    /// where that converges, and as much wilder where it does not.
    ///
    /// **Choose it** for nonsymmetric matrices with a good preconditioner; else prefer
    /// [`Bicgstab`](super::Bicgstab).
    ///
    #[doc = example!("Cgs")]
    pub struct Cgs {}
    name: "cgs", summary: "Conjugate gradients squared.", after_colon: &[],
    needs: &[FixedPreconditioner], symmetry: Varying, memory: Memory::vectors(8),
}

impl Cgs {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, mut shadow, mut u] = run.vectors()?;
        let [mut p, mut q, mut v, mut z] = run.vectors()?;
        let [mut rho, mut old_rho, mut sigma, mut norm] = run.scalars()?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        shadow.copy_from(&*r)?;
        // Over a zero the first directions' coefficients are zero: p = u = r.
        old_rho.assign(Coefficient::zero())?;
        q.fill(T::default())?;
        loop {
            shadow.dot(&r, &mut rho)?;
            if run.require_nonzero(&rho)? {
                return Ok(());
            }
            // u = r + beta q and p = u + beta (q + beta p).
            let (one, beta) = (Coefficient::one(), Coefficient::ratio(&rho, &old_rho));
            u.copy_from(&*r)?;
            u.axpy(beta, &q)?;
            p.axpby(one, &q, beta)?;
            p.axpby(one, &u, beta)?;

            let direction = run.preconditioned(&p, &mut z)?;
            run.multiply(direction, &mut v)?;
            shadow.dot(&v, &mut sigma)?;
            if run.require_nonzero(&sigma)? {
                return Ok(());
            }
            let alpha = Coefficient::ratio(&rho, &sigma);
            q.copy_from(&*u)?;
            q.axpy(-alpha, &v)?;
            u.axpy(one, &q)?;
            let direction = run.preconditioned(&u, &mut z)?;
            run.multiply(direction, &mut v)?;
            r.axpy_norm(-alpha, &v, &mut norm)?;
            if run.require_finite(&norm)? {
                return Ok(());
            }
            run.x.axpy(alpha.times(run.monitor.active()), direction)?;
            if run.done(&norm)? {
                return Ok(());
            }
            std::mem::swap(&mut rho, &mut old_rho);
        }
    }
}
