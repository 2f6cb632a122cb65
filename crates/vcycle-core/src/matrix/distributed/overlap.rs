//! Own rows and rings of rows around them.

use std::sync::Arc;

use super::Distributed;
use super::fetch::Rows;
use super::halo::Halo;
use super::local_numbers::LocalNumbers;
use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// The principal submatrix of own rows and of rings around them, numbered in the order of the whole matrix.
///
/// What a stage of a set-up makes of own rows depends on rows nearby only: it is run on this matrix as if there were no
/// other, and of what it makes the own rows are kept. They have the bits they have without ranks.
#[derive(Debug)]
pub struct Overlap<T> {
    /// The rows that are here, and who refreshes values of them.
    pub halo: Arc<Halo>,
    /// The submatrix. The rows of the outermost ring lack their columns outside.
    pub matrix: Csr<T>,
}

impl<T: Scalar> Distributed<T> {
    /// The submatrix of own rows and `rings` around them: ring 1 are the rows that own ones refer to. Whole nodes of
    /// `block` rows are taken. All ranks call it together.
    ///
    /// # Errors
    /// When memory is short, or another rank has failed.
    pub fn overlapped(&self, rings: usize, block: usize) -> Result<Overlap<T>> {
        let own = self.rows.range(self.team().rank());
        let mut near = whole_nodes(self.columns.others(), block);
        let mut known = LocalNumbers::new(own.clone(), Vec::new());
        let mut rows = Rows::new();
        for ring in 0..rings {
            known = LocalNumbers::new(own.clone(), std::mem::take(&mut near));
            rows = self.fetch(known.others())?;
            if ring + 1 < rings {
                near = [known.others(), &rows.columns].concat();
                near = whole_nodes(&near, block);
            }
        }
        let halo = Halo::new(self.team(), &self.rows, known.others().to_vec())?;
        let matrix = self.between(&rows, halo.before(), &halo);
        Ok(Overlap {
            halo: Arc::new(halo),
            matrix,
        })
    }
}

/// All rows of the nodes that rows belong to.
pub(super) fn whole_nodes(rows: &[u64], block: usize) -> Vec<u64> {
    let size = block as u64;
    if size <= 1 {
        return rows.to_vec();
    }
    let mut nodes: Vec<u64> = rows.iter().map(|row| row / size).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
        .iter()
        .flat_map(|node| node * size..(node + 1) * size)
        .collect()
}

impl<T: Scalar> Distributed<T> {
    /// The rows that a halo numbers, with columns in some numbering; others are left out. All ranks call it together.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn rows_near(&self, rows: &Halo, columns: &LocalNumbers) -> Result<Csr<T>> {
        let others = self.fetch(rows.others())?;
        Ok(self.between(&others, rows.before(), columns))
    }
}

impl<T: Scalar> Overlap<T> {
    /// The own rows of something that was made of the submatrix.
    pub fn own_rows<S: Scalar>(&self, made: &Csr<S>) -> Result<Csr<S>> {
        made.row_range(self.halo.own())
    }
}
