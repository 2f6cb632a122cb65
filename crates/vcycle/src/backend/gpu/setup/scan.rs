//! Sums over all before, and what is made of them.

use super::{BLOCK, FILE, Queue, number, read, write};
use crate::error::Result;
use crate::executor::Buffer;

/// Values of a tile, as in `kernels/arrays.c`.
const TILE: usize = 8 * BLOCK as usize;

impl Queue<'_> {
    /// Where runs of so many entries begin that follow each other, and at the end their sum, which
    /// the host is told as well: row offsets for row lengths.
    pub(crate) fn offsets(&self, counts: &Buffer<u32>) -> Result<(Buffer<usize>, usize)> {
        let (offsets, sums) = self.scan(counts)?;
        let total = sums.get(sums.len() - 1)?;
        Ok((offsets, total as usize))
    }

    /// The same without waiting for the sum, which is the last of the second array as well.
    pub(super) fn scan(&self, counts: &Buffer<u32>) -> Result<(Buffer<usize>, Buffer<u64>)> {
        let len = counts.len();
        let tiles = len.div_ceil(TILE);
        let mut sums = self.room::<u64>(tiles + 1)?;
        let mut offsets = self.room::<usize>(len + 1)?;
        let counted = [number(len), read(counts)?];
        let arguments = [counted[0], counted[1], write(&mut sums)?];
        self.blocks(FILE, "sum_tiles", &[], tiles, &arguments)?;
        let arguments = [number(tiles), write(&mut sums)?];
        self.blocks(FILE, "scan_sums", &[], 1, &arguments)?;
        let arguments = [counted[0], counted[1], read(&sums)?, write(&mut offsets)?];
        self.blocks(FILE, "scan_tiles", &[], tiles.max(1), &arguments)?;
        Ok((offsets, sums))
    }
}
