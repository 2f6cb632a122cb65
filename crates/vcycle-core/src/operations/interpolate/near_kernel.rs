//! Filters that keep what a matrix does to a near-kernel, and steps to less energy that leave it alone.

use crate::gpu::Launch;
use crate::gpu::kernels::{loose, near_kernel as kernels};
use crate::launch::groups::Groups;
use crate::launch::prelude::*;
use crate::launch::queue::shape;

/// More vectors have no room.
const MOST_VECTORS: usize = 16;
/// Rows of up to so many entries have local memory.
const SHORT: RowShape = RowShape::new(32, 8, 8);
const LONG: RowShape = RowShape::new(128, 32, 2);
/// Longer ones have memory of the device, those of so many blocks at once.
const BLOCKS: usize = 512;

/// How rows are made.
#[derive(Clone, Copy, Debug)]
struct RowShape {
    /// Entries of a row.
    most: usize,
    /// Threads that share it.
    lanes: usize,
    /// Rows of a block.
    together: usize,
}

impl RowShape {
    const fn new(most: usize, lanes: usize, together: usize) -> Self {
        Self {
            most,
            lanes,
            together,
        }
    }

    /// Numbers and words that a row needs with so much room for vectors, as in the kernels.
    fn memory(&self, room: usize) -> [usize; 2] {
        [(room + 2) * self.most + 2 * room, 3 * self.most]
    }
}

/// The rows of a pattern beside the vectors of a near-kernel.
struct NearRows<'a> {
    queue: Queue<'a>,
    pattern: &'a Pattern,
    groups: Groups,
    vectors: Buffer<f64>,
    width: usize,
}

impl<'a> NearRows<'a> {
    /// None on the host, and where there are too many vectors.
    fn new(pattern: &'a Pattern, vectors: &[Vec<f64>]) -> Result<Option<Self>> {
        let queue = Queue::of(pattern.executor()).filter(|_| vectors.len() <= MOST_VECTORS);
        let Some(queue) = queue else {
            return Ok(None);
        };
        Ok(Some(Self {
            queue,
            pattern,
            groups: Groups::of_offsets(&queue, pattern.buffers().0)?,
            vectors: Buffer::gathered(queue.executor, vectors)?,
            width: vectors.len(),
        }))
    }

    /// Runs a kernel for all rows, those of similar length together.
    fn each(&self, mut kernel: impl FnMut(ListedRows, NearParts) -> Result<Launch>) -> Result<()> {
        for group in self.groups.each(LONG.most, (1, 32))? {
            let (shape, is_local) = match group.size {
                size if size <= SHORT.most => (SHORT, true),
                size if size <= LONG.most => (LONG, true),
                _ => (RowShape::new(self.groups.largest(), 32, 2), false),
            };
            self.run((group.count, group.rows), shape, is_local, &mut kernel)?;
        }
        Ok(())
    }

    fn run(
        &self,
        (count, list): (usize, Read<u32>),
        shape: RowShape,
        is_local: bool,
        kernel: &mut impl FnMut(ListedRows, NearParts) -> Result<Launch>,
    ) -> Result<()> {
        let queue = self.queue;
        let room = self.width.max(1).next_power_of_two();
        let lanes = queue.tile(shape.lanes.min(queue.gpu.width()));
        let blocks = count.div_ceil(shape.together);
        let (blocks, tiles) = match is_local {
            true => (blocks, 0),
            false => (blocks.min(BLOCKS), blocks.min(BLOCKS) * shape.together),
        };
        let memory = shape.memory(room).map(|size| (tiles * size).max(1));
        let mut numbers = queue.uninit::<f64>(memory[0])?;
        let mut words = queue.uninit::<u32>(memory[1])?;
        let (offsets, columns) = self.pattern.pass()?;
        let near = (
            self.width as u32,
            self.pattern.size().cols as u64,
            self.vectors.pointer()?,
            shape.most as u32,
            numbers.pointer_mut()?,
            words.pointer_mut()?,
        );
        let space = if is_local { "LOCAL" } else { "GLOBAL" };
        let mut defines: Vec<Define> = vec![
            ("SPACE", space),
            ("VECTORS", literal(room)),
            ("LANES", literal(lanes)),
            ("APART", "1"),
        ];
        if is_local {
            defines.push(("MOST", literal(shape.most)));
        }
        kernel((count as u64, list, offsets, columns), near)?
            .block((shape.together * lanes) as u32)
            .with(&defines)
            .run(queue.gpu, blocks)
    }
}

/// What `ROWS` and `NEAR` of the kernels stand for.
type ListedRows = (u64, Read<u32>, Read<u64>, Read<u32>);
type NearParts = (u32, u64, Read<f64>, u32, Write<f64>, Write<u32>);

/// A matrix whose rows have their largest entries alone, as few as have the share `kept` of the absolute sum, changed so
/// that they map the vectors as before. None, too, where a device has no room for so many of them.
pub fn shortened(a: &Csr<f64>, vectors: &[Vec<f64>], kept: f64) -> Result<Option<Csr<f64>>> {
    let Some(rows) = NearRows::new(a.pattern(), vectors)? else {
        return Ok(None);
    };
    let queue = rows.queue;
    let (starts, lengths) = (a.pattern().buffers().0, queue.zeros(a.size().rows)?);
    let mut loose = queue.loose_rows((Some(starts), 0), a.nonzeros(), lengths)?;
    rows.each(|rows, near| {
        let (columns, values) = (&mut loose.columns, &mut loose.values);
        let (from, lengths) = (a.values_buffer(), &mut loose.lengths);
        kernels::filter_rows(rows, from, kept, columns, values, lengths, near)
    })?;
    queue.gathered_rows(a.size(), &loose, None).map(Some)
}

/// Changes of a prolongation that keep its pattern, its fixed rows and what vectors are mapped to.
pub struct EnergySpace<'a> {
    rows: NearRows<'a>,
    a: &'a Csr<f64>,
    diagonal: Buffer<f64>,
    fixed: Buffer<u32>,
}

/// Changes of the prolongations of a pattern, whose `fixed` rows are ones, that map vectors as before. None, too, where a device has no room for so
/// many of them.
pub fn energy_space<'a>(
    a: &'a Csr<f64>,
    pattern: &'a Arc<Pattern>,
    vectors: &[Vec<f64>],
    fixed: impl FnOnce() -> Vec<u32>,
) -> Result<Option<EnergySpace<'a>>> {
    let Some(rows) = NearRows::new(pattern, vectors)? else {
        return Ok(None);
    };
    let queue = rows.queue;
    Ok(Some(EnergySpace {
        rows,
        a,
        diagonal: queue.diagonal(a)?,
        fixed: Buffer::from_vec(queue.executor, fixed()),
    }))
}

impl EnergySpace<'_> {
    /// What is in the space of `A X`, for the values of `X`.
    pub fn gradient(&self, x: &Vector<f64>) -> Result<Vector<f64>> {
        let mut out = self.rows.queue.uninit::<f64>(x.rows())?;
        self.rows.each(|rows, near| {
            kernels::energy_rows(rows, x.buffer(), self.a, &self.fixed, &mut out, near)
        })?;
        Ok(Vector::of_buffer(out))
    }

    /// The values over the diagonal of the matrix in their rows.
    pub fn scaled(&self, x: &Vector<f64>) -> Result<Vector<f64>> {
        let NearRows { queue, pattern, .. } = self.rows;
        let mut out = queue.uninit::<f64>(x.rows())?;
        let (rows, offsets) = (pattern.size().rows, pattern.buffers().0);
        loose::over_diagonal(rows, offsets, &self.diagonal, x.buffer(), &mut out)?
            .rows(&queue, shape(pattern))?;
        Ok(Vector::of_buffer(out))
    }
}
