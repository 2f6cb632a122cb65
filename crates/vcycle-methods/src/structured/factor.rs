//! Incomplete factorisations on the stencil, as smoothers.
//!
//! Rows are eliminated in the order of the eight colours, so that triangular solves are sweeps of
//! Gauss-Seidel from zero: what comes later in the order is still zero then. A factorisation is one stencil
//! matrix `F`: with `L`, `D` and `U` its parts below, on and above the diagonal in that order, the
//! preconditioner is `(L + D) D^-1 (D + U)`.

use super::stencil::opposite;
use super::{Direction, Offset, Stencil, StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::operations::Finish;
use crate::prelude::*;
use crate::reference::stencil::Start;

/// Smallest part of a pivot that elimination has to leave, for factorisations that change the diagonal only and for
/// those that change all entries; below it the block of a cell stays as it was. Without the changes beside it a small
/// pivot makes the first overshoot: with 0.1 the smoother `dilu` does not converge on `oil:32`, with 0.4 it takes 25
/// iterations.
const LEAST_LEFT: [f64; 2] = [0.4, 1e-3];
/// A pivot of a block is zero but for rounding below this part of its diagonal entry.
const SINGULAR: f64 = 1e-6;

/// The colour of a cell, from its parities: those of planes count most.
fn colour([x, y, z]: [usize; 3]) -> usize {
    4 * (z % 2) + 2 * (y % 2) + x % 2
}

/// What a step does to colours.
fn turn(offset: Offset) -> usize {
    let [x, y, z] = offset.map(|step| step.unsigned_abs() as usize);
    4 * z + 2 * y + x
}

/// The factorisation of a matrix, in blocks where cells have several unknowns; `full` changes all entries,
/// else those on the diagonal only. Where elimination leaves nearly nothing of a pivot, the block of its cell stays as
/// it was.
pub(super) fn factorised(
    a: &StencilMatrix<f64>,
    full: bool,
    level: usize,
) -> Result<StencilMatrix<f64>> {
    factorised_leaving(LEAST_LEFT[usize::from(full)], a, full, level)
}

fn factorised_leaving(
    least_left: f64,
    a: &StencilMatrix<f64>,
    full: bool,
    level: usize,
) -> Result<StencilMatrix<f64>> {
    let mut factor = a.clone();
    let (grid, unknowns) = (a.grid(), a.unknowns());
    let places = Places::of(a);
    let centre = a.stencil().centre();
    let mut scratch = Scratch {
        places,
        share: vec![0.0; unknowns * unknowns],
        pivot: vec![0.0; unknowns * unknowns],
    };
    for own in 0..8 {
        let steps = steps(a, own, full);
        for cell in (0..grid.cells()).filter(|&cell| colour(grid.cell(cell)) == own) {
            let values = factor.values_mut();
            for step in &steps {
                scratch.eliminate(values, (cell, centre), step);
            }
            let first = places.first(cell);
            if scratch.keeps_pivots([a.values(), values], (first, centre), least_left) {
                continue;
            }
            for place in places.block(first, centre) {
                values[place] = a.values()[place];
            }
            if let Some(unknown) = scratch.singular(values, (first, centre)) {
                let row = cell * unknowns + unknown;
                return Err(Error::LostPivot { level, row });
            }
        }
    }
    Ok(factor)
}

/// A neighbour to take out of the row of a cell.
struct Step {
    point: usize,
    /// From the cell to the neighbour.
    distance: isize,
    /// Points of the neighbour, and those of the cell that are the same places.
    updates: Vec<(usize, usize)>,
}

/// The neighbours with earlier colours of cells with the colour `own`, the earliest first.
fn steps(a: &StencilMatrix<f64>, own: usize, full: bool) -> Vec<Step> {
    let (grid, stencil) = (a.grid(), a.stencil());
    let mut earlier: Vec<(usize, usize)> = (0..stencil.points())
        .map(|point| (own ^ turn(stencil.offsets()[point]), point))
        .filter(|&(colour, _)| colour < own)
        .collect();
    earlier.sort_unstable();
    let step = |(of_pivot, point): (usize, usize)| {
        let offset = stencil.offsets()[point];
        let update = |(later, &step): (usize, &Offset)| {
            let wanted = match full {
                true => of_pivot ^ turn(step) > of_pivot,
                false => step == opposite(offset),
            };
            let sum = [0, 1, 2].map(|axis| offset[axis] + step[axis]);
            let target = stencil.position(sum).filter(|_| wanted)?;
            Some((later, target))
        };
        let offsets = stencil.offsets().iter().enumerate();
        Step {
            point,
            distance: grid.distance(offset),
            updates: offsets.filter_map(update).collect(),
        }
    };
    earlier.into_iter().map(step).collect()
}

/// Where the entries of a stencil matrix are.
#[derive(Clone, Copy)]
struct Places {
    length: usize,
    points: usize,
    unknowns: usize,
}

impl Places {
    fn of(a: &StencilMatrix<f64>) -> Self {
        Self {
            length: a.grid().length(),
            points: a.stencil().points(),
            unknowns: a.unknowns(),
        }
    }

    /// The first entry of a cell.
    #[inline]
    fn first(self, cell: usize) -> usize {
        let lines = cell / self.length * self.length;
        lines * self.points * self.unknowns * self.unknowns + cell % self.length
    }

    /// The one between an unknown of a cell, by its first, and one of a neighbour.
    #[inline]
    fn at(self, first: usize, point: usize, [i, j]: [usize; 2]) -> usize {
        first + ((i * self.points + point) * self.unknowns + j) * self.length
    }

    /// Those between all unknowns of both, row by row.
    #[inline]
    fn block(self, first: usize, point: usize) -> impl Iterator<Item = usize> {
        let r = self.unknowns;
        (0..r).flat_map(move |i| (0..r).map(move |j| self.at(first, point, [i, j])))
    }

    #[inline]
    fn read(self, values: &[f64], (first, point): (usize, usize), block: &mut [f64]) {
        let places = self.block(first, point);
        block
            .iter_mut()
            .zip(places)
            .for_each(|(to, place)| *to = values[place]);
    }
}

/// Two blocks at hand.
struct Scratch {
    places: Places,
    share: Vec<f64>,
    pivot: Vec<f64>,
}

impl Scratch {
    /// Takes the rows of a neighbour out of those of a cell.
    #[inline]
    fn eliminate(&mut self, values: &mut [f64], (cell, centre): (usize, usize), step: &Step) {
        let places = self.places;
        let (r, own) = (places.unknowns, places.first(cell));
        places.read(values, (own, step.point), &mut self.share);
        // Entries of neighbours outside are zero.
        if self.share.iter().all(|value| *value == 0.0) {
            return;
        }
        let beside = places.first(cell.wrapping_add_signed(step.distance));
        places.read(values, (beside, centre), &mut self.pivot);
        divide(&mut self.share, &mut self.pivot, r);
        for &(later, target) in &step.updates {
            for i in 0..r {
                for j in 0..r {
                    let other = |m: usize| values[places.at(beside, later, [m, j])];
                    let product: f64 = (0..r).map(|m| self.share[i * r + m] * other(m)).sum();
                    values[places.at(own, target, [i, j])] -= product;
                }
            }
        }
    }

    /// Whether elimination has left that part of every pivot that the block had before.
    fn keeps_pivots(
        &mut self,
        [before, values]: [&[f64]; 2],
        block: (usize, usize),
        least_left: f64,
    ) -> bool {
        let r = self.places.unknowns;
        self.places.read(before, block, &mut self.share);
        self.places.read(values, block, &mut self.pivot);
        upper(&mut self.share, r);
        upper(&mut self.pivot, r);
        (0..r).map(|i| i * (r + 1)).all(|k| {
            let (was, left) = (self.share[k], self.pivot[k]);
            left * was.signum() > least_left * was.abs()
        })
    }

    /// The first unknown of a block whose pivot vanishes.
    fn singular(&mut self, values: &[f64], block: (usize, usize)) -> Option<usize> {
        let r = self.places.unknowns;
        self.places.read(values, block, &mut self.share);
        self.pivot.copy_from_slice(&self.share);
        upper(&mut self.pivot, r);
        let vanishes = |i: &usize| {
            let [pivot, diagonal] =
                [&self.pivot, &self.share].map(|block| block[i * (r + 1)].abs());
            let usable = pivot > SINGULAR * diagonal;
            !usable
        };
        (0..r).find(vanishes)
    }
}

/// Eliminates below the diagonal of a block of `r` rows; the factors take the place of zeros.
fn upper(block: &mut [f64], r: usize) {
    for pivot in 0..r {
        for row in pivot + 1..r {
            let factor = block[row * r + pivot] / block[pivot * r + pivot];
            block[row * r + pivot] = factor;
            for column in pivot + 1..r {
                block[row * r + column] -= factor * block[pivot * r + column];
            }
        }
    }
}

/// `a = a b^-1` for blocks of `r` rows; `b` is lost.
fn divide(a: &mut [f64], b: &mut [f64], r: usize) {
    upper(b, r);
    for row in a.chunks_exact_mut(r) {
        // row = x L U: first `y U = row`, then `x L = y`.
        for column in 0..r {
            let known: f64 = (0..column).map(|m| row[m] * b[m * r + column]).sum();
            row[column] = (row[column] - known) / b[column * r + column];
        }
        for column in (0..r).rev() {
            let known: f64 = (column + 1..r).map(|m| row[m] * b[m * r + column]).sum();
            row[column] -= known;
        }
    }
}

/// A factorisation as it is stored, and its diagonal: a stencil of one point.
#[derive(Debug)]
pub(super) struct Factor<M> {
    matrix: StencilMatrix<M>,
    diagonal: StencilMatrix<M>,
}

impl<M: Storage> Factor<M> {
    /// On the executor of vectors, from a factorisation on the host.
    pub(super) fn new(matrix: StencilMatrix<M>, executor: &Executor) -> Result<Self> {
        Ok(Self {
            diagonal: matrix.block_diagonal()?.into_executor(executor)?,
            matrix: matrix.into_executor(executor)?,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.matrix.bytes() + self.diagonal.bytes()
    }

    /// `x += (D + U)^-1 D (L + D)^-1 r`.
    pub(super) fn correct<V: Vectors>(
        &self,
        r: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut half = ws.vector_like::<V, V>(r)?;
        let mut whole = ws.vector_like::<V, V>(r)?;
        let [forward, backward] =
            [Direction::Forward, Direction::Backward].map(|direction| (direction, Start::Zero));
        self.matrix.sweep(forward, r, &mut half, ws)?;
        self.diagonal.column(&Finish::Apply, &half, &mut whole)?;
        self.matrix.sweep(backward, &whole, &mut half, ws)?;
        x.axpy(Coefficient::one(), &half)
    }
}

impl<M: Storage> StencilMatrix<M> {
    /// The blocks of cells with themselves.
    fn block_diagonal(&self) -> Result<Self> {
        let (r, centre) = (self.unknowns(), self.stencil().centre());
        let pairs = move |line| (0..r * r).map(move |pair| (line, [pair / r, pair % r]));
        let values = (0..self.grid().lines())
            .flat_map(pairs)
            .flat_map(|(line, pair)| self.line_of(pair, line, centre))
            .copied();
        let point = Stencil::of(&|offset| offset == [0; 3]);
        Self::with_unknowns(self.executor(), self.grid(), point, r, values.collect())
    }
}

#[cfg(test)]
#[path = "factor_tests.rs"]
mod tests;
