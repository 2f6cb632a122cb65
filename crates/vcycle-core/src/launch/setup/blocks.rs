//! Inverted blocks of the diagonal.

use vcycle_gpu::Argument;

use super::groups::literal;
use super::tiles::{graph, word};
use super::{Queue, number, read, write};
use crate::arrays::Csr;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernel_file};
use crate::launch::blocks::DeviceBlocks;
use crate::scalar::{Field, Scalar};

/// Few threads: what blocks of 32 rows have in local memory together is 32 KiB then.
pub(super) const FILE: File = kernel_file!("block_inverses.c", 128);
const NOWHERE: u32 = u32::MAX;

/// The blocks of a matrix before they are stored.
struct BlockInverses<'q, A> {
    queue: Queue<'q>,
    defines: [Define; 3],
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
    let defines = [
        ("T", queue.gpu.real(T::KIND)?),
        ("ACC", queue.gpu.real(T::Arith::KIND)?),
        ("SIZE", literal(most.next_power_of_two())),
    ];
    let (blocks, starts) = find(queue, a, most, &defines)?;
    let count = starts.len() - 1;
    let mut inverses = BlockInverses {
        queue,
        defines,
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
        full: inverses.stored(0, counts, &mut places)?,
        single: inverses.stored(1, counts, &mut places)?,
        half: inverses.stored(2, counts, &mut places)?,
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
    defines: &[Define],
) -> Result<(Buffer<u32>, Buffer<u32>)> {
    let rows = a.size().rows;
    let with_s = of_type::<T>(queue, defines)?;
    let items =
        |name, arguments: &[Argument]| queue.items(FILE, name, &with_s, rows + 1, arguments);
    let mut alike = queue.room::<u32>(rows)?;
    let [offsets, columns] = graph(a.pattern())?;
    let arguments = [number(rows), offsets, columns, write(&mut alike)?];
    items("blocks_alike", &arguments)?;
    let (mut next, mut begins) = (queue.room(rows)?, queue.room(rows)?);
    let results = [write(&mut next)?, write(&mut begins)?];
    let arguments = [&[number(rows), word(most), read(&alike)?][..], &results].concat();
    items("blocks_next", &arguments)?;
    // Two blocks that follow each other have more than `most` rows.
    let mut after = alike;
    let mut reached = 1;
    while reached < 2 * rows.div_ceil(most) {
        let results = [write(&mut after)?, write(&mut begins)?];
        let arguments = [&[number(rows), read(&next)?][..], &results].concat();
        items("blocks_follow", &arguments)?;
        std::mem::swap(&mut next, &mut after);
        reached *= 2;
    }
    let (numbers, count) = queue.offsets(&begins)?;
    let (mut blocks, mut starts) = (queue.room(rows)?, queue.room(count + 1)?);
    let results = [write(&mut blocks)?, write(&mut starts)?];
    items(
        "blocks_list",
        &[&[number(rows), read(&numbers)?][..], &results].concat(),
    )?;
    Ok((blocks, starts))
}

/// The definitions with a type to store in.
fn of_type<S: Scalar>(queue: Queue<'_>, defines: &[Define]) -> Result<Vec<Define>> {
    Ok([defines, &[("S", queue.gpu.real(S::KIND)?)]].concat())
}

impl<A: Field> BlockInverses<'_, A> {
    /// What `block_inverses` finds.
    fn fill<T: Scalar>(&mut self, a: &Csr<T>, is_adaptive: bool) -> Result<[u32; 4]> {
        let mut found = Buffer::from_vec(self.queue.executor, vec![NOWHERE, 0, 0, 0]);
        let size = self.most.next_power_of_two();
        let numbers = [
            number(self.count),
            word(self.most),
            word(usize::from(is_adaptive)),
        ];
        let [offsets, columns] = graph(a.pattern())?;
        let known = [
            read(&self.starts)?,
            offsets,
            columns,
            read(a.values_buffer())?,
        ];
        let results = [
            write(&mut self.values)?,
            write(&mut self.precisions)?,
            write(&mut found)?,
        ];
        let arguments = [&numbers[..], &known, &results].concat();
        let defines = of_type::<T>(self.queue, &self.defines)?;
        let items = self.count * size;
        self.queue
            .items(FILE, "block_inverses", &defines, items, &arguments)?;
        let found = found.host()?;
        Ok([found[0], found[1], found[2], found[3]])
    }

    /// Those of a precision, of which there are `counts`.
    fn stored<S: Scalar>(
        &self,
        precision: usize,
        counts: [u32; 3],
        places: &mut Buffer<u64>,
    ) -> Result<Buffer<S>> {
        let (queue, count) = (self.queue, self.count);
        if counts[precision] == 0 {
            return queue.room(0);
        }
        let defines = of_type::<S>(queue, &self.defines)?;
        let kinds = [read(&self.starts)?, read(&self.precisions)?];
        let mut sizes = queue.room(count)?;
        let arguments = [
            number(count),
            word(precision),
            kinds[0],
            kinds[1],
            write(&mut sizes)?,
        ];
        queue.items(FILE, "blocks_sizes", &defines, count, &arguments)?;
        let (offsets, total) = queue.offsets(&sizes)?;
        let mut out = queue.room(total)?;
        let numbers = [number(count), word(self.most), word(precision)];
        let known = [read(&self.values)?, read(&offsets)?];
        let results = [write(&mut out)?, write(places)?];
        let arguments = [&numbers[..], &kinds, &known, &results].concat();
        let items = count * self.most * self.most;
        queue.items(FILE, "blocks_store", &defines, items, &arguments)?;
        Ok(out)
    }
}
