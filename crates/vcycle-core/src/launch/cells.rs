//! Launches of what moves the numbers of cells.

use vcycle_gpu::{Address, Argument};

use super::setup::{Queue, number, read};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{File, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("cells.c");

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

impl Queue<'_> {
    /// Copies the numbers of cells, so many fields and numbers in each, which are read in `F` and rounded to `T`.
    pub(crate) fn move_cells<F: Scalar, T: Scalar>(
        &self,
        runs: &RunTable,
        [fields, width]: [usize; 2],
        [from, to]: [CellSide; 2],
    ) -> Result<()> {
        let types = [
            ("F", self.gpu.real(F::KIND)?),
            ("T", self.gpu.real(T::KIND)?),
        ];
        let counts = [runs.starts.len() - 1, fields, width];
        let mut arguments = vec![number(runs.cells)];
        arguments.extend(counts.map(|count| Argument::U32(count as u32)));
        arguments.push(read(&runs.starts)?);
        for (side, places) in [from, to].into_iter().zip(&runs.places) {
            let steps = side.steps.unwrap_or(CellSteps { field: 0, cell: 0 });
            arguments.push(match side.steps {
                Some(_) => read(places)?,
                None => Argument::Address(0),
            });
            arguments.extend([steps.field, steps.cell].map(number));
            arguments.push(Argument::Address(side.address));
        }
        let items = runs.cells * fields * width;
        self.items(FILE, "cells_move", &types, items, &arguments)
    }
}
