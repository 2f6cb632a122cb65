//! Interpolation from the matrix and Galerkin products, along one axis, in stencil form.
//!
//! A coarse line is done at a time, whatever the axis is: all arithmetic is on lines seen from its cells.

use std::ops::Range;

use super::lines::{Rows, View, add_products};
use super::{Grid, Offset, Stencil, StencilMatrix, Transfer};
use crate::error::Result;
use crate::executor::{Executor, cut};
use crate::matrix::zeroed;

/// Cells that one task makes, about.
const CELLS: usize = 4 * 1024;

/// Weights for the cells between those of the coarse grid: the couplings of a cell with the cells on
/// either side, all that are on one side added up, in proportion. They follow jumps of coefficients
/// (Alcouffe, Brandt, Dendy and Painter 1981, in one dimension).
pub(super) fn interpolation(a: &StencilMatrix<f64>, axis: usize) -> Result<Transfer<f64>> {
    let mut weights = Vec::new();
    for unknown in 0..a.unknowns() {
        weights.append(&mut weights_of(a, axis, unknown)?);
    }
    Transfer::with_unknowns(a.executor(), a.grid(), axis, a.unknowns(), weights)
}

/// The weights of one unknown, from its couplings with itself.
fn weights_of(a: &StencilMatrix<f64>, axis: usize, unknown: usize) -> Result<Vec<f64>> {
    let (fine, coarse) = (a.grid(), a.grid().halved(axis));
    let length = coarse.length();
    made_of_lines(a.executor(), coarse, 2, |line, out| {
        let mut sums = [0, 1, 2].map(|_| vec![0.0; length]);
        let mut rows = Rows::new(a, [unknown; 2], axis, line);
        for (point, offset) in a.stencil().offsets().iter().enumerate() {
            rows.look_at(point);
            if let Some(entries) = rows.beside(1) {
                add_products(entries, [None; 2], &mut sums[(offset[axis] + 1) as usize]);
            }
        }
        let (lower, upper) = out.split_at_mut(length);
        for x in 0..length {
            let at = [x, line % coarse.size()[1], line / coarse.size()[1]][axis];
            let odd = 2 * at + 1;
            let between = [sums[0][x], sums[1][x], sums[2][x]];
            [lower[x], upper[x]] = match odd {
                odd if odd >= fine.size()[axis] => [0.0, 0.0],
                odd if odd + 1 >= fine.size()[axis] => [last_weight(between), 0.0],
                _ => shares(between),
            };
        }
    })
}

/// How a cell depends on its two sides; half and half where the matrix does not say.
fn shares([before, own, after]: [f64; 3]) -> [f64; 2] {
    let sign = -own.signum();
    let (before, after) = (sign * before, sign * after);
    let sum = before + after;
    if before >= 0.0 && after >= 0.0 && sum > 0.0 {
        return [before / sum, after / sum];
    }
    [0.5, 0.5]
}

/// The same for a cell at the boundary, beyond which there are zeros.
fn last_weight([before, own, _]: [f64; 3]) -> f64 {
    let weight = -before / own;
    if weight > 0.0 && weight <= 1.0 {
        weight
    } else {
        0.5
    }
}

/// A parent of an odd or even cell: its place relative to the coarse cell, and where its weight is:
/// the shift of the coarse cell below, and the side.
type Parent = (i8, Option<(i8, usize)>);

/// The coarse cells that the fine cell `shift` beside a coarse one is interpolated from.
fn parents(shift: i8) -> &'static [Parent] {
    match shift {
        -2 => &[(-1, None)],
        -1 => &[(-1, Some((-1, 0))), (0, Some((-1, 1)))],
        0 => &[(0, None)],
        1 => &[(0, Some((0, 0))), (1, Some((0, 1)))],
        _ => &[(1, None)],
    }
}

/// Some planes of `P^T A P`, in memory that was something else before.
pub(super) fn galerkin(
    a: &StencilMatrix<f64>,
    p: &Transfer<f64>,
    planes: Range<usize>,
    memory: Vec<f64>,
) -> Result<StencilMatrix<f64>> {
    let (coarse, r) = (p.coarse(), a.unknowns());
    let stencil = widened(a.stencil(), p.axis()).within(coarse);
    let [nx, ny, _] = coarse.size();
    let grid = Grid::new([nx, ny, planes.len()])?;
    let (numbers, first) = (stencil.points() * r * r, planes.start * ny);
    let values = made_in(memory, a.executor(), grid, numbers, |line, out| {
        for unknowns in (0..r * r).map(|block| [block / r, block % r]) {
            let rows = Rows::new(a, unknowns, p.axis(), first + line);
            Product { rows, p }.add_to(&stencil, out);
        }
    })?;
    StencilMatrix::with_unknowns(a.executor(), grid, stencil, r, values)
}

/// With all three offsets along an axis wherever there is one of them.
fn widened(stencil: &Stencil, axis: usize) -> Stencil {
    let any = |offset| (-1..=1).any(|step| stencil.position(with(offset, axis, step)).is_some());
    Stencil::of(any)
}

/// The offset with another step along an axis.
fn with(mut offset: Offset, axis: usize, step: i8) -> Offset {
    offset[axis] = step;
    offset
}

/// What makes one line of a product, in the rows of an unknown and the columns of another.
struct Product<'a> {
    rows: Rows<'a>,
    p: &'a Transfer<f64>,
}

impl Product<'_> {
    /// Adds the products with all entries to the values of the line.
    fn add_to(mut self, stencil: &Stencil, out: &mut [f64]) {
        let (a, axis, [i, j]) = (self.rows.a, self.p.axis(), self.rows.unknowns);
        let (r, length) = (a.unknowns(), self.p.coarse().length());
        for (point, &offset) in a.stencil().offsets().iter().enumerate() {
            self.rows.look_at(point);
            for row in -1..=1 {
                let Some((entries, weights)) = self.restricted(row) else {
                    continue;
                };
                for &(place, weight) in parents(row + offset[axis]) {
                    let Some(target) = stencil.position(with(offset, axis, place)) else {
                        continue;
                    };
                    let first = ((i * stencil.points() + target) * r + j) * length;
                    let out = &mut out[first..first + length];
                    match weight {
                        None => add_products(entries, [weights, None], out),
                        Some((shift, side)) => {
                            let column = self.weights(j, with(offset, axis, shift), side);
                            if column.is_some() {
                                add_products(entries, [weights, column], out);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The entries in the fine rows beside the coarse ones, and their weights in `P^T`.
    fn restricted(&self, row: i8) -> Option<(View<'_>, Option<View<'_>>)> {
        let entries = self.rows.beside(row)?;
        let (shift, side) = match row {
            0 => return Some((entries, None)),
            1 => (0, 0),
            _ => (-1, 1),
        };
        let cell = with([0; 3], self.p.axis(), shift);
        let weights = self.weights(self.rows.unknowns[0], cell, side)?;
        Some((entries, Some(weights)))
    }

    /// The weights of one side at the coarse cells `shift` away from those of the line.
    fn weights(&self, unknown: usize, shift: Offset, side: usize) -> Option<View<'_>> {
        let coarse = self.p.coarse();
        let (line, length) = (coarse.neighbour(self.rows.line, shift)?, coarse.length());
        let values = &self.p.weights_of(unknown)[(2 * line + side) * length..][..length];
        let shift = shift[0];
        Some(View { values, shift })
    }
}

/// Values made line by line, `points` numbers a cell: `work(line, values of the line)`, which are zeros.
pub(super) fn made_of_lines(
    executor: &Executor,
    grid: Grid,
    points: usize,
    work: impl Fn(usize, &mut [f64]) + Sync + Send,
) -> Result<Vec<f64>> {
    made_in(Vec::new(), executor, grid, points, work)
}

/// The same in memory that was something else before.
fn made_in(
    mut memory: Vec<f64>,
    executor: &Executor,
    grid: Grid,
    points: usize,
    work: impl Fn(usize, &mut [f64]) + Sync + Send,
) -> Result<Vec<f64>> {
    let count = grid.cells() * points;
    let mut values = match memory.capacity() < count {
        true => zeroed(executor, count)?,
        false => {
            memory.resize(count, 0.0);
            memory
        }
    };
    let share = grid.length() * points;
    let per_task = CELLS.div_ceil(grid.length());
    let starts = (0..grid.lines()).step_by(per_task);
    let lengths = starts
        .clone()
        .map(|first| per_task.min(grid.lines() - first) * share);
    let bytes = size_of_val(values.as_slice());
    let tasks = starts.zip(cut(&mut values, lengths)).collect();
    executor.run(bytes, tasks, |(first, out): (usize, &mut [f64])| {
        for (line, out) in out.chunks_mut(share).enumerate() {
            out.fill(0.0);
            work(first + line, out);
        }
    });
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::gpu::rows::Finish;
    use crate::gallery;
    use crate::linop::Size;
    use crate::matrix::{Csr, Duplicates};
    use crate::vector::Vector;

    /// A transfer as a matrix.
    fn matrix(p: &Transfer<f64>) -> Csr<f64> {
        let (host, coarse) = (Executor::reference(), p.coarse().cells());
        let size = Size::new(p.fine().cells(), coarse);
        let (mut offsets, mut columns, mut values) = (vec![0; size.rows + 1], vec![], vec![]);
        let mut entries = vec![Vec::new(); size.rows];
        for column in 0..coarse {
            let mut unit = vec![0.0; coarse];
            unit[column] = 1.0;
            let unit = crate::vector::Vector::from_column(&host, unit);
            let mut image = crate::vector::Vector::zeros(&host, size.rows, 1).unwrap();
            p.prolong(None, &unit, &mut image, false).unwrap();
            for (row, value) in image
                .to_vec()
                .into_iter()
                .enumerate()
                .filter(|v| v.1 != 0.0)
            {
                entries[row].push((column as u32, value));
            }
        }
        for (row, entries) in entries.into_iter().enumerate() {
            offsets[row + 1] = offsets[row] + entries.len();
            columns.extend(entries.iter().map(|entry| entry.0));
            values.extend(entries.iter().map(|entry| entry.1));
        }
        Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse).unwrap()
    }

    #[test]
    fn products_are_those_of_matrices() {
        let host = Executor::reference();
        for spec in [
            "jump7:9x6x5,100",
            "poisson27:4x5x2",
            "poisson5:8x5",
            "convdiff7:6x5x4,20",
        ] {
            let mut a =
                StencilMatrix::from_csr(&gallery::build(spec, &host).unwrap().matrix).unwrap();
            for axis in (0..3)
                .rev()
                .filter(|&axis| a.grid().size()[axis] > 1)
                .collect::<Vec<_>>()
            {
                let p = interpolation(&a, axis).unwrap();
                let planes = 0..p.coarse().size()[2];
                let coarse = galerkin(&a, &p, planes, Vec::new()).unwrap();
                let p = matrix(&p);
                let expected = p
                    .transpose()
                    .unwrap()
                    .multiply(&a.to_csr())
                    .unwrap()
                    .multiply(&p)
                    .unwrap();
                for row in 0..expected.size().rows {
                    let (columns, values) = expected.row(row);
                    for (&column, &value) in columns.iter().zip(values) {
                        let found = coarse.to_csr().entry(row, column as usize).unwrap_or(0.0);
                        let error = (found - value).abs();
                        assert!(error < 1e-12 * a.largest(), "{spec} {axis}: {row} {column}");
                    }
                }
                a = coarse;
            }
        }
    }

    #[test]
    fn products_of_blocks_are_products_in_a_row() {
        let host = Executor::reference();
        let a = gallery::build("elasticity:4x3x4", &host).unwrap().matrix;
        let mut a = StencilMatrix::from_csr(&a).unwrap();
        let vector = |n: usize| {
            (0..n)
                .map(|place| ((place * 7) % 11) as f64 - 5.0)
                .collect()
        };
        for axis in [2, 1, 0] {
            let p = interpolation(&a, axis).unwrap();
            let planes = 0..p.coarse().size()[2];
            let coarse = galerkin(&a, &p, planes, Vec::new()).unwrap();
            let x = Vector::from_column(&host, vector(coarse.size().rows));
            let mut fine = Vector::zeros(&host, a.size().rows, 1).unwrap();
            p.prolong(None, &x, &mut fine, false).unwrap();
            let mut product = fine.clone();
            a.column(&Finish::Apply, &fine, &mut product).unwrap();
            let (mut expected, mut found) = (x.clone(), x.clone());
            p.restrict(None, &product, &mut expected).unwrap();
            coarse.column(&Finish::Apply, &x, &mut found).unwrap();
            let scale = 1e-12 * a.largest();
            for (expected, found) in expected.to_vec().into_iter().zip(found.to_vec()) {
                assert!(
                    (expected - found).abs() < scale,
                    "{axis}: {expected} {found}"
                );
            }
            a = coarse;
        }
    }

    #[test]
    fn constants_are_interpolated_exactly_inside() {
        let host = Executor::reference();
        let a = gallery::build("jump7:9,1000", &host).unwrap().matrix;
        let a = StencilMatrix::from_csr(&a).unwrap();
        for axis in 0..3 {
            let p = interpolation(&a, axis).unwrap();
            let ones = crate::vector::Vector::filled(&host, p.coarse().cells(), 1, 1.0).unwrap();
            let mut fine = crate::vector::Vector::zeros(&host, 729, 1).unwrap();
            p.prolong(None, &ones, &mut fine, false).unwrap();
            assert!(
                fine.to_vec()
                    .iter()
                    .all(|value: &f64| (value - 1.0).abs() < 1e-12)
            );
        }
    }

    #[test]
    fn weights_follow_the_stronger_side() {
        assert_eq!(shares([-3.0, 4.0, -1.0]), [0.75, 0.25]);
        assert_eq!(shares([3.0, -4.0, 1.0]), [0.75, 0.25]);
        assert_eq!(shares([1.0, 4.0, -1.0]), [0.5, 0.5]);
        assert_eq!(last_weight([-1.0, 2.0, 0.0]), 0.5);
    }
}
