//! The table of coarsest solvers.

use super::dense::DENSE;
use super::registration::{CoarsestRegistration, SolveCoarsest};
use crate::matrix::Csr;
use crate::multigrid::inner::Inner;
use crate::multigrid::own::stages;
use crate::registration::Symmetry;
use crate::scalar::Scalar;

/// Rows up to which [`Coarsest::Auto`] takes the dense factorisation.
const DENSE_ROWS: usize = 1000;

stages! {
    /// What solves the coarsest level: one of these, or any solver or preconditioner by its name.
    enum Coarsest("coarsest"): CoarsestRegistration, own SolveCoarsest or Inner::named {
        /// `diagonal` for a diagonal matrix, else `dense` up to 1000 rows, else `smoother`.
        Auto = AUTO,
        Dense = dense::DENSE,
        Direct = direct::DIRECT,
        Smoother = smoother::SMOOTHER,
        Diagonal = diagonal::DIAGONAL,
    }
}

const AUTO: CoarsestRegistration = CoarsestRegistration {
    name: "auto",
    summary: "`diagonal` for a diagonal matrix, else `dense` up to 1000 rows, else `smoother`.",
    ..DENSE
};

impl Coarsest {
    /// What kind of operator it is for a symmetric matrix.
    pub(in crate::multigrid) fn symmetry(self) -> Symmetry {
        match self {
            Self::Own(own) => own.symmetry(),
            known => known
                .registration()
                .map_or(Symmetry::Symmetric, |known| known.symmetry),
        }
    }

    /// What `auto` means for a matrix.
    pub(in crate::multigrid) fn of<V: Scalar>(self, a: &Csr<V>) -> Self {
        match self {
            Self::Auto if is_diagonal(a) => Self::Diagonal,
            Self::Auto if a.size().rows <= DENSE_ROWS => Self::Dense,
            Self::Auto => Self::Smoother,
            given => given,
        }
    }
}

/// Whether a matrix couples no two unknowns.
pub(in crate::multigrid) fn is_diagonal<V: Scalar>(a: &Csr<V>) -> bool {
    let rows = a.size().rows;
    a.nonzeros() == rows && (0..rows).all(|row| *a.row(row).0 == [row as u32])
}
