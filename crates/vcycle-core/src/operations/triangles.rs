//! Triangles of a matrix, made ready to be solved with.

use crate::executor::Element;
use crate::gpu::kernels::triangles as kernels;
use crate::launch::prelude::*;

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
    queue.gpu.real(T::KIND)?;
    let split = Split {
        queue,
        sides,
        lower,
        types: [("T", T::NAME), ("ACC", T::Arith::NAME)],
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
    /// For kernels that are not given values of both types.
    types: [Define; 2],
}

impl<T: Scalar> Split<'_, T> {
    fn rows(&self) -> usize {
        self.sides.pattern.size().rows
    }

    /// What `PATTERN` of the kernels stands for: rows, offsets, columns and which triangle it is.
    fn pattern(&self) -> Result<(u64, Read<u64>, Read<u32>, u32)> {
        let (rows, offsets, columns) = self.sides.pattern.pass()?;
        Ok((rows, offsets, columns, self.lower.into()))
    }

    /// The level of every row, and how many there are.
    fn levels(&self) -> Result<Option<(Buffer<u32>, usize)>> {
        let mut levels = self.queue.filled(self.rows(), 0)?;
        let mut changed = self.queue.filled(1, 0)?;
        for first in (1..MOST_LEVELS).step_by(STEPS) {
            for step in first..first + STEPS {
                kernels::triangle_levels_step(self.pattern()?, step, &mut levels, &mut changed)?
                    .with(&self.types)
                    .items(&self.queue, self.rows())?;
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
        let mut counts = queue.uninit::<u32>(self.rows())?;
        kernels::triangle_counts(self.pattern()?, &mut counts)?
            .with(&self.types)
            .items(&queue, self.rows())?;
        let mut out = queue.new_rows::<T>(&queue.gathered(order, &counts)?)?;
        let (mut found, values) = (queue.filled(1, u32::MAX)?, self.sides.values);
        kernels::triangle_fill(self.pattern()?, order, values, &mut out, &mut found)?
            .items(&queue, self.rows())?;
        Ok((out.matrix(Size::square(self.rows())), found.get(0)?))
    }

    fn pivots(&self, order: &Buffer<u32>, found: &mut Buffer<u32>) -> Result<Buffer<T::Arith>> {
        let mut inverse = self.queue.uninit::<T::Arith>(self.rows())?;
        let (places, values) = self.sides.pivots;
        kernels::triangle_pivots(self.rows(), order, places, values, &mut inverse, found)?
            .with(&self.types[..1])
            .items(&self.queue, self.rows())?;
        Ok(inverse)
    }
}
