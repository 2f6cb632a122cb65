//! Moves of the numbers of cells on a device.

use vcycle_gpu::Address;

use crate::gpu::kernels::cells as kernels;
use crate::launch::prelude::*;

/// Cells that are side by side in two arrays, on a device.
#[derive(Debug)]
pub(crate) struct RunTable {
    /// How many cells are before each, and in all.
    pub starts: Buffer<usize>,
    /// Their places in the array that they come from, and in that which they go to.
    pub places: [Buffer<usize>; 2],
    /// All cells.
    pub cells: usize,
}

/// Where the numbers of a cell are in an array: those of the next field and of the next cell are so far away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellSteps {
    pub field: usize,
    pub cell: usize,
}

/// An array of cells on a device, or a message, which has no steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellSide {
    pub address: Address,
    pub steps: Option<CellSteps>,
}

/// Copies the numbers of cells, so many fields and numbers in each, which are read in `F` and rounded to `T`.
pub(crate) fn move_cells<F: Scalar, T: Scalar>(
    executor: &Executor,
    runs: &RunTable,
    [fields, width]: [usize; 2],
    [from, to]: [CellSide; 2],
) -> Result<()> {
    let Some(queue) = Queue::of(executor) else {
        return Err(executor.lacks("cells that are moved", "packing; the host copies them"));
    };
    queue.gpu.real(F::KIND)?;
    queue.gpu.real(T::KIND)?;
    let steps = |side: CellSide| side.steps.unwrap_or(CellSteps { field: 0, cell: 0 });
    let [from_places, to_places] = &runs.places;
    kernels::cells_move::<F, T>(
        runs.cells,
        runs.starts.len() - 1,
        fields,
        width,
        &runs.starts,
        from.steps.map(|_| from_places),
        steps(from).field,
        steps(from).cell,
        Read::new(from.address),
        to.steps.map(|_| to_places),
        steps(to).field,
        steps(to).cell,
        Write::new(to.address),
    )?
    .items(&queue, runs.cells * fields * width)
}
