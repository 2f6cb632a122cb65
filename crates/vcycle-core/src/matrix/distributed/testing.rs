//! Matrices over ranks, for tests.

use super::{Distributed, Partition};
use crate::communicator::threads;
use crate::prelude::*;

/// Does some work with the rows that each of so many ranks has of a matrix, about as many; ranks may have a device.
pub(super) fn on_ranks<T: Scalar>(
    device: Option<&Executor>,
    ranks: usize,
    whole: &Csr<T>,
    work: impl Fn(&Executor, Distributed<T>) -> Result<()> + Sync,
) {
    let done = threads::run(ranks, |team| {
        let mut rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        if let Some(device) = device {
            rank = rank.with_device(device.name())?;
        }
        let even = Partition::even(whole.size().rows as u64, 1, ranks);
        work(&rank, Distributed::part_of(&rank, whole, even)?)
    });
    done.unwrap();
}
