//! Methods in which a row depends on rows before it (colouring, incomplete factors), done front by front.

use vcycle_gpu::Argument;

use super::groups::literal;
use super::tiles::{graph, tile_file, word};
use super::{BLOCK, Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File};
use crate::scalar::Scalar;

pub(super) const COLOURS: File = tile_file!("colours.c", "fronts.h");
pub(super) const ILU: File = tile_file!("ilu0.c", "fronts.h");
/// Rows of a front that one block works on alone, at most.
const WIDE: usize = 1024;
/// Wide fronts between two looks at what is left.
const WIDE_FRONTS: usize = 16;
/// Narrow fronts of one launch.
const NARROW_FRONTS: usize = 256;
/// Launches of them, about 45 ms, after which the host is faster: rows depend on each other one by one.
const NARROW_LAUNCHES: usize = 64;

/// For every row the first colour that no row before it has which is coupled to it. The pattern is
/// symmetric. None where rows depend on each other one by one.
pub fn colours(queue: Queue<'_>, pattern: &Pattern) -> Result<Option<Buffer<u32>>> {
    let mut colours = queue.room(pattern.size().rows)?;
    let mut fronts = Fronts::new(queue, COLOURS, &[], pattern)?;
    let is_done = fronts.run("colours_front", pattern, &[write(&mut colours)?])?;
    Ok(is_done.then_some(colours))
}

/// Incomplete factors on the pattern of `a`, whose rows have their diagonal entry at the given places. Behind
/// a zero pivot they are not finite. None where rows depend on each other one by one.
pub fn ilu0<T: Scalar>(
    queue: Queue<'_>,
    a: &Csr<T>,
    diagonal: &[usize],
) -> Result<Option<Buffer<T::Arith>>> {
    let mut values = queue.convert::<T, T::Arith>(a.values_buffer())?;
    let diagonal = Buffer::from_vec(queue.executor, diagonal.to_vec());
    let arithmetic = [("ACC", queue.gpu.real(T::Arith::KIND)?)];
    let mut fronts = Fronts::new(queue, ILU, &arithmetic, a.pattern())?;
    let [offsets, columns] = graph(a.pattern())?;
    let operands = [offsets, columns, read(&diagonal)?, write(&mut values)?];
    let transposed = a.pattern().transpose()?;
    let is_done = fronts.run("ilu0_front", &transposed, &operands)?;
    Ok(is_done.then_some(values))
}

/// Rows that wait for those before them.
struct Fronts<'q> {
    queue: Queue<'q>,
    file: File,
    defines: Vec<Define>,
    waits: Buffer<u32>,
    order: Buffer<u32>,
    /// Where the front begins and ends in the order, and where the order ends.
    state: Buffer<u32>,
}

impl<'q> Fronts<'q> {
    /// Every row waits for those before it that `needs` has.
    fn new(queue: Queue<'q>, file: File, defines: &[Define], needs: &Pattern) -> Result<Self> {
        let rows = needs.size().rows;
        let common: [Define; 2] = [("LANES", "1"), ("WIDE", literal(WIDE))];
        let mut made = Self {
            queue,
            file,
            defines: [&common[..], defines].concat(),
            waits: queue.room(rows)?,
            order: queue.room(rows)?,
            state: queue.zeros(3)?,
        };
        let arguments = [&[number(rows)][..], &graph(needs)?, &made.arguments()?].concat();
        queue.items(file, "fronts_start", &made.defines, rows, &arguments)?;
        Ok(made)
    }

    fn arguments(&mut self) -> Result<[Argument; 4]> {
        let [_, counter] = self.queue.gpu.reduction();
        let (waits, order) = (write(&mut self.waits)?, write(&mut self.order)?);
        Ok([waits, order, write(&mut self.state)?, counter])
    }

    /// A kernel for front after front; `serves` has the rows that need each row. Whether they were few enough.
    fn run(&mut self, name: &'static str, serves: &Pattern, operands: &[Argument]) -> Result<bool> {
        let rows = self.order.len();
        let most = self.queue.most_blocks();
        let wide = rows.div_ceil(BLOCK as usize).min(most);
        // Before the first front it is empty.
        let (mut done, mut width, mut narrow) = (0, 0, 0);
        while done < rows && narrow < NARROW_LAUNCHES {
            let (turns, blocks, launches) = match (1..=WIDE).contains(&width) {
                true => (NARROW_FRONTS, 1, 1),
                false => (1, wide, WIDE_FRONTS),
            };
            let fronts = self.arguments()?;
            let graph = graph(serves)?;
            let arguments = [&[word(turns)][..], &graph, &fronts, operands].concat();
            for _ in 0..launches {
                let (file, defines) = (self.file, &self.defines);
                self.queue.blocks(file, name, defines, blocks, &arguments)?;
            }
            let state = self.state.host()?;
            (done, width) = (state[0] as usize, (state[1] - state[0]) as usize);
            narrow += usize::from(blocks == 1);
        }
        Ok(done == rows)
    }
}
