//! Own rows and rings of rows around them.

use vcycle_kernels::compiled;

use super::Distributed;
use super::halo::Halo;
use super::local_numbers::{LocalNumbers, distinct};
use super::rows::Fetched;
use crate::prelude::*;

/// Own rows and rings of rows around them, numbered in the order of the whole matrix.
///
/// What a stage of a set-up makes of own rows depends on rows nearby only: it is run on this matrix as if there were no
/// other, and of what it makes the own rows are kept. They have the bits they have without ranks.
#[derive(Debug)]
pub struct Overlap<T> {
    /// The rows that are here, and the messages that refresh values of them.
    pub halo: Arc<Halo>,
    /// Their rows, square: the rows of the outermost ring lack their columns outside, or are empty.
    pub matrix: Csr<T>,
}

impl<T: Scalar> Distributed<T> {
    /// The submatrix of own rows and `rings` around them: ring 1 are the rows that own ones refer to. Whole nodes of
    /// `block` rows are taken. All ranks call it together.
    pub fn overlapped(&self, rings: usize, block: usize) -> Result<Overlap<T>> {
        self.overlapped_before(rings, block, u64::MAX)
    }

    /// The submatrix of own rows and those of `rings` around them that come before: what a lower triangle depends on.
    /// All ranks call it together.
    pub fn preceded(&self, rings: usize) -> Result<Overlap<T>> {
        let end = self.rows.range(self.team().rank()).end;
        self.overlapped_before(rings, 1, end)
    }

    fn overlapped_before(&self, rings: usize, block: usize, end: u64) -> Result<Overlap<T>> {
        compiled!(any T: fn(&Distributed<T>, usize, usize, u64) -> Result<Overlap<T>> = |a, rings, block, end| {
            let (_, rows) = a.rings(rings, block, None, end)?;
            a.overlap(&rows, rows.numbers.clone())
        })(self, rings, block, end)
    }

    /// Own rows and `rings` around them, all of their entries, and one ring more of which there are the numbers alone:
    /// its rows are empty. Rows that refer to own ones are in a ring, too. All ranks call it together.
    pub fn surrounded(&self, rings: usize, block: usize) -> Result<Overlap<T>> {
        compiled!(any T: fn(&Distributed<T>, usize, usize) -> Result<Overlap<T>> = |a, rings, block| {
            let back = match a.is_mutual()? {
                true => None,
                false => Some(a.transpose()?),
            };
            let (others, rows) = a.rings(rings, block, back.as_ref(), u64::MAX)?;
            a.overlap(&rows, others)
        })(self, rings, block)
    }

    /// The rows of so many rings that come before `end`, and their numbers with those of the next one. What refers to a row is
    /// beside it if the transpose is given.
    fn rings(
        &self,
        rings: usize,
        block: usize,
        back: Option<&Self>,
        end: u64,
    ) -> Result<(Vec<u64>, Fetched<T>)> {
        let own = self.rows.range(self.team().rank());
        let numbered = |rows: &[u64]| {
            let mut rows = whole_nodes(rows, block);
            rows.retain(|&row| row < end);
            LocalNumbers::new(own.clone(), rows)
        };
        let mut fetched = Vec::with_capacity(rings);
        let others = self.columns.others();
        let mut known: Vec<u64> = Vec::new();
        let mut near = match back {
            Some(back) => numbered(&[others, back.columns.others()].concat()),
            None => numbered(others),
        };
        for _ in 0..rings {
            let is_new = |row: &&u64| known.binary_search(row).is_err();
            let new: Vec<u64> = near.others().iter().filter(is_new).copied().collect();
            let ring = self.fetch(&new)?;
            let mut beside = [near.others(), &ring.rows.columns].concat();
            if let Some(back) = back {
                beside.extend(back.fetch(&new)?.rows.columns);
            }
            known = near.others().to_vec();
            near = numbered(&beside);
            fetched.push(ring);
        }
        let rows = Fetched::joined(fetched);
        Ok((near.others().to_vec(), rows))
    }

    fn overlap(&self, rows: &Fetched<T>, others: Vec<u64>) -> Result<Overlap<T>> {
        let halo = Halo::new(self.team(), &self.rows, others)?;
        let matrix = self.between(rows, &halo, &halo)?;
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
    let nodes = distinct(rows.iter().map(|row| row / size).collect());
    nodes
        .iter()
        .flat_map(|node| node * size..(node + 1) * size)
        .collect()
}

impl<T: Scalar> Distributed<T> {
    /// The rows that a numbering has, with columns in another; others are left out. All ranks call it together.
    pub fn rows_near(&self, rows: &LocalNumbers, columns: &LocalNumbers) -> Result<Csr<T>> {
        compiled!(any T: fn(&Distributed<T>, &LocalNumbers, &LocalNumbers) -> Result<Csr<T>> = |a, rows, columns| {
            let others = a.fetch(rows.others())?;
            a.between(&others, rows, columns)
        })(self, rows, columns)
    }
}

impl<T: Scalar> Overlap<T> {
    /// The own rows of something that was made of the submatrix.
    pub fn own_rows<S: Scalar>(&self, made: &Csr<S>) -> Result<Csr<S>> {
        made.row_range(self.halo.own())
    }
}
