//! Inverted blocks of the diagonal.

use super::Queue;
use crate::arrays::Csr;
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{Define, kernels::block_inverses as kernels, literal};
use crate::launch::blocks::DeviceBlocks;
use crate::scalar::{Field, Scalar, f16};

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

/// Inverts blocks of at most `most` rows; the first row of the first one that is singular.
pub fn inverted<T: Scalar>(
    queue: Queue<'_>,
    a: &Csr<T>,
    most: usize,
    is_adaptive: bool,
) -> Result<std::result::Result<DeviceBlocks<T>, usize>> {
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
        precisions: queue.room(count)?,
        values: queue.room::<T::Arith>(count * most * most)?,
    };
    let [singular, counts @ ..] = inverses.fill(a, is_adaptive)?;
    if singular != NOWHERE {
        return Ok(Err(singular as usize));
    }
    let mut places = queue.room(count)?;
    Ok(Ok(DeviceBlocks {
        blocks,
        full: inverses.stored::<T, T>(0, counts, &mut places)?,
        single: inverses.stored::<T, f32>(1, counts, &mut places)?,
        half: inverses.stored::<T, f16>(2, counts, &mut places)?,
        starts: inverses.starts,
        places,
        counts: counts.map(|count| count as usize),
    }))
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
    let mut alike = queue.room::<u32>(rows)?;
    kernels::blocks_alike(rows, a.pattern(), &mut alike)?
        .with(&plain)
        .items(&queue, rows + 1)?;
    let (mut next, mut begins) = (queue.room(rows)?, queue.room(rows)?);
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
    let (mut blocks, mut starts) = (queue.room(rows)?, queue.room(count + 1)?);
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
            return queue.room(0);
        }
        let mut sizes = queue.room(count)?;
        kernels::blocks_sizes(count, precision, &self.starts, &self.precisions, &mut sizes)?
            .with(&[("T", T::NAME), ("ACC", A::NAME), ("S", S::NAME), self.size])
            .items(&queue, count)?;
        let (offsets, total) = queue.offsets(&sizes)?;
        let mut out = queue.room(total)?;
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
