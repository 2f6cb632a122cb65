//! Triangles of a matrix, made ready to be solved with.

use std::sync::Arc;

use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernel_file};
use crate::scalar::Scalar;
use crate::size::Size;
use vcycle_gpu::Argument;

pub(super) const FILE: File = kernel_file!("triangles.c");

/// Steps between two looks at whether levels still grow, and most levels: with more of them rows wait for each other too often.
const STEPS: usize = 16;
const MOST_LEVELS: usize = 4096;

/// A matrix that holds two triangles side by side.
pub struct Sides<'a, T: Scalar> {
    /// Where the entries are.
    pub pattern: &'a Pattern,
    /// The values.
    pub values: &'a Buffer<T::Arith>,
    /// Where the pivot of every row is, and among which numbers.
    pub pivots: (&'a Buffer<usize>, &'a Buffer<T::Arith>),
}

/// A triangle without its diagonal, level after level.
pub struct LevelTriangle<T: Scalar> {
    /// The row of every step.
    pub order: Vec<u32>,
    /// Where levels begin and end.
    pub bounds: Vec<usize>,
    /// Step by step.
    pub off_diagonal: Csr<T>,
    /// The inverted pivots, step by step, of a triangle whose diagonal does not have ones.
    pub inverse_diagonal: Option<Buffer<T::Arith>>,
}

/// The first row with a pivot or a value that a solve is impossible with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The pivot is zero.
    Zero(usize),
    /// A value, or the inverse of a pivot, is not finite.
    NotFinite(usize),
}

/// The lower or upper triangle, with a diagonal of ones or with the pivots. None where there are too many levels.
pub fn triangle<T: Scalar>(
    queue: Queue<'_>,
    sides: &Sides<'_, T>,
    lower: bool,
    unit: bool,
) -> Result<Option<std::result::Result<LevelTriangle<T>, Flaw>>> {
    let rows = sides.pattern.size().rows;
    let types = [
        ("T", queue.gpu.real(T::KIND)?),
        ("ACC", queue.gpu.real(T::Arith::KIND)?),
    ];
    let split = Split {
        queue,
        sides,
        lower,
        types,
    };
    let Some((levels, count)) = split.levels()? else {
        return Ok(None);
    };
    let (bounds, order) = queue.bucketed(&levels, count)?;
    let (filled, not_finite) = split.filled(&order)?;
    let mut found = queue.filled(2, u32::MAX)?;
    let inverse_diagonal = match unit {
        true => None,
        false => Some(split.pivots(&order, &mut found)?),
    };
    let flaws = [(0, found.get(0)?), (1, found.get(1)?), (1, not_finite)];
    let first = flaws.into_iter().filter(|&(_, row)| (row as usize) < rows);
    if let Some((kind, row)) = first.min_by_key(|&(_, row)| row) {
        let flaw = if kind == 0 {
            Flaw::Zero
        } else {
            Flaw::NotFinite
        };
        return Ok(Some(Err(flaw(row as usize))));
    }
    Ok(Some(Ok(LevelTriangle {
        order: order.into_vec(),
        bounds: bounds.into_vec(),
        off_diagonal: filled,
        inverse_diagonal,
    })))
}

struct Split<'a, T: Scalar> {
    queue: Queue<'a>,
    sides: &'a Sides<'a, T>,
    lower: bool,
    types: [Define; 2],
}

impl<T: Scalar> Split<'_, T> {
    fn rows(&self) -> usize {
        self.sides.pattern.size().rows
    }

    /// A kernel for all rows of the pattern.
    fn launch(&self, name: &'static str, operands: &[Argument]) -> Result<()> {
        let [offsets, columns] = self.sides.pattern.device()?.map(Argument::Address);
        let lower = Argument::U32(u32::from(self.lower));
        let pattern = [number(self.rows()), offsets, columns, lower];
        let arguments = [&pattern[..], operands].concat();
        self.queue
            .items(FILE, name, &self.types, self.rows(), &arguments)
    }

    /// The level of every row, and how many there are.
    fn levels(&self) -> Result<Option<(Buffer<u32>, usize)>> {
        let mut levels = self.queue.filled(self.rows(), 0)?;
        let mut changed = self.queue.filled(1, 0)?;
        for first in (1..MOST_LEVELS).step_by(STEPS) {
            for step in first..first + STEPS {
                let operands = [
                    Argument::U32(step as u32),
                    write(&mut levels)?,
                    write(&mut changed)?,
                ];
                self.launch("triangle_levels_step", &operands)?;
            }
            if (changed.get(0)? as usize) + 1 < first + STEPS {
                let most = self.largest(&levels)?;
                return Ok(Some((levels, most + 1)));
            }
        }
        Ok(None)
    }

    fn largest(&self, levels: &Buffer<u32>) -> Result<usize> {
        Ok(levels
            .host()?
            .iter()
            .max()
            .map_or(0, |&level| level as usize))
    }

    /// The entries in an order of the rows, and the first row with one that is not finite.
    fn filled(&self, order: &Buffer<u32>) -> Result<(Csr<T>, u32)> {
        let queue = self.queue;
        let mut counts = queue.room::<u32>(self.rows())?;
        self.launch("triangle_counts", &[write(&mut counts)?])?;
        let (starts, entries) = queue.offsets(&queue.gathered(order, &counts)?)?;
        let (mut columns, mut values) = (queue.room::<u32>(entries)?, queue.room::<T>(entries)?);
        let mut found = queue.filled(1, u32::MAX)?;
        let operands = [
            read(order)?,
            read(&starts)?,
            read(self.sides.values)?,
            write(&mut columns)?,
            write(&mut values)?,
            write(&mut found)?,
        ];
        self.launch("triangle_fill", &operands)?;
        let pattern = Pattern::of_buffers(Size::square(self.rows()), starts, columns);
        Ok((Csr::of_buffers(&Arc::new(pattern), values), found.get(0)?))
    }

    fn pivots(&self, order: &Buffer<u32>, found: &mut Buffer<u32>) -> Result<Buffer<T::Arith>> {
        let mut inverse = self.queue.room::<T::Arith>(self.rows())?;
        let arguments = [
            number(self.rows()),
            read(order)?,
            read(self.sides.pivots.0)?,
            read(self.sides.pivots.1)?,
            write(&mut inverse)?,
            write(found)?,
        ];
        let types = &self.types;
        self.queue
            .items(FILE, "triangle_pivots", types, self.rows(), &arguments)?;
        Ok(inverse)
    }
}
