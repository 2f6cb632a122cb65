//! Levels that several ranks share.
//!
//! Every stage of a set-up looks at own rows and at some nearby: it is run on the matrix of
//! [these](crate::matrix::Distributed::overlapped) as if there were no other, and own rows of what it makes are kept.
//! Numbers that depend on all rows (how many are coarse, spectral radii, bounds) are asked of all ranks. So the levels
//! have the bits they have without ranks.
//!
//! Small levels are gathered: the first one that has at most [`gather_rows`](super::Amg::gather_rows) rows, and all below
//! it, are set up and visited by rank 0 alone.

mod analysis;
mod blocks;
mod by_devices;
mod choice;
mod complex;
mod energy;
mod fitted;
mod groups;
mod matching;
mod reuse;
mod setup;
mod step;
#[cfg(test)]
mod tests;
mod transfer;
mod twice;
mod way;

use std::sync::Arc;

pub(super) use analysis::{finest, is_shared};
pub(super) use complex::set_up_complex;
pub(super) use reuse::SharedSetup;
pub(super) use setup::{Made, set_up};

use crate::error::Result;
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Distributed, Halo, Partition, Pattern};
use crate::scalar::Scalar;

/// One level that ranks share, and the ways to the next.
#[derive(Debug)]
pub(super) struct SharedLevel<V: Scalar = f64> {
    pub a: Arc<Distributed<V>>,
    pub way: SharedWay<V>,
    /// The spectral radius of `D^-1 A`, if it is known.
    pub radius: Option<f64>,
    /// Entries of the matrix and of the prolongation, of all ranks.
    pub nonzeros: [u64; 2],
}

/// The transfer operators between two levels.
#[derive(Clone, Debug)]
pub(super) struct SharedWay<V: Scalar = f64> {
    pub restriction: Arc<Distributed<V>>,
    pub prolongation: Arc<Distributed<V>>,
    /// The blocks of the prolongation.
    block: Size,
    /// What filtering the matrix of the next level keeps: own rows of vectors, which it maps as before, and a share of every
    /// row.
    filter: Option<(Arc<[Vec<f64>]>, f64)>,
}

impl<V: Scalar> SharedLevel<V> {
    /// Rows of all ranks.
    pub fn rows(&self) -> usize {
        self.a.rows().total() as usize
    }
}

/// The levels that ranks share, from the finest down, and how the rows of the next one lie before they are gathered.
#[derive(Debug)]
pub(super) struct SharedLevels<V: Scalar = f64> {
    /// This rank.
    pub executor: Executor,
    pub levels: Vec<SharedLevel<V>>,
    pub gathered: Arc<Partition>,
    /// Whether this rank has the levels that are gathered.
    pub leads: bool,
}

/// A graph of rows nearby as a matrix that ranks share: own rows, with ones for couplings.
fn graph(executor: &Executor, near: &Arc<Pattern>, rows: &Halo) -> Result<Distributed<f64>> {
    let all = Csr::with_pattern(near, vec![1.0; near.nonzeros()])?;
    let (own, partition) = (all.row_range(rows.own())?, rows.partition());
    Distributed::of_numbered(executor, partition, partition, rows, own)
}
