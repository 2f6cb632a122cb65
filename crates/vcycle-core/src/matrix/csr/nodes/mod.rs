//! Which unknowns belong to one node, found from the entries of a matrix.

mod evidence;
mod gather;
mod twins;

use std::fmt;

pub(in crate::matrix) use self::evidence::{Evidence, Labels};
use crate::prelude::*;

/// The place of a row that is not there: a boundary condition has removed this unknown of the node.
const NO_ROW: u32 = u32::MAX;
/// No other grouping is looked for if this share of what should vanish does, and none that is closer is taken.
const CLEAR: f64 = 0.9;
const CLOSE: f64 = 0.02;
/// Nodes with more unknowns are not looked for.
pub(in crate::matrix) const LARGEST: usize = 8;

/// How the unknowns of nodes are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Row `k * node + component`.
    NodeByNode,
    /// Row `nodes * component + node`.
    ComponentByComponent,
    /// Any other, such as one of the above with rows removed.
    Mixed,
}

impl fmt::Display for Numbering {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NodeByNode => "node by node",
            Self::ComponentByComponent => "component by component",
            Self::Mixed => "with gaps",
        })
    }
}

/// The unknowns of every node of a vector problem, such as the displacements of elasticity.
///
/// They are found by what the entries say. The rows of a node have their entries at the same nodes, and
/// a row annihilates the constant of every component but its own: moving all nodes alike in one direction
/// causes no force in another. A scalar problem does not do so whatever its pattern, and neither do
/// unknowns that are not coupled.
///
/// ```
/// use vcycle::{executor::Executor, gallery, matrix::{Nodes, Numbering}};
/// let cpu = Executor::cpu();
/// let beam = gallery::build("elasticity:6x3x3", &cpu)?.matrix;
/// let nodes = Nodes::find(&beam).expect("three displacements a node");
/// assert_eq!((nodes.block_size(), nodes.numbering()), (3, Numbering::NodeByNode));
/// assert!(Nodes::find(&gallery::build("poisson27:6", &cpu)?.matrix).is_none());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    block_size: usize,
    numbering: Numbering,
    /// The row of each component of each node, node by node, or [`NO_ROW`].
    rows: Vec<u32>,
    /// Rows of the matrix.
    given: usize,
}

impl Nodes {
    /// The nodes of a real symmetric matrix, if it is of a vector problem. A sample of the rows is looked
    /// at, and all rows only where these belong together in no regular way.
    pub fn find<T: Scalar>(a: &Csr<T>) -> Option<Self> {
        let size = a.size();
        if T::KIND.is_complex() || size.rows != size.cols || size.rows == 0 {
            return None;
        }
        let regular = [Numbering::NodeByNode, Numbering::ComponentByComponent];
        let sizes = (2..=LARGEST).filter(|k| size.rows.is_multiple_of(*k));
        let candidates = sizes.flat_map(|k| regular.map(|numbering| (k, numbering)));
        let mut best: Option<(f64, Self)> = None;
        for (block_size, numbering) in candidates {
            let labels = Regular::new(size.rows, block_size, numbering);
            let Some(share) = Evidence::of(a, &labels).verdict() else {
                continue;
            };
            if best.as_ref().is_none_or(|(known, _)| share > *known) {
                best = Some((share, Self::regular(size.rows, block_size, numbering)));
            }
        }
        // Rows that are removed may leave some of the others in their places.
        let regular = best.as_ref().map_or(0.0, |(share, _)| *share);
        let irregular = (regular < CLEAR).then(|| twins::find(a)).flatten();
        let better = irregular.filter(|(share, _)| *share > regular + CLOSE);
        better.or(best).map(|(_, nodes)| nodes)
    }

    /// Nodes of `rows` unknowns in all, numbered so that each has a place of its own.
    ///
    /// # Panics
    /// For another numbering, and rows that are no multiple of the block size.
    pub fn regular(rows: usize, block_size: usize, numbering: Numbering) -> Self {
        assert!(numbering != Numbering::Mixed && rows.is_multiple_of(block_size));
        let labels = Regular::new(rows, block_size, numbering);
        let nodes = 0..rows / block_size;
        let of_node = |node| (0..block_size).map(move |part| labels.row(node, part).unwrap_or(0));
        Self {
            block_size,
            numbering,
            rows: nodes.flat_map(of_node).map(|row| row as u32).collect(),
            given: rows,
        }
    }

    /// Unknowns of a node.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    /// How they are numbered.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Unknowns that nodes lack.
    pub fn missing(&self) -> usize {
        self.rows.len() - self.given
    }
}

/// Nodes whose rows can be computed.
#[derive(Clone, Copy, Debug)]
struct Regular {
    block_size: usize,
    nodes: usize,
    numbering: Numbering,
}

impl Regular {
    fn new(rows: usize, block_size: usize, numbering: Numbering) -> Self {
        Self {
            block_size,
            nodes: rows / block_size,
            numbering,
        }
    }
}

impl Labels for Regular {
    fn block_size(&self) -> usize {
        self.block_size
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn row(&self, node: usize, component: usize) -> Option<usize> {
        Some(match self.numbering {
            Numbering::NodeByNode => node * self.block_size + component,
            _ => component * self.nodes + node,
        })
    }

    fn place(&self, row: usize) -> (usize, usize) {
        match self.numbering {
            Numbering::NodeByNode => (row / self.block_size, row % self.block_size),
            _ => (row % self.nodes, row / self.nodes),
        }
    }
}

#[cfg(test)]
mod tests;
