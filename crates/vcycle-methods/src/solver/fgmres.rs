//! Flexible generalised minimal residuals.

use super::{Run, example, gmres, solver};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::vector::Storage;

solver! {
    /// Flexible generalised minimal residuals (Saad 1993), restarted.
    ///
    /// [`Gmres`](super::Gmres) that keeps the preconditioned vectors, so that the preconditioner may
    /// be another one in every iteration; twice the memory, which `basis` makes less of.
    ///
    /// **Choose it** for nonsymmetric matrices whose preconditioner is an iteration itself.
    ///
    #[doc = example!("Fgmres")]
    pub struct Fgmres {
        /// Vectors kept before the method starts afresh.
        pub restart: usize = 50,
        /// What they are stored in, and what the preconditioner made of them.
        pub basis: Storage = Storage::Working,
    }
    name: "fgmres", summary: "Flexible generalised minimal residuals.",
    after_colon: &["restart", "basis"], needs: &[], symmetry: Varying, memory: Memory::vectors(4);
    more memory: |own, _| Memory::vectors(own.basis.vectors(own.restart).saturating_mul(2));
}

impl Fgmres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        gmres::iterate(run, self.restart, self.basis, true)
    }
}
