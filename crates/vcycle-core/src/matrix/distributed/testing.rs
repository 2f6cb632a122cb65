//! Matrices over ranks, for tests.

use super::{Distributed, Partition};
use crate::prelude::*;
use crate::testing::on_ranks;

/// Does some work with the rows that each of so many ranks has of a matrix, about as many; ranks may have a device.
///
/// # Panics
/// When the work of a rank fails.
pub fn on_parts<T: Scalar>(
    device: Option<&Executor>,
    ranks: usize,
    whole: &Csr<T>,
    work: impl Fn(&Executor, Distributed<T>) -> Result<()> + Sync,
) {
    on_ranks(ranks, |rank, _| {
        let rank = match device {
            Some(device) => &rank.with_device(device.name())?,
            None => rank,
        };
        let even = Partition::even(whole.size().rows as u64, 1, ranks);
        work(rank, Distributed::part_of(rank, whole, even)?)
    });
}
