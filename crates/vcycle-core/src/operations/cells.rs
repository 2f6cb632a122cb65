//! Moves of the numbers of cells on a device.

use crate::error::Result;
use crate::executor::Executor;
use crate::launch::setup::Queue;
use crate::scalar::Scalar;

pub(crate) use crate::launch::cells::{CellSide, CellSteps, RunTable};

/// Copies the numbers of cells, so many fields and numbers in each, which are read in `F` and rounded to `T`.
pub(crate) fn move_cells<F: Scalar, T: Scalar>(
    executor: &Executor,
    runs: &RunTable,
    shape: [usize; 2],
    sides: [CellSide; 2],
) -> Result<()> {
    match Queue::of(executor) {
        Some(queue) => queue.move_cells::<F, T>(runs, shape, sides),
        None => Err(executor.lacks("cells that are moved", "packing; the host copies them")),
    }
}
