//! The matrices of a batch in the memory of a device.

use std::sync::OnceLock;

use crate::gpu::kernels::batch_pad as kernels;
use crate::launch::prelude::*;

/// `TILE_SIDE` of the kernel.
const TILE_SIDE: usize = 32;

/// Matrices of one pattern whose rows are padded to one length. Entry `slot` of a row lies `slot * rows` behind its first one;
/// a matrix lies behind the other.
#[derive(Debug)]
pub struct BatchArrays<T> {
    /// How many there are.
    pub systems: usize,
    /// Where their entries stand.
    pub pattern: BatchPattern,
    /// Values; padding is zero.
    pub values: Buffer<T>,
    /// Those of narrow bands with systems side by side, once they were asked for.
    side_by_side: OnceLock<Buffer<T>>,
}

impl<T: Scalar> BatchArrays<T> {
    /// Values of narrow bands with systems side by side: diagonal after diagonal of a row, row after row.
    pub(super) fn side_by_side(&self, diagonals: &Diagonals) -> Result<&Buffer<T>> {
        kept(&self.side_by_side, || {
            let (rows, apart) = (self.pattern.rows, self.pattern.rows * self.pattern.width);
            let (wide, places) = (2 * diagonals.half + 1, Some(&diagonals.places));
            interleaved(&self.values, (self.systems, rows), (wide, apart), places)
        })
    }
}

/// The values of a matrix of so many rows and columns with rows for columns.
pub(super) fn turned<T: Scalar>(
    values: &Buffer<T>,
    rows: usize,
    columns: usize,
) -> Result<Buffer<T>> {
    interleaved(values, (rows, columns), (1, columns), None)
}

/// Numbers of `systems` side by side: `wide` for each of their rows, which stand at `places`; systems begin `apart` from each other.
fn interleaved<T: Scalar>(
    values: &Buffer<T>,
    (systems, rows): (usize, usize),
    (wide, apart): (usize, usize),
    places: Option<&Buffer<u32>>,
) -> Result<Buffer<T>> {
    let queue = queue_of(values)?;
    let tiles = systems.div_ceil(TILE_SIDE) * rows.div_ceil(TILE_SIDE) * wide;
    let mut out = queue.uninit(systems * rows * wide)?;
    kernels::batch_interleave(tiles, systems, rows, wide, apart, places, values, &mut out)?
        .items(&queue, tiles * kernels::FILE.block as usize)?;
    Ok(out)
}

fn queue_of<T: Scalar>(values: &Buffer<T>) -> Result<Queue<'_>> {
    let place = values.executor();
    Queue::of(place).ok_or_else(|| place.lacks("batches of devices", "any of them"))
}

/// The pattern of all matrices of a batch.
#[derive(Debug)]
pub struct BatchPattern {
    /// Rows of each.
    pub rows: usize,
    /// Entries of the longest row.
    pub width: usize,
    entries: usize,
    /// Most entries that are left of the diagonal in a row.
    pub(super) left: usize,
    /// Rows that an entry is below the diagonal, and columns that one is right of it, at most.
    pub(super) band: [usize; 2],
    /// Columns, padded by the own row.
    pub(super) columns: Buffer<u32>,
    pub(super) lengths: Buffer<u32>,
    /// Slots of diagonal entries; `width` where there is none.
    pub(super) diagonal: Buffer<u32>,
    pub(super) levels: Levels,
    /// Where the entries of narrow bands stand.
    pub(super) diagonals: Option<Diagonals>,
    offsets: Buffer<u32>,
}

/// Rows in the order in which they can be eliminated, then in which they can be substituted backwards, and where those begin
/// that do not depend on each other.
#[derive(Debug)]
pub(super) struct Levels {
    pub(super) order: Buffer<u32>,
    pub(super) starts: Buffer<u32>,
    pub(super) forward: usize,
    pub(super) backward: usize,
}

impl BatchPattern {
    /// The pattern of row offsets and columns, which increase within a row.
    pub fn new(device: &Executor, offsets: &[usize], columns: &[u32]) -> Self {
        let rows = offsets.len() - 1;
        let of_row = |row: usize| &columns[offsets[row]..offsets[row + 1]];
        let width = (0..rows).map(|row| of_row(row).len()).max().unwrap_or(0);
        let padded = |slot: usize| {
            let own = of_row(slot % rows).get(slot / rows);
            own.copied().unwrap_or((slot % rows) as u32)
        };
        let (mut band, mut left, mut diagonal) = ([0, 0], 0, Vec::with_capacity(rows));
        for row in 0..rows {
            let before = of_row(row).partition_point(|&column| (column as usize) < row);
            let is_there = of_row(row).get(before) == Some(&(row as u32));
            diagonal.push(if is_there { before } else { width } as u32);
            left = left.max(before);
            for &column in of_row(row) {
                band[0] = band[0].max(row.saturating_sub(column as usize));
                band[1] = band[1].max((column as usize).saturating_sub(row));
            }
        }
        let buffer = |values: Vec<u32>| Buffer::from_vec(device, values);
        Self {
            rows,
            width,
            entries: columns.len(),
            left,
            band,
            columns: buffer((0..width * rows).map(padded).collect()),
            lengths: buffer((0..rows).map(|row| of_row(row).len() as u32).collect()),
            diagonal: buffer(diagonal),
            levels: Levels::new(device, rows, of_row),
            diagonals: Diagonals::new(device, rows, band, of_row),
            offsets: buffer(offsets.iter().map(|&offset| offset as u32).collect()),
        }
    }
}

/// Entries of rows in a narrow band by the diagonals they stand on.
#[derive(Debug)]
pub(super) struct Diagonals {
    /// Entries on either side of the diagonal.
    pub(super) half: usize,
    /// From the lowest diagonal on, row by row: where the value stands among those of a matrix, or [`NOWHERE`].
    pub(super) places: Buffer<u32>,
}

/// Diagonals on either side up to which a thread has room for what it eliminates.
const MOST_OF_HALF: usize = 4;
/// Where the kernel finds no value.
const NOWHERE: u32 = u32::MAX;

impl Diagonals {
    /// None where the band is not narrow.
    fn new<'p>(
        device: &Executor,
        rows: usize,
        band: [usize; 2],
        of_row: impl Fn(usize) -> &'p [u32],
    ) -> Option<Self> {
        let half = band[0].max(band[1]).max(1);
        if half > MOST_OF_HALF {
            return None;
        }
        let mut places = vec![NOWHERE; (2 * half + 1) * rows];
        for row in 0..rows {
            for (slot, &column) in of_row(row).iter().enumerate() {
                places[(column as usize + half - row) * rows + row] = (slot * rows + row) as u32;
            }
        }
        Some(Self {
            half,
            places: Buffer::from_vec(device, places),
        })
    }
}

impl Levels {
    fn new<'p>(device: &Executor, rows: usize, of_row: impl Fn(usize) -> &'p [u32]) -> Self {
        let (mut order, mut starts) = (Vec::with_capacity(2 * rows), Vec::new());
        let mut levels = |depends: &dyn Fn(usize, usize) -> bool, all: Vec<usize>| {
            let mut level = vec![0; rows];
            for &row in &all {
                let known = of_row(row).iter().map(|&column| column as usize);
                let before = known.filter(|&column| depends(row, column));
                level[row] = before.map(|column| level[column] + 1).max().unwrap_or(0);
            }
            let mut sorted = all;
            sorted.sort_by_key(|&row| level[row]);
            for (at, &row) in sorted.iter().enumerate() {
                if at == 0 || level[row] != level[sorted[at - 1]] {
                    starts.push(order.len() as u32);
                }
                order.push(row as u32);
            }
            starts.push(order.len() as u32);
            level.iter().max().map_or(0, |last| last + 1)
        };
        let forward = levels(&|row, column| column < row, (0..rows).collect());
        let backward = levels(&|row, column| column > row, (0..rows).rev().collect());
        Self {
            order: Buffer::from_vec(device, order),
            starts: Buffer::from_vec(device, starts),
            forward,
            backward,
        }
    }
}

/// Matrices whose values are row by row on the device.
pub(super) fn padded<T: Scalar>(
    pattern: BatchPattern,
    values: &Buffer<T>,
) -> Result<BatchArrays<T>> {
    let queue = queue_of(values)?;
    let systems = values.len() / pattern.entries.max(1);
    let slots = systems * pattern.width * pattern.rows;
    let mut out = queue.uninit(slots)?;
    kernels::batch_pad(
        slots,
        pattern.rows,
        pattern.width,
        pattern.entries,
        &pattern.offsets,
        values,
        &mut out,
    )?
    .items(&queue, slots)?;
    Ok(BatchArrays {
        systems,
        pattern,
        values: out,
        side_by_side: OnceLock::new(),
    })
}
