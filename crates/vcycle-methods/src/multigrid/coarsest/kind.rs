//! The table of coarsest solvers, and what each says of itself.

use super::registration::{CoarsestMethod, CoarsestRegistration, SolveCoarsest};
use crate::host_stages::{COMPLEX_INVERSE, PIVOTS};
use crate::multigrid::inner::Inner;
use crate::multigrid::own::stages;
use crate::precond::Jacobi;
use crate::prelude::*;
use crate::registration::{Need, Symmetry};

/// Rows up to which [`Coarsest::Auto`] takes the dense factorisation.
const DENSE_ROWS: usize = 1000;

stages! {
    /// What solves the coarsest level: one of these, or any solver or preconditioner by its name.
    enum Coarsest("coarsest"): CoarsestRegistration, own SolveCoarsest or Inner::named {
        /// `diagonal` for a diagonal matrix, else `dense` up to 1000 rows, else `smoother`.
        Auto = AUTO,
        Dense = kind::DENSE,
        Direct = kind::DIRECT,
        Smoother = kind::SMOOTHER,
        Diagonal = kind::DIAGONAL,
    }
}

const AUTO: CoarsestRegistration = CoarsestRegistration {
    name: "auto",
    summary: "`diagonal` for a diagonal matrix, else `dense` up to 1000 rows, else `smoother`.",
    ..DENSE
};

pub(super) const DENSE: CoarsestRegistration = CoarsestRegistration {
    name: "dense",
    summary: "`P A = L U` in double precision, for vectors of any precision.",
    needs: &[],
    symmetry: Symmetry::Symmetric,
    on_host: &[COMPLEX_INVERSE],
    method: CoarsestMethod::Dense,
};

pub(super) const DIRECT: CoarsestRegistration = CoarsestRegistration {
    name: "direct",
    summary: "The sparse factorisation `Direct`, where the library is built with it.",
    on_host: &[PIVOTS],
    method: CoarsestMethod::Direct,
    ..DENSE
};

pub(super) const SMOOTHER: CoarsestRegistration = CoarsestRegistration {
    name: "smoother",
    summary: "The sweeps of the other levels, before and after.",
    on_host: &[],
    method: CoarsestMethod::Smoother,
    ..DENSE
};

pub(super) const DIAGONAL: CoarsestRegistration = CoarsestRegistration {
    name: "diagonal",
    summary: "The inverse of the diagonal, exact for a diagonal matrix.",
    needs: &[Need::Diagonal],
    on_host: &[],
    method: CoarsestMethod::Factory(|| Arc::new(Jacobi::default())),
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
