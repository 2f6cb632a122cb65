//! Rounds in which devices of several ranks decide on the rows of a graph.

use std::ops::Range;

use crate::error::Result;
use crate::executor::Buffer;

/// Rounds between two looks at what is left.
const ROUNDS: usize = 6;

/// Rows of a graph on a device that are decided on here, where others may be those of other ranks.
pub trait Sharing {
    /// Which they are, among so many.
    fn own(&self, rows: usize) -> Range<usize>;

    /// The number of the first in the whole graph.
    fn first(&self) -> u64;

    /// Gets the values of other rows from their ranks.
    fn refresh_words(&self, values: &mut Buffer<u64>) -> Result<()>;

    /// The same for short numbers.
    fn refresh_counts(&self, values: &mut Buffer<u32>) -> Result<()>;

    /// The same for bytes.
    fn refresh_bytes(&self, values: &mut Buffer<u8>) -> Result<()>;

    /// The same for numbers of rows here; those that are not here become `NONE`.
    fn refresh_rows(&self, rows: &mut Buffer<u32>) -> Result<()>;

    /// Whether it holds on any rank.
    fn any(&self, holds: bool) -> Result<bool>;

    /// Rounds after which it is worth asking whether there are more.
    fn rounds(&self) -> usize {
        ROUNDS
    }
}

/// All rows are here.
pub struct Alone;

impl Sharing for Alone {
    fn own(&self, rows: usize) -> Range<usize> {
        0..rows
    }

    fn first(&self) -> u64 {
        0
    }

    fn refresh_words(&self, _: &mut Buffer<u64>) -> Result<()> {
        Ok(())
    }

    fn refresh_counts(&self, _: &mut Buffer<u32>) -> Result<()> {
        Ok(())
    }

    fn refresh_bytes(&self, _: &mut Buffer<u8>) -> Result<()> {
        Ok(())
    }

    fn refresh_rows(&self, _: &mut Buffer<u32>) -> Result<()> {
        Ok(())
    }

    fn any(&self, holds: bool) -> Result<bool> {
        Ok(holds)
    }
}

/// Where own rows begin and end.
pub(crate) fn decided(own: &Range<usize>) -> (usize, usize) {
    (own.start, own.end)
}
