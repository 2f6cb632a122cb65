//! Generalised conjugate residuals.

use super::basis::Basis;
use super::{Run, check_restart, example, solver};
use crate::prelude::*;

solver! {
    /// Generalised conjugate residuals (Eisenstat, Elman and Schultz 1983), restarted.
    ///
    /// Keeps the directions `p` and their orthonormal images `A p`; minimises the residual as
    /// [`Fgmres`](super::Fgmres) does, with the solution and the residual known in every iteration.
    ///
    /// **Choose it** like [`Fgmres`](super::Fgmres), for nonsymmetric matrices with a preconditioner
    /// that may vary, when a current solution is wanted after each iteration.
    ///
    #[doc = example!("Gcr")]
    pub struct Gcr {
        /// Directions kept before the method starts afresh.
        pub restart: usize = 50,
    }
    name: "gcr", summary: "Generalised conjugate residuals.", after_colon: &["restart"], needs: &[],
    symmetry: Varying, memory: Memory::vectors(4);
    more memory: |own, _| Memory::vectors(own.restart.saturating_mul(2));
}

impl Gcr {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let restart = check_restart(self.restart, run)?;
        let mut directions = Basis::take(run.ws, run.b, restart)?;
        let mut images = Basis::take(run.ws, run.b, restart)?;
        let [mut r] = run.vectors()?;
        let [mut overlap, mut norm] = run.scalars()?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        for k in (0..restart).cycle() {
            let (old_directions, p) = directions.split_at_mut(k);
            let (old_images, q) = images.split_at_mut(k);
            let (p, q) = (&mut p[0], &mut q[0]);
            run.precondition(&r, p)?;
            run.multiply(p, q)?;
            for (old_p, old_q) in old_directions.iter().zip(old_images.iter()) {
                old_q.dot(q, &mut overlap)?;
                q.axpy(-Coefficient::of(&overlap), old_q)?;
                p.axpy(-Coefficient::of(&overlap), old_p)?;
            }
            q.norm(&mut norm)?;
            if run.require_nonzero(&norm)? {
                return Ok(());
            }
            let unit = Coefficient::one().over(&norm);
            q.scale(unit)?;
            p.scale(unit)?;

            q.dot(&r, &mut overlap)?;
            if run.require_finite(&overlap)? {
                return Ok(());
            }
            let alpha = Coefficient::of(&overlap);
            if run.advance(alpha, p, q, &mut r, &mut norm)? {
                return Ok(());
            }
        }
        unreachable!("the cycle does not end and is not empty")
    }
}
