//! The names of methods and preconditioners of batches.

use crate::text;

/// What solves each system of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchMethod {
    /// Conjugate gradients, for symmetric (Hermitian) positive definite matrices.
    Cg,
    /// Stabilised biconjugate gradients.
    #[default]
    Bicgstab,
    /// Generalised minimal residuals, restarted.
    Gmres,
    /// LU factorisation with partial pivoting, of the band where that is narrow, refined.
    Direct,
}

text::named!(BatchMethod, "method":
    Cg = "cg", Bicgstab = "bicgstab", Gmres = "gmres", Direct = "direct");

/// The approximate inverse of each system of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchPreconditioner {
    /// None.
    None,
    /// The diagonal.
    #[default]
    Jacobi,
    /// Blocks on the diagonal.
    BlockJacobi,
    /// Incomplete factors on the pattern of the matrix.
    Ilu0,
    /// The approximate inverse on the pattern of the matrix, which is not symmetric.
    Isai,
}

text::named!(BatchPreconditioner, "preconditioner":
    None = "none", Jacobi = "jacobi", BlockJacobi = "block-jacobi", Ilu0 = "ilu0", Isai = "isai");
