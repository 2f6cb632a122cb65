//! Sparse direct factorisations on plain arrays: Cholesky, `L D L^H` and `L U`.
//!
//! A [`Symbolic`] factorisation finds the order of elimination, the fill and the operations of all matrices of one pattern.
//! [`Factors`] are made from it and the values, front after front (Duff and Reid 1983): unknowns that have the same rows below
//! are eliminated together in a dense matrix, by products of dense matrices that the crate `faer` does. Where a pivot is too
//! small for its column, its unknown is left for the parent of the front.
//!
//! The algorithms are generic, and every type they are used with is compiled anew. Here they are compiled once,
//! for double precision, real and complex; crates that depend on this one compile none of them.

mod collectors;
mod dense;
mod elimination;
mod factors;
mod front;
mod graph;
mod ldl;
mod lu;
mod number;
mod order;
mod schedule;
mod solve;
mod symbolic;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod work;

pub use factors::{Factors, Limits};
pub use graph::Graph;
pub use number::{Number, c64};
pub use order::{Dissection, Order};
pub use symbolic::{Entry, Front, Symbolic};

/// The places of the entries of a square matrix, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    /// For every row the place of its first entry, and at the end the number of entries.
    pub offsets: &'a [usize],
    /// The column of every entry; they increase within a row.
    pub columns: &'a [u32],
}

/// What a matrix is factorised by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `L L^H` of a Hermitian matrix that is positive definite.
    Cholesky,
    /// `L D L^H` of a Hermitian matrix, `L D L^T` of a complex symmetric one, with pivots of one and two rows (Bunch and
    /// Kaufman 1977).
    Ldl {
        /// Whether the matrix is Hermitian.
        hermitian: bool,
    },
    /// `L U` of any other matrix.
    Lu,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cholesky => "cholesky",
            Self::Ldl { .. } => "ldl",
            Self::Lu => "lu",
        }
    }

    pub(crate) fn is_hermitian(self) -> bool {
        match self {
            Self::Cholesky => true,
            Self::Ldl { hermitian } => hermitian,
            Self::Lu => false,
        }
    }
}

/// Which system is solved with the factors of `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `A x = b`.
    Plain,
    /// `A^T x = b`.
    Transposed,
    /// `A^H x = b`.
    Adjoint,
}

/// Why there are no factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The factors do not fit in memory.
    #[error("the factors do not fit in memory")]
    OutOfMemory,
    /// The time is used up.
    #[error("the time is used up")]
    OutOfTime,
    /// Many rows find no pivot in their fronts, which makes those of their parents too large.
    #[error("many rows find no pivot where the order of elimination has them")]
    ManyDelays,
    /// The matrix has no Cholesky factors.
    #[error("the matrix is not positive definite")]
    NotPositive,
    /// The matrix is singular.
    #[error("no pivot is left for row {row}")]
    NoPivot {
        /// A row that depends on others.
        row: usize,
    },
}

/// The approximate minimum degree order of the graph of `A + A^T`: the row at every place.
///
/// # Errors
/// When memory is short.
pub fn minimum_degree(offsets: &[usize], columns: &[u32]) -> Result<Vec<u32>, Failure> {
    let rows: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
    order::minimum_degree(&Graph::symmetrised(offsets, columns, &rows))
}

pub(crate) const NO_MEMORY: Failure = Failure::OutOfMemory;
