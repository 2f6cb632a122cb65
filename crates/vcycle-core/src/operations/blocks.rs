//! Block-diagonal matrices: inverted where the matrix is, and multiplied with there.

use vcycle_kernels::{Transpose, compiled_fn};

use super::on_device;
use crate::cpu;
use crate::gpu::BLOCK;
use crate::gpu::kernels::{block_inverses as kernels, blocks, strips};
use crate::launch::prelude::*;
use crate::launch::strips::{block_pattern, is_whole, shape};
use crate::reference;
use crate::reference::blocks::BlockArrays;
use crate::scalar::Element;

compiled_fn! {
    /// The inverted diagonal blocks of a matrix, of at most so many rows, or the first row of one that is singular.
    pub fn inverted[any T: Scalar](
        a: &Csr<T>,
        most: usize,
        is_adaptive: bool,
    ) -> Result<Option<std::result::Result<DeviceBlocks<T>, usize>>> {
        on_device(a.executor(), |queue| {
    queue.gpu.real(T::KIND)?;
    let size = ("SIZE", literal(most.next_power_of_two()));
    let (blocks, starts) = find(queue, a, most, size)?;
    let count = starts.len() - 1;
    let mut inverses = BlockInverses {
        queue,
        size,
        most,
        count,
        starts,
        precisions: queue.uninit(count)?,
        values: queue.uninit::<T::Arith>(count * most * most)?,
    };
    let [singular, counts @ ..] = inverses.fill(a, is_adaptive)?;
    if singular != NOWHERE {
        return Ok(Err(singular as usize));
    }
    let mut places = queue.uninit(count)?;
    Ok(Ok(DeviceBlocks {
        blocks,
        full: inverses.stored::<T, T>(0, counts, &mut places)?,
        single: inverses.stored::<T, f32>(1, counts, &mut places)?,
        half: inverses.stored::<T, f16>(2, counts, &mut places)?,
        starts: inverses.starts,
        places,
        counts: counts.map(|count| count as usize),
    }))
        })
    }
}

/// The Frobenius norms of the blocks of so many rows and columns, negative beside the diagonal; none on the host, and for blocks
/// that are too large for kernels.
pub fn norms(a: &Csr<f64>, rows: usize) -> Result<Option<Csr<f64>>> {
    let block = Size::square(rows);
    let Some(queue) = Queue::of(a.executor()).filter(|_| is_whole(a.size(), block)) else {
        return Ok(None);
    };
    let Some(pattern) = block_pattern(&queue, a.pattern(), block, 0)? else {
        return Ok(None);
    };
    let (strips, mut norms) = (pattern.size().rows, queue.uninit(pattern.nonzeros())?);
    let (offsets, columns) = a.pattern().buffers();
    let given = (strips, a.size().rows, offsets, columns);
    strips::block_norms(given, &pattern, a.values_buffer(), &mut norms)?
        .with(&shape(block, size_of::<u32>()))
        .items(&queue, strips)?;
    Ok(Some(Csr::of_buffers(&Arc::new(pattern), norms)))
}

/// Blocks, where they are.
pub enum Blocks<'a, T> {
    /// On the host, with the rows where threads take turns.
    Host(BlockArrays<'a, T>, &'a [usize]),
    /// On a device.
    Device(&'a DeviceBlocks<T>),
}

compiled_fn! {
    /// `y = B x`, or with the transpose of every block.
    pub fn apply[any T: Scalar](
        blocks: Blocks<'_, T>,
        transpose: Option<Transpose>,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let cols = x.cols();
        match (blocks, x.executor()) {
            (Blocks::Device(blocks), Executor::Gpu(gpu)) => {
                blocks.apply(gpu, transpose.is_some(), x, y)
            }
            (Blocks::Device(_), _) => unreachable!("made on a device"),
            (Blocks::Host(arrays, pieces), Executor::Cpu(threads)) => {
                let (x, y) = (x.host()?, y.host_mut()?);
                cpu::blocks::apply(threads, pieces, transpose, arrays, x, y, cols);
                Ok(())
            }
            (Blocks::Host(arrays, _), _) => {
                reference::blocks::apply(transpose, arrays, x.host()?, y.host_mut()?, cols);
                Ok(())
            }
        }
    }
}

/// The arrays of a block-diagonal matrix, on the device.
#[derive(Debug)]
pub struct DeviceBlocks<T> {
    /// The block of every row.
    pub blocks: Buffer<u32>,
    /// First row of every block, and at the end the number of rows.
    pub starts: Buffer<u32>,
    /// Where each block is, four times, and its precision.
    pub places: Buffer<u64>,
    /// The values of blocks in full precision.
    pub full: Buffer<T>,
    /// The values of blocks in single precision.
    pub single: Buffer<f32>,
    /// The values of blocks in half precision.
    pub half: Buffer<f16>,
    /// Blocks in full, single and half precision.
    pub counts: [usize; 3],
}

impl<T: Scalar> DeviceBlocks<T> {
    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let places = self.blocks.bytes() + self.starts.bytes() + self.places.bytes();
        places + self.full.bytes() + self.single.bytes() + self.half.bytes()
    }

    /// `y = B x`, or with the transpose of every block.
    fn apply(&self, gpu: &Gpu, transposed: bool, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        gpu.real(T::KIND)?;
        blocks::blocks_apply(
            x.rows(),
            x.cols(),
            transposed,
            &self.blocks,
            &self.starts,
            &self.places,
            &self.full,
            &self.single,
            &self.half,
            x,
            y,
        )?
        .with(&[("ACC", T::Arith::NAME)])
        .run(gpu, (x.rows() * x.cols()).div_ceil(BLOCK as usize))
    }
}

const NOWHERE: u32 = u32::MAX;

/// The blocks of a matrix before they are stored.
struct BlockInverses<'q, A> {
    queue: Queue<'q>,
    /// The size, as the program has it.
    size: Define,
    /// Rows of the largest block.
    most: usize,
    count: usize,
    starts: Buffer<u32>,
    precisions: Buffer<u32>,
    values: Buffer<A>,
}

/// The block of every row, and the first rows of all blocks.
fn find<T: Scalar>(
    queue: Queue<'_>,
    a: &Csr<T>,
    most: usize,
    size: Define,
) -> Result<(Buffer<u32>, Buffer<u32>)> {
    let rows = a.size().rows;
    let plain = [
        ("T", T::NAME),
        ("ACC", T::Arith::NAME),
        ("S", T::NAME),
        size,
    ];
    let mut alike = queue.uninit::<u32>(rows)?;
    kernels::blocks_alike(rows, a.pattern(), &mut alike)?
        .with(&plain)
        .items(&queue, rows + 1)?;
    let (mut next, mut begins) = (queue.uninit(rows)?, queue.uninit(rows)?);
    kernels::blocks_next(rows, most, &alike, &mut next, &mut begins)?
        .with(&plain)
        .items(&queue, rows + 1)?;
    // Two blocks that follow each other have more than `most` rows.
    let mut after = alike;
    let mut reached = 1;
    while reached < 2 * rows.div_ceil(most) {
        kernels::blocks_follow(rows, &next, &mut after, &mut begins)?
            .with(&plain)
            .items(&queue, rows + 1)?;
        std::mem::swap(&mut next, &mut after);
        reached *= 2;
    }
    let (numbers, count) = queue.offsets(&begins)?;
    let (mut blocks, mut starts) = (queue.uninit(rows)?, queue.uninit(count + 1)?);
    kernels::blocks_list(rows, &numbers, &mut blocks, &mut starts)?
        .with(&plain)
        .items(&queue, rows + 1)?;
    Ok((blocks, starts))
}

impl<A: Field> BlockInverses<'_, A> {
    /// What `block_inverses` finds.
    fn fill<T: Scalar>(&mut self, a: &Csr<T>, is_adaptive: bool) -> Result<[u32; 4]> {
        let mut found = Buffer::from_vec(self.queue.executor, vec![NOWHERE, 0, 0, 0]);
        kernels::block_inverses(
            self.count,
            self.most,
            is_adaptive,
            &self.starts,
            a,
            &mut self.values,
            &mut self.precisions,
            &mut found,
        )?
        .with(&[("S", T::NAME), self.size])
        .items(&self.queue, self.count * self.most.next_power_of_two())?;
        let found = found.host()?;
        Ok([found[0], found[1], found[2], found[3]])
    }

    /// Those of a precision, of which there are `counts`.
    fn stored<T: Scalar, S: Scalar>(
        &self,
        precision: usize,
        counts: [u32; 3],
        places: &mut Buffer<u64>,
    ) -> Result<Buffer<S>> {
        let (queue, count) = (self.queue, self.count);
        if counts[precision] == 0 {
            return queue.uninit(0);
        }
        let mut sizes = queue.uninit(count)?;
        kernels::blocks_sizes(count, precision, &self.starts, &self.precisions, &mut sizes)?
            .with(&[("T", T::NAME), ("ACC", A::NAME), ("S", S::NAME), self.size])
            .items(&queue, count)?;
        let (offsets, total) = queue.offsets(&sizes)?;
        let mut out = queue.uninit(total)?;
        kernels::blocks_store(
            count,
            self.most,
            precision,
            &self.starts,
            &self.precisions,
            &self.values,
            &offsets,
            &mut out,
            places,
        )?
        .with(&[("T", T::NAME), self.size])
        .items(&queue, count * self.most * self.most)?;
        Ok(out)
    }
}
