//! Products of matrices in blocks: blocks are looked up, and not entry after entry.

use std::borrow::Cow;

use crate::gpu::{flag, kernels::block_products as kernels};
use crate::launch::groups::{Group, Groups, TEAM_BLOCK};
use crate::launch::layout::Layout;
use crate::launch::prelude::*;
use crate::launch::strips::block_pattern;
use crate::operations::products::factors::are_plain;
use crate::operations::products::tables::Product;

/// Columns of a block that kernels have, at most.
const LARGEST: usize = 6;
/// Bytes of local memory that the sums of a block of threads take.
const LOCAL_BYTES: usize = 44 << 10;
/// Threads that write the columns of a row of whole blocks: one thread took a third of `A A` of `elasticity:60x60x60` on an H200.
const COLUMN_THREADS: usize = 32;
/// Threads of the smallest teams: a block of `A` meets a few of `B`, each with a few rows.
const FEWEST: usize = 16;
/// Threads of the largest teams that are not a whole block.
const MOST: usize = 32;

/// A matrix in blocks, as `kernels/block_products.c` has it.
struct Blocked<'m, T: Scalar> {
    block: Size,
    pattern: Cow<'m, Pattern>,
    values: Cow<'m, Buffer<T>>,
    /// None where blocks have all their entries.
    masks: Option<Buffer<u8>>,
}

/// The blocks of a matrix, if its device is known to multiply in them.
fn known_blocks(pattern: &Pattern) -> Option<(Size, &Pattern)> {
    match pattern.known_layout()? {
        Layout::Blocks(strips) if !strips.is_ragged() => Some((strips.block, &strips.pattern)),
        _ => None,
    }
}

/// The size of these blocks.
fn known_block(pattern: &Pattern) -> Option<Size> {
    known_blocks(pattern).map(|(block, _)| block)
}

/// The blocks in which `B` is multiplied by a matrix in blocks with so many columns: its own, whose rows may be divided or put together.
fn right_block(columns: usize, b: &Pattern) -> Option<Size> {
    let own = known_block(b)?;
    meet(columns, own.rows).then_some(Size::new(columns, own.cols))
}

/// The same for what a matrix in blocks with so many rows is multiplied by from the left.
fn left_block(rows: usize, r: &Pattern) -> Option<Size> {
    let own = known_block(r)?;
    meet(rows, own.cols).then_some(Size::new(own.rows, rows))
}

fn meet(one: usize, other: usize) -> bool {
    one.is_multiple_of(other) || other.is_multiple_of(one)
}

impl<'m, T: Scalar> Blocked<'m, T> {
    /// Of a matrix, in blocks of a size that divides it.
    fn new(queue: &Queue<'_>, a: &'m Csr<T>, block: Size) -> Result<Self> {
        let pattern = match known_blocks(a.pattern()) {
            Some((known, pattern)) if known == block => Cow::Borrowed(pattern),
            _ => {
                let found = block_pattern(queue, a.pattern(), block, 0)?;
                Cow::Owned(found.expect("blocks divide what they meet"))
            }
        };
        let values = a.values_buffer();
        let count = pattern.nonzeros() * block.rows;
        let mut blocked = Self {
            block,
            pattern,
            values: Cow::Borrowed(values),
            masks: None,
        };
        if count * block.cols == values.len() {
            return Ok(blocked);
        }
        let (mut packed, mut masks) = (queue.uninit(count * block.cols)?, queue.uninit(count)?);
        let rows = a.size().rows;
        queue.gpu.real(T::KIND)?;
        let (offsets, columns) = a.pattern().buffers();
        let (to, of) = (&mut packed, &mut masks);
        kernels::pack_blocks(rows, offsets, columns, values, &*blocked.pattern, to, of)?
            .with(&blocked.shape())
            .items(queue, rows)?;
        (blocked.values, blocked.masks) = (Cow::Owned(packed), Some(masks));
        Ok(blocked)
    }

    fn shape(&self) -> [Define; 2] {
        [
            ("HEIGHT", literal(self.block.rows)),
            ("BREADTH", literal(self.block.cols)),
        ]
    }

    /// The product, in blocks.
    fn multiply<'c>(&self, queue: &Queue<'_>, b: &Blocked<'_, T>) -> Result<Blocked<'c, T>> {
        let pattern = Product::new(*queue, &self.pattern, &b.pattern)?.symbolic()?;
        let block = Size::new(self.block.rows, b.block.cols);
        let count = pattern.nonzeros() * block.rows;
        let is_full = self.masks.is_none() && b.masks.is_none();
        let mut values = queue.uninit::<T>(count * block.cols)?;
        let mut masks = match is_full {
            true => None,
            false => Some(queue.uninit::<u8>(count)?),
        };
        let shape = Shape {
            block,
            inner: self.block.cols,
            bytes: size_of::<T>(),
        };
        queue.gpu.real(T::KIND)?;
        let groups = Groups::of_offsets(queue, pattern.buffers().0)?;
        for group in groups.each(shape.slots(), (1, MOST))? {
            let group = shape.teams(group);
            kernels::block_product(
                group.count,
                group.rows,
                (&*self.pattern, &*self.values, self.masks.as_ref()),
                (&*b.pattern, &*b.values, b.masks.as_ref()),
                &pattern,
                &mut values,
                masks.as_mut(),
            )?
            .with(&group.defines(group.size))
            .with(&shape.defines())
            .with(&[("FULL", flag(is_full))])
            .run(queue.gpu, group.blocks(queue, 1))?;
        }
        Ok(Blocked {
            block,
            pattern: Cow::Owned(pattern),
            values: Cow::Owned(values),
            masks,
        })
    }

    /// The same in rows.
    fn into_rows(self, queue: &Queue<'_>) -> Result<Csr<T>> {
        let strips = self.pattern.size();
        let size = Size::new(strips.rows * self.block.rows, strips.cols * self.block.cols);
        let full = ("FULL", flag(self.masks.is_none()));
        let defines = [self.shape()[0], self.shape()[1], full, ("T", T::NAME)];
        let (blocks, mut lengths) = (&*self.pattern, queue.uninit::<u32>(size.rows)?);
        let masks = self.masks.as_ref();
        kernels::packed_lengths(size.rows, blocks.buffers().0, masks, &mut lengths)?
            .with(&defines)
            .items(queue, size.rows)?;
        let Some(masks) = masks else {
            let pattern = queue.new_pattern(size, &lengths, |(offsets, columns)| {
                kernels::unpack_columns(size.rows, blocks, offsets, columns)?
                    .with(&[("THREADS", literal(COLUMN_THREADS))])
                    .with(&defines)
                    .run(
                        queue.gpu,
                        size.rows.div_ceil(TEAM_BLOCK as usize / COLUMN_THREADS),
                    )
            })?;
            let values = self.values.into_owned();
            return Ok(Csr::of_buffers(&Arc::new(pattern), values));
        };
        let mut out = queue.new_rows(&lengths)?;
        kernels::unpack_blocks(size.rows, blocks, &*self.values, masks, &mut out)?
            .with(&defines[..3])
            .items(queue, size.rows)?;
        Ok(out.matrix(size))
    }
}

/// The blocks of a product, of the left factor and of the values.
struct Shape {
    block: Size,
    inner: usize,
    bytes: usize,
}

impl Shape {
    /// Blocks whose sums a block of threads has room for, a power of two.
    fn slots(&self) -> usize {
        let sums = self.block.rows * self.block.cols * self.bytes;
        let each = sums + self.block.rows + size_of::<u32>();
        1 << (LOCAL_BYTES / each).ilog2()
    }

    /// The same rows with teams that have room for their sums.
    fn teams(&self, group: Group) -> Group {
        let block = TEAM_BLOCK as usize;
        let fewest = block * group.size / self.slots();
        let threads = match group.is_local && fewest <= MOST {
            true => fewest.max(FEWEST),
            false => block,
        };
        Group { threads, ..group }
    }

    fn defines(&self) -> [Define; 3] {
        [
            ("HEIGHT", literal(self.block.rows)),
            ("INNER", literal(self.inner)),
            ("BREADTH", literal(self.block.cols)),
        ]
    }
}

impl Queue<'_> {
    /// `A B` in blocks, where the device multiplies in such with both, and adds up in the type of their values.
    pub(super) fn multiply_blocks<T: Scalar>(
        &self,
        a: &Csr<T>,
        b: &Csr<T>,
    ) -> Result<Option<Csr<T>>> {
        let Some(block) = known_block(a.pattern()).filter(|_| are_plain::<T>()) else {
            return Ok(None);
        };
        let Some(right) = right_block(block.cols, b.pattern()) else {
            return Ok(None);
        };
        let (a, b) = (Blocked::new(self, a, block)?, Blocked::new(self, b, right)?);
        a.multiply(self, &b)?.into_rows(self).map(Some)
    }

    /// `A T` in blocks of a size that `T` is made of, where the device multiplies with `A` in blocks that meet these.
    pub(crate) fn multiply_by_blocks(
        &self,
        a: &Csr<f64>,
        t: &Csr<f64>,
        block: Size,
    ) -> Result<Option<Csr<f64>>> {
        let own = known_block(a.pattern()).filter(|own| meet(own.cols, block.rows));
        let Some(own) = own.filter(|_| block.cols <= LARGEST) else {
            return Ok(None);
        };
        let right = Size::new(own.cols, block.cols);
        let (a, t) = (Blocked::new(self, a, own)?, Blocked::new(self, t, right)?);
        a.multiply(self, &t)?.into_rows(self).map(Some)
    }

    /// `R (A P)` in blocks, as [`multiply_blocks`](Self::multiply_blocks).
    pub(super) fn triple_blocks<T: Scalar>(
        &self,
        r: &Csr<T>,
        a: &Csr<T>,
        p: &Csr<T>,
    ) -> Result<Option<Csr<T>>> {
        let Some(block) = known_block(a.pattern()).filter(|_| are_plain::<T>()) else {
            return Ok(None);
        };
        let sides = (
            left_block(block.rows, r.pattern()),
            right_block(block.cols, p.pattern()),
        );
        let (Some(left), Some(right)) = sides else {
            return Ok(None);
        };
        let (a, p) = (Blocked::new(self, a, block)?, Blocked::new(self, p, right)?);
        let right = a.multiply(self, &p)?;
        let product = Blocked::new(self, r, left)?.multiply(self, &right)?;
        product.into_rows(self).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_have_room_for_their_sums() {
        let group = |size| Group {
            count: 1,
            rows: crate::gpu::Read::default(),
            size,
            threads: 1,
            is_local: true,
        };
        for (rows, cols, slots) in [(3, 3, 512), (3, 6, 256), (6, 6, 128)] {
            let shape = Shape {
                block: Size::new(rows, cols),
                inner: 3,
                bytes: 8,
            };
            assert_eq!(shape.slots(), slots);
            for size in [8, 16, 32, 64, 128, 256, 512] {
                let teams = TEAM_BLOCK as usize / shape.teams(group(size)).threads;
                assert!(
                    size > slots || teams * size <= slots,
                    "{rows}x{cols} {size}"
                );
            }
        }
    }
}
