//! The unknowns of the next level, on the way to their interpolation.

use super::coarsen::{self, Aggregates, Numbers, Splitting};
use crate::matrix::Csr;

/// What interpolation goes by.
#[derive(Clone, Debug)]
pub(super) enum Coarsened {
    Chosen(Splitting),
    /// With the prolongation that had a say in it, and the spectral radius it needed.
    Fitted(Splitting, Csr<f64>, Option<f64>),
    Twice(coarsen::Aggressive),
    Grouped(Aggregates),
}

impl Coarsened {
    /// Unknowns (or nodes) of the next level.
    pub fn count(&self) -> usize {
        match self {
            Self::Chosen(splitting) | Self::Fitted(splitting, ..) => splitting.coarse_count,
            Self::Twice(both) => both.second.coarse_count,
            Self::Grouped(aggregates) => aggregates.count,
        }
    }

    /// For every unknown (or node) its number, or that of its group, on the next level.
    pub fn map(&self) -> Numbers {
        match self {
            Self::Chosen(splitting) | Self::Fitted(splitting, ..) => splitting.coarse_index.clone(),
            Self::Twice(both) => both.second.coarse_index.clone(),
            Self::Grouped(aggregates) => aggregates.aggregate.clone(),
        }
    }

    /// All unknowns of the nodes that were chosen.
    pub fn of_nodes(self, block_size: usize) -> Self {
        match self {
            Self::Chosen(splitting) => Self::Chosen(splitting.of_nodes(block_size)),
            Self::Twice(both) => Self::Twice(coarsen::Aggressive {
                first: both.first.of_nodes(block_size),
                second: both.second.of_nodes(block_size),
            }),
            same @ (Self::Grouped(_) | Self::Fitted(..)) => same,
        }
    }
}
