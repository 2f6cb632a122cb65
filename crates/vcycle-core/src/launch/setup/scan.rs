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
        let offsets = self.scan(counts, write(&mut total)?)?;
        Ok((offsets, total.get(0)? as usize))
    }

    /// The same without waiting for the sum, which is written to `total`, a `u64`, as well.
    pub(super) fn scan<C: Count>(
        &self,
        counts: &Buffer<C>,
        total: Argument,
    ) -> Result<Buffer<usize>> {
        let len = counts.len();
        let tiles = len.div_ceil(TILE);
        let types = [("COUNT", C::NAME)];
        let counted = [number(len), read(counts)?];
        let mut sums = self.room::<u64>(tiles)?;
        let mut before = NOTHING;
        if tiles > 1 {
            before = write(&mut sums)?;
            let [_, counter] = self.gpu.reduction();
            let arguments = [counted[0], counted[1], before, counter];
            self.blocks(FILE, "sum_tiles", &types, tiles, &arguments)?;
        }
        let mut offsets = self.room::<usize>(len + 1)?;
        let arguments = [counted[0], counted[1], before, total, write(&mut offsets)?];
        self.blocks(FILE, "scan_tiles", &types, tiles.max(1), &arguments)?;
        Ok(offsets)
    }
}
