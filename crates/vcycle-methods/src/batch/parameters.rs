//! How the systems of a batch are solved.

use crate::registration::parameters;
use crate::text;

parameters! {
    /// How every system of a batch is solved.
    pub struct BatchSolver {
        /// The iteration, or a factorisation.
        pub method: BatchMethod = BatchMethod::Bicgstab,
        /// The approximate inverse it uses.
        pub preconditioner: BatchPreconditioner = BatchPreconditioner::Jacobi,
        /// Rows of a block of block Jacobi.
        pub block_size: usize = 4,
        /// Vectors that GMRES keeps before it starts afresh.
        pub restart: usize = 30,
        /// Residual to reach, relative to the right-hand side.
        pub rtol: f64 = 1e-8,
        /// Or residual norm to reach.
        pub atol: f64 = 0.0,
        /// Iterations that a system may take.
        pub max_iterations: usize = 500,
    }
}

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
