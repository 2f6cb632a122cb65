//! Stabilised biconjugate gradients.

use super::{Run, example, solver};
use crate::prelude::*;

solver! {
    /// Stabilised biconjugate gradients (van der Vorst 1992), preconditioned from the right.
    ///
    /// A step of biconjugate gradients without the adjoint, followed by a residual minimisation in
    /// one dimension. Two products and two applications of the preconditioner an iteration.
    ///
    /// **Choose it** for nonsymmetric matrices when the memory of [`Gmres`](super::Gmres) is too
    /// much; [`Idr`](super::Idr) often needs fewer products.
    ///
    #[doc = example!("Bicgstab")]
    pub struct Bicgstab {}
    name: "bicgstab", summary: "Stabilised biconjugate gradients.", after_colon: &[],
    needs: &[FixedPreconditioner], symmetry: Varying, memory: Memory::vectors(8),
}

impl Bicgstab {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, mut shadow, p, v, y, z, t] = run.vectors()?;
        let [mut rho, mut old_rho, alpha, mut omega, beta, divisor] = run.scalars()?;
        if run.start(&mut r, &mut rho)? {
            return Ok(());
        }
        shadow.copy_from(&*r)?;
        // Over a zero the first direction's coefficient is zero: p = r.
        old_rho.assign(Coefficient::zero())?;
        omega.assign(Coefficient::zero())?;
        let vectors = [r, shadow, p, v, y, z, t];
        let scalars = [rho, old_rho, alpha, omega, beta, divisor];
        run.repeat(vectors, scalars, |run, vectors, scalars| {
            let [r, shadow, p, v, y, z, t] = vectors;
            let [rho, old_rho, alpha, omega, beta, divisor] = scalars;
            shadow.dot(r, rho)?;
            if run.require_nonzero(rho)? {
                return Ok(true);
            }
            // p = r + beta (p - omega v) with beta = rho / old_rho * alpha / omega.
            beta.assign(Coefficient::ratio(rho, old_rho))?;
            p.axpy(-Coefficient::of(omega), v)?;
            let repeat = Coefficient::of(beta).times(alpha).over(omega);
            p.axpby(Coefficient::one(), r, repeat)?;

            let y = run.preconditioned(p, y)?;
            run.multiply(y, v)?;
            shadow.dot(v, divisor)?;
            if run.require_nonzero(divisor)? {
                return Ok(true);
            }
            alpha.assign(Coefficient::ratio(rho, divisor))?;
            r.axpy(-Coefficient::of(alpha), v)?;

            let z = run.preconditioned(r, z)?;
            run.multiply(z, t)?;
            t.dot2(r, t, beta, divisor)?;
            omega.assign(Coefficient::ratio(beta, divisor))?;
            if run.require_finite(omega)? {
                return Ok(true);
            }
            let active = run.monitor.active();
            run.x.axpy(Coefficient::of(alpha).times(active), y)?;
            run.x.axpy(Coefficient::of(omega).times(active), z)?;
            r.axpy_norm(-Coefficient::of(omega), t, divisor)?;
            old_rho.assign(Coefficient::of(rho))?;
            Ok(run.done(divisor)? || run.require_nonzero(omega)?)
        })
    }
}
