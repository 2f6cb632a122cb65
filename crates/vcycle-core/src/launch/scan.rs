//! Prefix sums, and row offsets made of them.

use crate::executor::Element;
use crate::gpu::{BLOCK, Passes, Write, kernels};
use crate::launch::Queue;
use crate::prelude::*;

/// Values of a tile, as in `kernels/arrays.c`.
const TILE: usize = 8 * BLOCK as usize;

impl Queue<'_> {
    /// Where runs of so many entries begin that follow each other, and at the end their sum, which
    /// the host reads as well: row offsets for row lengths.
    pub fn offsets(&self, counts: &Buffer<u32>) -> Result<(Buffer<usize>, usize)> {
        let mut total = self.uninit::<u64>(1)?;
        let (offsets, totals) = self.offsets_with_totals(counts, &mut total)?;
        Ok((offsets, totals[0] as usize))
    }

    /// The same with further numbers that the host reads: all of `totals`, the first of which becomes the sum.
    pub(crate) fn offsets_with_totals<C: Element>(
        &self,
        counts: &Buffer<C>,
        totals: &mut Buffer<u64>,
    ) -> Result<(Buffer<usize>, Vec<u64>)> {
        let total = totals.pointer_mut()?;
        let sums = self.sums_of_tiles(counts, total)?;
        if sums.is_none() {
            let offsets = self.scan_tiles(counts, None, total)?;
            return Ok((offsets, totals.begin_read()?.wait()?));
        }
        // The sum is on its way to the host while the offsets are made.
        let coming = totals.begin_read()?;
        let offsets = self.scan_tiles(counts, sums.as_ref(), total)?;
        Ok((offsets, coming.wait()?))
    }

    /// Offsets of counts (`u32`, or `u64` for two numbers side by side, neither of whose sums needs more than 32 bits) without
    /// waiting for the sum, which is written to `total` as well.
    pub(crate) fn scan<C: Element>(
        &self,
        counts: &Buffer<C>,
        total: impl Passes<Write<u64>>,
    ) -> Result<Buffer<usize>> {
        let total = total.pass()?;
        let sums = self.sums_of_tiles(counts, total)?;
        self.scan_tiles(counts, sums.as_ref(), total)
    }

    /// The sums before every tile; none where there is one tile.
    fn sums_of_tiles<C: Element>(
        &self,
        counts: &Buffer<C>,
        total: Write<u64>,
    ) -> Result<Option<Buffer<u64>>> {
        let tiles = counts.len().div_ceil(TILE);
        if tiles <= 1 {
            return Ok(None);
        }
        let mut sums = self.uninit::<u64>(tiles)?;
        let counter = self.gpu.counter();
        kernels::arrays::sum_tiles(counts.len(), counts, &mut sums, total, counter)?
            .run(self.gpu, tiles)?;
        Ok(Some(sums))
    }

    fn scan_tiles<C: Element>(
        &self,
        counts: &Buffer<C>,
        sums: Option<&Buffer<u64>>,
        total: Write<u64>,
    ) -> Result<Buffer<usize>> {
        let len = counts.len();
        let mut offsets = self.uninit::<usize>(len + 1)?;
        kernels::arrays::scan_tiles(len, counts, sums, total, &mut offsets)?
            .run(self.gpu, len.div_ceil(TILE).max(1))?;
        Ok(offsets)
    }
}
