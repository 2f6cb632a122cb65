//! Interior and boundary rows.

use std::ops::Range;
use std::sync::OnceLock;

use super::halo::Halo;
use super::local_numbers::mapped;
use super::on_device::{DeviceShape, DeviceSplit};
use crate::matrix::ranges;
use crate::prelude::*;

/// Where the entries of rows stand, cut into those that refer to own columns only and the others.
///
/// The vector that the boundary rows multiply is gathered: first the own columns they refer to, then the columns of
/// other ranks. In a square matrix the first of the own ones are those of the rows themselves, as sweeps want it.
#[derive(Debug)]
pub(super) struct Shape {
    /// All rows with own columns. Those of the boundary are empty, or, where they are few, have some own columns: what
    /// comes of them is thrown away, and offsets and values are those of all rows, without a copy.
    interior: Arc<Pattern>,
    /// Whether the rows of the boundary are empty.
    is_cut: bool,
    /// The rows of the boundary, entries in the order of the whole matrix, columns as they are gathered.
    boundary: Arc<Pattern>,
    /// Which rows these are.
    pub rows: Vec<u32>,
    /// The own columns that are gathered.
    pub gathered: Vec<u32>,
}

/// How the host and the device of a rank cut its rows.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub host: OnceLock<Shape>,
    pub device: OnceLock<DeviceShape>,
}

/// What products of a rank take, on its host and on its device.
#[derive(Debug, Default)]
pub(super) struct Parts<T> {
    pub host: OnceLock<Split<T>>,
    pub device: OnceLock<DeviceSplit<T>>,
}

impl<T: Scalar> Parts<T> {
    pub fn bytes(&self) -> usize {
        let host = self.host.get().map_or(0, Split::bytes);
        host + self.device.get().map_or(0, DeviceSplit::bytes)
    }
}

/// Both parts of a matrix.
#[derive(Debug)]
pub(super) struct Split<T> {
    pub interior: Csr<T>,
    pub boundary: Csr<T>,
    /// Whether values of the interior are those of all rows.
    is_lent: bool,
}

/// Rows of the boundary are few where all entries are so many times theirs.
const FEW: usize = 8;

impl Shape {
    /// Of rows whose columns are those of a halo; in a square matrix rows and columns are shared alike.
    pub fn new(local: &Arc<Pattern>, halo: &Halo, is_square: bool, executor: &Executor) -> Self {
        let own = halo.own();
        let (offsets, columns) = (local.offsets(), local.columns());
        let is_own = |column: &u32| own.contains(&(*column as usize));
        let is_interior = |row: usize| columns[offsets[row]..offsets[row + 1]].iter().all(is_own);
        let rows = match halo.others() {
            [] => Vec::new(),
            _ => {
                let of_piece = |rows: Range<usize>| -> Vec<u32> {
                    let rows = rows.filter(|&row| !is_interior(row));
                    rows.map(|row| row as u32).collect()
                };
                let pieces = ranges(local.pieces());
                executor.run(local.bytes(), pieces, of_piece).concat()
            }
        };
        let entries: usize = rows
            .iter()
            .map(|&row| local.range(row as usize).len())
            .sum();
        let is_cut = entries * FEW > local.nonzeros();
        let interior = match (halo.others(), is_cut) {
            ([], _) => Arc::clone(local),
            (_, true) => Arc::new(interior(
                local,
                own.start as u32,
                own.len(),
                &rows,
                executor,
            )),
            (_, false) => Arc::new(uncut(local, &own, executor)),
        };
        let gathered = gathered(local, &own, &rows, is_square);
        let boundary = Arc::new(boundary((local, halo), &rows, &gathered, executor));
        Self {
            interior,
            is_cut,
            boundary,
            rows,
            gathered,
        }
    }
}

impl<T: Scalar> Split<T> {
    pub fn new(local: &Arc<Csr<T>>, shape: &Shape) -> Self {
        let (offsets, values) = (local.offsets(), local.values());
        let of_row = |row: usize| &values[offsets[row]..offsets[row + 1]];
        let mut boundary = Vec::with_capacity(shape.boundary.nonzeros());
        for &row in &shape.rows {
            boundary.extend_from_slice(of_row(row as usize));
        }
        let executor = local.executor();
        let interior = match shape.is_cut {
            false => Buffer::lent(executor, local, |local| local.values()),
            true => {
                let mut interior = Vec::with_capacity(shape.interior.nonzeros());
                for rows in gaps(&shape.rows, local.size().rows) {
                    interior.extend_from_slice(&values[offsets[rows.start]..offsets[rows.end]]);
                }
                Buffer::from_vec(executor, interior)
            }
        };
        let boundary = Buffer::from_vec(executor, boundary);
        Self {
            interior: Csr::of_buffers(&shape.interior, interior),
            boundary: Csr::of_buffers(&shape.boundary, boundary),
            is_lent: !shape.is_cut,
        }
    }

    /// What it holds itself.
    fn bytes(&self) -> usize {
        let interior = match self.is_lent {
            true => size_of_val(self.interior.columns()),
            false => self.interior.bytes(),
        };
        interior + self.boundary.bytes()
    }
}

/// The ranges between some of so many rows.
fn gaps(rows: &[u32], count: usize) -> impl Iterator<Item = Range<usize>> {
    let ends = rows.iter().map(|&row| row as usize).chain([count]);
    let starts = [0]
        .into_iter()
        .chain(rows.iter().map(|&row| row as usize + 1));
    starts.zip(ends).map(|(start, end)| start..end)
}

/// The own columns that rows refer to, counted from the first; in a square matrix those of the rows come first.
fn gathered(local: &Pattern, own: &Range<usize>, rows: &[u32], is_square: bool) -> Vec<u32> {
    let mut gathered = match is_square {
        true => rows.to_vec(),
        false => Vec::new(),
    };
    let mut is_there = vec![false; own.len()];
    gathered
        .iter()
        .for_each(|&row| is_there[row as usize] = true);
    let first = gathered.len();
    for &row in rows {
        for &column in &local.columns()[local.range(row as usize)] {
            if own.contains(&(column as usize)) {
                let column = column - own.start as u32;
                if !std::mem::replace(&mut is_there[column as usize], true) {
                    gathered.push(column);
                }
            }
        }
    }
    gathered[first..].sort_unstable();
    gathered
}

/// The rows but some, whose own columns begin with `first`.
fn interior(
    local: &Pattern,
    first: u32,
    own: usize,
    left_out: &[u32],
    executor: &Executor,
) -> Pattern {
    let count = local.size().rows;
    let all = local.offsets();
    let mut offsets = Vec::with_capacity(count + 1);
    let mut columns = Vec::with_capacity(local.nonzeros());
    offsets.push(0);
    for rows in gaps(left_out, count) {
        let before = all[rows.start] - columns.len();
        offsets.extend(
            all[rows.start + 1..=rows.end]
                .iter()
                .map(|end| end - before),
        );
        let entries = &local.columns()[all[rows.start]..all[rows.end]];
        columns.extend(entries.iter().map(|column| column - first));
        if rows.end < count {
            offsets.push(columns.len());
        }
    }
    Pattern::new(executor, Size::new(count, own), offsets, columns)
}

/// All rows, with the first of the own columns in place of those of other ranks.
fn uncut(local: &Arc<Pattern>, own: &Range<usize>, executor: &Executor) -> Pattern {
    let (first, count) = (own.start as u32, own.len() as u32);
    let in_place = |column: u32| match column.wrapping_sub(first) {
        own if own < count => own,
        _ => 0,
    };
    let columns = mapped(executor, local.columns(), in_place);
    let offsets = Buffer::lent(executor, local, |local| local.offsets());
    let size = Size::new(local.size().rows, own.len());
    Pattern::of_buffers(size, offsets, Buffer::from_vec(executor, columns))
}

fn boundary(
    (local, halo): (&Pattern, &Halo),
    rows: &[u32],
    gathered: &[u32],
    executor: &Executor,
) -> Pattern {
    let mut place = vec![0; halo.len()];
    for (number, &column) in gathered.iter().enumerate() {
        place[halo.own().start + column as usize] = number as u32;
    }
    for other in 0..halo.others().len() {
        place[halo.of_other(other)] = (gathered.len() + other) as u32;
    }
    let mut offsets = vec![0];
    let mut columns = Vec::new();
    for &row in rows {
        let numbers = &local.columns()[local.range(row as usize)];
        columns.extend(numbers.iter().map(|&column| place[column as usize]));
        offsets.push(columns.len());
    }
    let size = Size::new(rows.len(), gathered.len() + halo.others().len());
    let offsets = Buffer::from_vec(executor, offsets);
    // Columns of a row need not increase here: nothing but products looks at them.
    Pattern::of_buffers(size, offsets, Buffer::from_vec(executor, columns))
}
