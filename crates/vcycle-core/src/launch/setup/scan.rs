//! Prefix sums, and row offsets made of them.

use vcycle_gpu::Argument;

use super::tiles::NOTHING;
use super::{BLOCK, FILE, Queue, number, read, write};
use crate::error::Result;
use crate::executor::{Buffer, Element};

/// Values of a tile, as in `kernels/arrays.c`.
const TILE: usize = 8 * BLOCK as usize;

/// What can be summed.
pub(super) trait Count: Element {
    /// Its type in kernels.
    const NAME: &'static str;
}

impl Count for u32 {
    const NAME: &'static str = "u32";
}

/// Two numbers side by side, neither of whose sums needs more than 32 bits.
impl Count for u64 {
    const NAME: &'static str = "u64";
}

impl Queue<'_> {
    /// Where runs of so many entries begin that follow each other, and at the end their sum, which
    /// the host is told as well: row offsets for row lengths.
    pub fn offsets(&self, counts: &Buffer<u32>) -> Result<(Buffer<usize>, usize)> {
        let mut total = self.room::<u64>(1)?;
        let (offsets, told) = self.offsets_and_told(counts, &mut total)?;
        Ok((offsets, told[0] as usize))
    }

    /// The same with further numbers that the host is to be told: all of `told`, the first of which becomes the sum.
    pub(super) fn offsets_and_told<C: Count>(
        &self,
        counts: &Buffer<C>,
        told: &mut Buffer<u64>,
    ) -> Result<(Buffer<usize>, Vec<u64>)> {
        let total = write(told)?;
        let sums = self.sums_of_tiles(counts, total)?;
        if sums.is_none() {
            let offsets = self.scan_tiles(counts, None, total)?;
            return Ok((offsets, told.begin_read()?.wait()?));
        }
        // The sum is on its way to the host while the offsets are made.
        let coming = told.begin_read()?;
        let offsets = self.scan_tiles(counts, sums.as_ref(), total)?;
        Ok((offsets, coming.wait()?))
    }

    /// Offsets without waiting for the sum, which is written to `total`, a `u64`, as well.
    pub(super) fn scan<C: Count>(
        &self,
        counts: &Buffer<C>,
        total: Argument,
    ) -> Result<Buffer<usize>> {
        let sums = self.sums_of_tiles(counts, total)?;
        self.scan_tiles(counts, sums.as_ref(), total)
    }

    /// The sums before every tile; none where there is one tile.
    fn sums_of_tiles<C: Count>(
        &self,
        counts: &Buffer<C>,
        total: Argument,
    ) -> Result<Option<Buffer<u64>>> {
        let tiles = counts.len().div_ceil(TILE);
        if tiles <= 1 {
            return Ok(None);
        }
        let mut sums = self.room::<u64>(tiles)?;
        let [_, counter] = self.gpu.reduction();
        let given = [number(counts.len()), read(counts)?];
        let arguments = [given[0], given[1], write(&mut sums)?, total, counter];
        let types = [("COUNT", C::NAME)];
        self.blocks(FILE, "sum_tiles", &types, tiles, &arguments)?;
        Ok(Some(sums))
    }

    fn scan_tiles<C: Count>(
        &self,
        counts: &Buffer<C>,
        sums: Option<&Buffer<u64>>,
        total: Argument,
    ) -> Result<Buffer<usize>> {
        let len = counts.len();
        let mut offsets = self.room::<usize>(len + 1)?;
        let before = sums.map_or(Ok(NOTHING), read)?;
        let given = [number(len), read(counts)?];
        let arguments = [given[0], given[1], before, total, write(&mut offsets)?];
        let blocks = len.div_ceil(TILE).max(1);
        self.blocks(
            FILE,
            "scan_tiles",
            &[("COUNT", C::NAME)],
            blocks,
            &arguments,
        )?;
        Ok(offsets)
    }
}
