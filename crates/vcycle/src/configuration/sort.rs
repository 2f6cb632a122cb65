//! What the driver distinguishes preconditioners by.

use super::components::PreconditionerConfig;
use crate::multigrid::Amg;
use crate::structured::StructMg;

/// What the driver distinguishes preconditioners by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sort<'p> {
    /// Still to be chosen.
    Auto,
    /// None at all.
    None,
    /// Algebraic multigrid.
    Amg(&'p Amg),
    /// Multigrid on a grid.
    StructMg(&'p StructMg),
    /// Iterations of a solver.
    Iterations,
    /// What is made of the entries of the matrix, whatever their order.
    OfEntries,
}

impl PreconditionerConfig {
    /// Its sort. Every component stands here, so that none is forgotten in the driver.
    pub(crate) fn sort(&self) -> Sort<'_> {
        match self {
            Self::Auto(_) => Sort::Auto,
            Self::None(_) => Sort::None,
            Self::Amg(amg) => Sort::Amg(amg),
            Self::StructMg(structured) => Sort::StructMg(structured),
            Self::Solver(_) => Sort::Iterations,
            Self::Jacobi(_)
            | Self::L1Jacobi(_)
            | Self::BlockJacobi(_)
            | Self::BlockDirect(_)
            | Self::Sor(_)
            | Self::Ssor(_)
            | Self::MulticolourGs(_)
            | Self::HybridGs(_)
            | Self::Ic0(_)
            | Self::Ilu0(_)
            | Self::Iluk(_)
            | Self::Ilut(_)
            | Self::Ick(_)
            | Self::ParIlu(_)
            | Self::ParIlut(_)
            | Self::ParIc(_)
            | Self::ParIct(_)
            | Self::Isai(_)
            | Self::Fsai(_)
            | Self::Polynomial(_)
            | Self::Saddle(_)
            | Self::Schwarz(_) => Sort::OfEntries,
        }
    }
}
