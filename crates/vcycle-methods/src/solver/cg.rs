//! Conjugate gradients.

use super::{Run, example, solver};
use crate::prelude::*;
use crate::stop::Part;

solver! {
    /// Preconditioned conjugate gradients (Hestenes and Stiefel 1952).
    ///
    /// Minimises the error in the norm of `A` over a growing Krylov space, with two reductions and
    /// one product an iteration.
    ///
    /// **Choose it** for symmetric (Hermitian) positive definite matrices with a symmetric positive
    /// definite preconditioner that is the same in every iteration; take [`Fcg`](super::Fcg) if it
    /// varies. A direction of non-positive curvature ends it with
    /// [`Status::Indefinite`](crate::stop::Status::Indefinite).
    ///
    #[doc = example!("Cg")]
    pub struct Cg {}
    name: "cg", summary: "Conjugate gradients.", after_colon: &[], needs: Need::SYMMETRIC_FIXED,
    symmetry: Varying, memory: Memory::vectors(4),
}

impl Cg {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, z, p, q] = run.vectors()?;
        let [rho, mut old_rho, curvature, mut norm] = run.scalars()?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        // Over a zero the first direction's coefficient is zero: p = z.
        old_rho.assign(Coefficient::zero())?;
        let (vectors, scalars) = ([r, z, p, q], [rho, old_rho, curvature, norm]);
        run.repeat(vectors, scalars, |run, [r, z, p, q], scalars| {
            let [rho, old_rho, curvature, norm] = scalars;
            let z = run.preconditioned(r, z)?;
            r.dot(z, rho)?;
            if run.require_positive(rho, Part::Preconditioner)? {
                return Ok(true);
            }
            p.axpby(Coefficient::one(), z, Coefficient::ratio(rho, old_rho))?;
            run.multiply_dot(p, q, curvature)?;
            if run.require_positive(curvature, Part::Operator)? {
                return Ok(true);
            }
            old_rho.assign(Coefficient::of(rho))?;
            let alpha = Coefficient::ratio(rho, curvature);
            run.advance(alpha, p, q, r, norm)
        })
    }
}
