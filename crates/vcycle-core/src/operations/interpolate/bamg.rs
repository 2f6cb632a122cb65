//! Interpolation that reproduces test vectors.

use crate::gpu::kernels::{bamg as kernels, bamg_arrays as arrays};
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::binned::Again;
use crate::operations::loose::{Alone, LooseRows};
use crate::operations::on_device;

/// More vectors have no room.
const MOST_VECTORS: usize = 16;
/// Farther neighbours are not looked for.
const MOST_DISTANCE: usize = 3;
/// Threads that share a row.
const LANES: usize = 32;
/// Rows with tables in memory of the device that are made at once.
const BLOCKS: usize = 512;
/// Where rows are made whose neighbourhoods had no room before.
const TABLES: [Tables; 3] = [
    Tables::new(true, [1024, 128], 2),
    Tables::new(true, [4096, 256], 1),
    Tables::new(false, [8192, 4096], 2),
];

/// Tables of the neighbourhoods of rows.
#[derive(Clone, Copy, Debug)]
struct Tables {
    /// Whether they are in local memory, or in that of the device.
    is_local: bool,
    /// Slots for unknowns and for candidates.
    met: usize,
    near: usize,
    /// Rows of a block.
    together: usize,
}

impl Tables {
    const fn new(is_local: bool, [met, near]: [usize; 2], together: usize) -> Self {
        Self {
            is_local,
            met,
            near,
            together,
        }
    }

    /// Numbers and words that a row needs with so much room for vectors, as in `bamg_rows`.
    fn memory(&self, room: usize) -> [usize; 2] {
        [
            self.near / 2 * (room + 1) + (2 * room + 2) * room,
            self.met + 2 * self.near + room,
        ]
    }
}

/// Which coarse unknowns are good enough.
#[derive(Clone, Copy, Debug)]
pub struct FitLimits {
    /// Those up to this distance are taken at once.
    pub min_distance: usize,
    /// Those farther away are never taken.
    pub max_distance: usize,
    /// The largest difference from the test vectors, relative to their norm.
    pub residual: f64,
    /// The largest norm of the weights of a row.
    pub norm: f64,
}

/// The prolongation that reproduces test vectors, by strong couplings and the numbers of coarse unknowns. None, too, where a
/// device has no room for its neighbourhoods.
pub fn fitted(
    strength: &Pattern,
    numbers: &Buffer<u32>,
    vectors: &[Vec<f64>],
    limits: FitLimits,
) -> Result<Option<Fitted>> {
    let found = on_device(strength.executor(), |queue| {
        let level = FittedLevel {
            queue,
            strength,
            coarse: &numbers.brought(strength.executor())?,
            vectors,
            limits,
        };
        level.prolongation()
    })?;
    Ok(found.flatten())
}

/// A level whose unknowns are interpolated.
struct FittedLevel<'a> {
    /// The device.
    pub queue: Queue<'a>,
    /// The strong couplings.
    pub strength: &'a Pattern,
    /// The number of every coarse unknown.
    pub coarse: &'a Buffer<u32>,
    /// The test vectors.
    pub vectors: &'a [Vec<f64>],
    /// What is good enough.
    pub limits: FitLimits,
}

/// A prolongation, the numbers of coarse unknowns with those that became so, and how many they are.
pub type Fitted = (Csr<f64>, Buffer<u32>, usize);

impl FittedLevel<'_> {
    /// The prolongation; none where vectors, distances or neighbourhoods are larger than there is room for.
    fn prolongation(&self) -> Result<Option<Fitted>> {
        let (rows, width) = (self.strength.size().rows, self.vectors.len());
        if width > MOST_VECTORS || self.limits.max_distance > MOST_DISTANCE {
            return Ok(None);
        }
        let queue = self.queue;
        let vectors = Buffer::gathered(queue.executor, self.vectors)?;
        let near = self.coarse_neighbours()?;
        let mut loose = queue.loose_rows((None, width), rows * width, queue.uninit(rows)?)?;
        let mut left: Option<Again> = None;
        for tables in TABLES {
            let (count, list) = match &left {
                None => (rows, Read::default()),
                Some(left) => (left.count.get(0)? as usize, left.list.pointer()?),
            };
            if count == 0 {
                break;
            }
            let mut again = Again::new(queue, count)?;
            let rows = (count, list);
            self.make(rows, tables, (&near, &vectors), &mut loose, &mut again)?;
            left = Some(again);
        }
        match left.map_or(Ok(0), |left| left.count.get(0))? {
            0 => Ok(Some(self.gathered(loose)?)),
            _ => Ok(None),
        }
    }

    /// The coarse ones among the neighbours of every unknown.
    fn coarse_neighbours(&self) -> Result<Pattern> {
        let (queue, shape) = (self.queue, shape(self.strength));
        let mut counts = queue.uninit(shape.0)?;
        arrays::bamg_count_near(shape.0, self.strength, self.coarse, &mut counts)?
            .rows(&queue, shape)?;
        queue.new_pattern(self.strength.size(), &counts, |out| {
            arrays::bamg_fill_near(shape.0, self.strength, self.coarse, out)?.rows(&queue, shape)
        })
    }

    fn make(
        &self,
        (count, list): (usize, Read<u32>),
        tables: Tables,
        (near, vectors): (&Pattern, &Buffer<f64>),
        loose: &mut LooseRows<'_, f64>,
        again: &mut Again,
    ) -> Result<()> {
        let (queue, width) = (self.queue, self.vectors.len());
        let room = width.next_power_of_two();
        // Two rows of more vectors have no room in the local memory of a block.
        let together = if room > 8 { 1 } else { tables.together };
        let blocks = count.div_ceil(together);
        let (blocks, tiles) = match tables.is_local {
            true => (blocks, 0),
            false => (blocks.min(BLOCKS), blocks.min(BLOCKS) * together),
        };
        let memory = tables.memory(room).map(|size| (tiles * size).max(1));
        let mut numbers = queue.uninit::<f64>(memory[0])?;
        let mut words = queue.uninit::<u32>(memory[1])?;
        let lanes = queue.tile(LANES.min(queue.gpu.width()));
        let space = if tables.is_local { "LOCAL" } else { "GLOBAL" };
        let mut defines: Vec<Define> = vec![
            ("SPACE", space),
            ("VECTORS", literal(room)),
            ("LANES", literal(lanes)),
            ("APART", "1"),
        ];
        if tables.is_local {
            let slots = [tables.met, tables.near].map(literal);
            defines.extend([("MET", slots[0]), ("NEAR", slots[1])]);
        }
        let limits = &self.limits;
        kernels::bamg_rows(
            count,
            list,
            self.strength,
            self.coarse,
            near,
            vectors,
            width,
            limits.min_distance,
            limits.max_distance,
            limits.residual,
            limits.norm,
            &mut loose.columns,
            &mut loose.values,
            &mut loose.lengths,
            &mut again.list,
            &mut again.count,
            tables.met,
            tables.near,
            &mut numbers,
            &mut words,
        )?
        .block((together * lanes) as u32)
        .with(&defines)
        .run(queue.gpu, blocks)
    }

    /// The prolongation of rows that lie apart.
    fn gathered(&self, mut loose: LooseRows<'_, f64>) -> Result<Fitted> {
        let (queue, rows, coarse) = (self.queue, self.strength.size().rows, self.coarse);
        let mut flags = queue.uninit(rows)?;
        arrays::bamg_coarse(rows, coarse, &loose.lengths, &mut flags)?.items(&queue, rows)?;
        let (before, count) = queue.offsets(&flags)?;
        let (mut numbers, mut counts, lengths) = (queue.uninit(rows)?, flags, &loose.lengths);
        arrays::bamg_numbers(rows, coarse, lengths, &before, &mut numbers, &mut counts)?
            .items(&queue, rows)?;
        loose.lengths = counts;
        let alone = Alone {
            points: None,
            coarse: &numbers,
            renumbers: true,
        };
        let p = queue.gathered_rows(Size::new(rows, count), &loose, Some(alone))?;
        Ok((p, numbers, count))
    }
}
