//! Flexible conjugate gradients.

use super::{Run, example, solver};
use crate::prelude::*;
use crate::stop::Part;

solver! {
    /// Flexible conjugate gradients (Notay, *Flexible conjugate gradients*, 2000).
    ///
    /// The new direction is made conjugate to the last one explicitly,
    /// `beta = -<A p, z> / <A p, p>`, which is the Polak–Ribière formula: it stays a descent method
    /// when the preconditioner changes from one iteration to the next. One reduction more than
    /// [`Cg`](super::Cg).
    ///
    /// **Choose it** for symmetric (Hermitian) positive definite matrices whose preconditioner is
    /// itself an iteration, a cycle with rounding in low precision, or slightly unsymmetric.
    ///
    #[doc = example!("Fcg")]
    pub struct Fcg {}
    name: "fcg", summary: "Flexible conjugate gradients.", after_colon: &[],
    needs: &[SymmetricMatrix, SymmetricPreconditioner], symmetry: Varying,
    memory: Memory::vectors(4),
}

impl Fcg {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, z, p, mut q] = run.vectors()?;
        let [rho, overlap, mut curvature, mut norm] = run.scalars()?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        // Over a zero the first direction's coefficient is zero: p = z.
        curvature.assign(Coefficient::zero())?;
        q.fill(T::default())?;
        let (vectors, scalars) = ([r, z, p, q], [rho, overlap, curvature, norm]);
        run.repeat(vectors, scalars, |run, [r, z, p, q], scalars| {
            let [rho, overlap, curvature, norm] = scalars;
            let z = run.preconditioned(r, z)?;
            z.dot(r, rho)?;
            if run.require_positive(rho, Part::Preconditioner)? {
                return Ok(true);
            }
            q.dot(z, overlap)?;
            let repeat = -Coefficient::ratio(overlap, curvature);
            p.axpby(Coefficient::one(), z, repeat)?;
            run.multiply(p, q)?;
            p.dot(q, curvature)?;
            if run.require_positive(curvature, Part::Operator)? {
                return Ok(true);
            }
            let alpha = Coefficient::ratio(rho, curvature);
            run.advance(alpha, p, q, r, norm)
        })
    }
}
