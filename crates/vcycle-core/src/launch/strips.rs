//! The layout in which `kernels/sliced_blocks.c` multiplies: blocks side by side, a column for each.

use crate::executor::Element;
use crate::gpu::{Define, Write, kernels::strips as kernels, literal, word};
use crate::launch::Queue;
use crate::launch::slices::{LANES, Slices, Survey};
use crate::prelude::*;

/// Where the blocks of a matrix stand.
#[derive(Clone, Debug)]
pub(crate) struct Strips {
    /// Rows and columns of a block.
    pub block: Size,
    /// Rows and columns of the matrix: the last blocks may reach beyond.
    pub size: Size,
    /// The blocks: a row for every strip.
    pub pattern: Pattern,
    pub slices: Slices,
}

impl Strips {
    /// The blocks of a matrix with that pattern; none where they do not fill it, are too large for a
    /// kernel, or where some strips have far more than others. The last ones may reach beyond the matrix.
    pub(crate) fn new(
        queue: &Queue<'_>,
        pattern: &Pattern,
        block: Size,
        least_filled: usize,
    ) -> Result<Option<Self>> {
        let Some(blocks) = block_pattern(queue, pattern, block, least_filled)? else {
            return Ok(None);
        };
        let (strips, count) = (blocks.size().rows, blocks.nonzeros());
        let threads = lanes_for(strips, count / strips.max(1), queue.gpu.width());
        let survey = Survey::of_lengths(queue, &blocks)?;
        let slices = Slices::surveyed(queue, &blocks, &survey, threads)?;
        if slices.parts.is_some() {
            return Ok(None);
        }
        Ok(Some(Self {
            block,
            size: pattern.size(),
            pattern: blocks,
            slices,
        }))
    }

    /// Whether some blocks reach beyond the matrix.
    pub(crate) fn is_ragged(&self) -> bool {
        !is_whole(self.size, self.block)
    }

    /// Values of a matrix of the pattern that the blocks were found in, in this layout.
    pub(crate) fn place<T: Element>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        let (own, entries) = (&self.slices, self.block.rows * self.block.cols);
        let slices = own.slice_count();
        let mut placed = queue.uninit(own.step_count * LANES * entries)?;
        let (mark, marks) = own.marks.pointer()?;
        let to: Write<T> = placed.pointer_mut()?;
        let (offsets, columns) = pattern.buffers();
        kernels::place_blocks(
            (own.rows, self.size.rows, offsets, columns),
            slices,
            own.order.as_ref(),
            &self.pattern,
            &own.starts,
            marks,
            values.pointer()?.bits(),
            to.bits(),
        )?
        .with(&shape(self.block, size_of::<T>()))
        .with(&[("THREADS", literal(own.threads)), mark, word::<T>()])
        .items(queue, slices * LANES * self.block.rows)?;
        Ok(placed)
    }
}

/// Whether a matrix of that size is made of whole blocks.
pub(crate) fn is_whole(size: Size, block: Size) -> bool {
    size.rows.is_multiple_of(block.rows) && size.cols.is_multiple_of(block.cols)
}

/// The blocks of a matrix with that pattern, a row for every strip; none for more than six rows and columns, and where of a
/// hundred values in them fewer than so many would be entries.
pub(crate) fn block_pattern(
    queue: &Queue<'_>,
    pattern: &Pattern,
    block: Size,
    least_filled: usize,
) -> Result<Option<Pattern>> {
    let (size, entries) = (pattern.size(), pattern.nonzeros());
    let sizes = [block.rows, block.cols];
    if sizes.iter().any(|of| !(1..=6).contains(of)) {
        return Ok(None);
    }
    let strips = Size::new(
        size.rows.div_ceil(block.rows),
        size.cols.div_ceil(block.cols),
    );
    let (offsets, columns) = pattern.buffers();
    let given = (strips.rows, size.rows, offsets, columns);
    let shape = shape(block, size_of::<u32>());
    let mut counts = queue.uninit(strips.rows)?;
    kernels::count_blocks(given, &mut counts)?
        .with(&shape)
        .items(queue, strips.rows)?;
    let (offsets, count) = queue.offsets(&counts)?;
    if count * block.rows * block.cols * least_filled > entries * 100 {
        return Ok(None);
    }
    let mut columns = queue.uninit(count)?;
    kernels::list_blocks(given, &offsets, &mut columns)?
        .with(&shape)
        .items(queue, strips.rows)?;
    Ok(Some(Pattern::of_buffers(strips, offsets, columns)))
}

/// Lanes for a strip: enough to keep a device busy, each with some blocks.
fn lanes_for(strips: usize, mean: usize, width: usize) -> usize {
    let too_few = |threads: usize| {
        let (steps, lanes) = (mean / threads, strips * threads);
        steps > 64 || lanes < 1 << 17 && steps > 2
    };
    let mut threads = 1;
    while threads < width.min(LANES) && too_few(threads) {
        threads *= 2;
    }
    threads
}

/// Values that a thread loads at once: 16 bytes, or fewer where a block has no more.
pub(crate) fn vector_of(bytes: usize, block: Size) -> usize {
    let entries = block.rows * block.cols;
    let mut values = (16 / bytes).min(8);
    while values > entries {
        values /= 2;
    }
    values
}

/// The definitions of `kernels/block_place.h`, for values of so many bytes.
pub(crate) fn shape(block: Size, bytes: usize) -> [Define; 3] {
    [
        ("HEIGHT", literal(block.rows)),
        ("BREADTH", literal(block.cols)),
        ("VECTOR", literal(vector_of(bytes, block))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_strips_share_lanes() {
        assert_eq!(lanes_for(227_000, 27, 32), 1);
        assert_eq!(lanes_for(16_700, 27, 32), 8);
        assert_eq!(lanes_for(16_700, 27, 4), 4);
        assert_eq!(lanes_for(1 << 20, 200, 32), 4);
        assert_eq!(lanes_for(10, 2, 32), 1);
    }

    #[test]
    fn vectors_are_of_sixteen_bytes() {
        let of = |bytes, n| vector_of(bytes, Size::square(n));
        assert_eq!([of(8, 3), of(4, 3), of(2, 3)], [2, 4, 8]);
        assert_eq!([of(8, 2), of(4, 2), of(2, 2)], [2, 4, 4]);
        assert_eq!(vector_of(2, Size::new(1, 3)), 2);
    }
}
