//! The unknowns of a node, found from the entries of a matrix that ranks share.

use super::Distributed;
use super::halo::Halo;
use crate::matrix::csr::{Evidence, LARGEST, Labels};
use crate::prelude::*;

impl<T: Scalar> Distributed<T> {
    /// How many unknowns a node has, if the matrix is of a vector problem, numbered node by node, and every rank has whole
    /// nodes; found as [`Nodes::find`](crate::matrix::Nodes::find) does. All ranks call it together.
    pub fn unknowns_of_a_node(&self) -> Result<Option<usize>> {
        if T::KIND.is_complex() || self.rows.total() == 0 {
            return Ok(None);
        }
        let is_whole = |rank, size: &usize| self.rows.range(rank).end.is_multiple_of(*size as u64);
        let have_whole = |size: &usize| (0..self.rows.ranks()).all(|rank| is_whole(rank, size));
        let mut best: Option<(f64, usize)> = None;
        for block_size in (2..=LARGEST).filter(have_whole) {
            let labels = OwnNodes {
                rows: &self.columns,
                block_size,
            };
            let found = Evidence::of(&self.local, &labels).of_all(self.team().as_ref())?;
            let share = found.verdict();
            if let Some(share) = share.filter(|share| best.is_none_or(|(known, _)| *share > known))
            {
                best = Some((share, block_size));
            }
        }
        Ok(best.map(|(_, block_size)| block_size))
    }
}

/// The nodes of own rows.
struct OwnNodes<'h> {
    rows: &'h Halo,
    block_size: usize,
}

impl Labels for OwnNodes<'_> {
    fn block_size(&self) -> usize {
        self.block_size
    }

    fn nodes(&self) -> usize {
        self.rows.own_count() / self.block_size
    }

    fn row(&self, node: usize, component: usize) -> Option<usize> {
        Some(self.rows.own().start + node * self.block_size + component)
    }

    fn place(&self, row: usize) -> (usize, usize) {
        let row = self.rows.global(row) as usize;
        (row / self.block_size, row % self.block_size)
    }
    fn at_hand(&self, row: usize) -> Option<usize> {
        let own = self.rows.own();
        own.contains(&row).then(|| row - own.start)
    }
}
