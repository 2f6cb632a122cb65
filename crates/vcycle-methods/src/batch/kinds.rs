//! The names of methods and preconditioners of batches.

use crate::error::ConfigError;
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

impl BatchMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Cg, Self::Bicgstab, Self::Gmres, Self::Direct];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::Bicgstab => "bicgstab",
            Self::Gmres => "gmres",
            Self::Direct => "direct",
        }
    }
}

text::named!(BatchMethod, "method");

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

impl BatchPreconditioner {
    /// Every preconditioner.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Jacobi,
        Self::BlockJacobi,
        Self::Ilu0,
        Self::Isai,
    ];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jacobi => "jacobi",
            Self::BlockJacobi => "block-jacobi",
            Self::Ilu0 => "ilu0",
            Self::Isai => "isai",
        }
    }
}

text::named!(BatchPreconditioner, "preconditioner");
