//! How a device stores matrices of a pattern for products: here it is chosen.

use super::csr::SlicedRows;
use super::rows::{Inputs, Operand};
use super::setup::{LEAST_FILLED, Queue, Strips, Survey};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::scalar::Scalar;
use crate::size::Size;

/// Entries below which a product takes as long as its launch, whatever the layout.
const WORTH_BLOCKS: usize = 1 << 16;

/// Of a hundred values in blocks that are asked for, so many have to be entries: what [`Bsr`](crate::matrix::Bsr) allows.
const LEAST_ASKED_FOR: usize = 12;

/// How a device stores the matrices of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// Rows side by side.
    Rows(SlicedRows),
    /// Blocks side by side.
    Blocks(Strips),
}

impl Layout {
    /// The layout for a pattern of the device: blocks where a sample of rows is made of them, as those of several unknowns a
    /// node are, else rows.
    ///
    /// # Errors
    /// When the device has no memory for it or cannot number the rows.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        let is_large = pattern.nonzeros() >= WORTH_BLOCKS && !pattern.is_known_single();
        let survey = match is_large {
            true => Survey::new(queue, pattern)?,
            false => Survey::of_lengths(queue, pattern)?,
        };
        if let Some(block) = survey.block(pattern.size())
            && let Some(blocks) = Strips::new(queue, pattern, block, LEAST_FILLED)?
        {
            return Ok(Self::Blocks(blocks));
        }
        Ok(Self::Rows(SlicedRows::new(queue, pattern, &survey)?))
    }

    /// The layout of blocks of a given size, of up to six rows and columns; rows where the matrix is not made of such.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn of_blocks(queue: &Queue<'_>, pattern: &Pattern, block: Size) -> Result<Self> {
        match Strips::new(queue, pattern, block, LEAST_ASKED_FOR)? {
            Some(blocks) => Ok(Self::Blocks(blocks)),
            None => Self::of_rows(queue, pattern),
        }
    }

    /// The layout of rows.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn of_rows(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        let survey = Survey::of_lengths(queue, pattern)?;
        Ok(Self::Rows(SlicedRows::new(queue, pattern, &survey)?))
    }

    /// Rows and columns of the blocks; of rows that are stored as such there is none.
    pub(crate) fn block(&self) -> Option<Size> {
        match self {
            Self::Rows(_) => None,
            Self::Blocks(blocks) => Some(blocks.block),
        }
    }

    /// The values of a matrix, in the order of the layout.
    ///
    /// # Errors
    /// When the device has no memory for them.
    pub(crate) fn values<T: Scalar>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        match self {
            Self::Rows(rows) => rows.values(queue, pattern, values),
            Self::Blocks(blocks) => blocks.place(queue, pattern, values),
        }
    }

    /// A matrix with values in the order of the layout, for such vectors; by tensor cores where that is asked for and
    /// there is a kernel.
    pub(crate) fn operand<T: Scalar>(
        &self,
        values: &Buffer<T>,
        inputs: Inputs,
        tensors: bool,
    ) -> Result<Operand> {
        let blocks = match self {
            Self::Rows(rows) => return rows.operand(values, inputs.cols),
            Self::Blocks(blocks) => blocks,
        };
        match blocks.tensor(T::KIND, inputs).filter(|_| tensors) {
            Some(tensor) => blocks.operand_by_tensors(values, inputs.cols, tensor),
            None => blocks.operand(values, inputs.cols),
        }
    }
}
