//! How several unknowns a node are treated.

use super::coarsen::Coarsening;
use crate::text;

/// How matrices with several unknowns a node are coarsened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Systems {
    /// `node` where unknowns are grouped, `unknown` where they are chosen.
    #[default]
    Auto,
    /// As if every unknown were a node of its own.
    Scalar,
    /// Each component by itself: couplings between different ones are left out of the strength
    /// and of the interpolation, not of the coarse matrix. **Choose it** with classical
    /// coarsening for components that are weakly coupled.
    Unknown,
    /// All unknowns of a node alike: strength and coarsening are those of the graph of nodes, in
    /// which a block counts by its Frobenius norm. **Choose it** for aggregation with rigid-body
    /// modes, and wherever the coarse levels need nodes.
    Node,
}

impl Systems {
    /// What it means for nodes of so many unknowns.
    pub(super) fn of(self, block_size: usize, coarsening: Coarsening) -> Self {
        match self {
            _ if block_size == 1 => Self::Scalar,
            Self::Auto if coarsening.aggregates() => Self::Node,
            Self::Auto => Self::Unknown,
            given => given,
        }
    }
}

text::named!(Systems, "treatment of systems": Auto = "auto", Scalar = "scalar", Unknown = "unknown", Node = "node");
