//! Interpolation from the matrix along one axis, in stencil form.
//!
//! A coarse line is done at a time, whatever the axis is.

use std::ops::Range;

use super::lines::{add, for_lines};
use super::{Grid, Offset, Stencil, Transfer};
use crate::matrix::zeroed;
use crate::multiversion;
use crate::prelude::*;

/// Lines of the values of a stencil matrix.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    /// Which line comes first.
    pub(super) first: usize,
    pub(super) values: &'a [f64],
}

/// The coarsening of a matrix along one axis, to a grid with half the cells, some planes at a time.
pub(super) struct Halving<'e> {
    pub(super) executor: &'e Executor,
    pub(super) axis: usize,
    pub(super) unknowns: usize,
    pub(super) fine: Grid,
    pub(super) coarse: Grid,
    pub(super) stencils: [Stencil; 2],
    pub(super) columns: Vec<StencilColumn>,
    /// As a [`Transfer`] has them.
    weights: Vec<f64>,
}

/// The neighbours of a cell that differ along the axis only.
pub(super) struct StencilColumn {
    /// The one that is no step along the axis away.
    pub(super) across: Offset,
    /// Their places among the entries of fine rows, and of coarse rows.
    pub(super) from: [Option<usize>; 3],
    pub(super) to: [Option<usize>; 3],
}

impl<'e> Halving<'e> {
    pub(super) fn new(
        executor: &'e Executor,
        fine: Grid,
        stencil: Stencil,
        unknowns: usize,
        axis: usize,
    ) -> Result<Self> {
        let coarse = fine.halved(axis);
        let widened = widened(&stencil, axis, coarse);
        let columns = Stencil::of(&|offset| offset[axis] == 0 && any(&stencil, offset, axis));
        let column = |&across: &Offset| {
            let places = |stencil: &Stencil| {
                [-1, 0, 1].map(|step| stencil.position(with(across, axis, step)))
            };
            StencilColumn {
                across,
                from: places(&stencil),
                to: places(&widened),
            }
        };
        Ok(Self {
            columns: columns.offsets().iter().map(column).collect(),
            executor,
            axis,
            unknowns,
            fine,
            coarse,
            stencils: [stencil, widened],
            weights: zeroed(executor, 2 * unknowns * coarse.cells())?,
        })
    }

    /// The grid with fewer cells.
    pub(super) fn coarse(&self) -> Grid {
        self.coarse
    }

    /// The neighbours of its cells.
    pub(super) fn stencil(&self) -> &Stencil {
        &self.stencils[1]
    }

    /// Numbers of some of its planes.
    pub(super) fn numbers(&self, planes: Range<usize>) -> Range<usize> {
        let per_plane = self.coarse.cells() / self.coarse.size()[2] * self.numbers_of_a_cell();
        planes.start * per_plane..planes.end * per_plane
    }

    pub(super) fn numbers_of_a_cell(&self) -> usize {
        self.stencil().points() * self.unknowns * self.unknowns
    }

    pub(super) fn into_transfer(self) -> Result<Transfer<f64>> {
        let Self { fine, axis, .. } = self;
        Transfer::with_unknowns(self.executor, fine, axis, self.unknowns, self.weights)
    }

    /// Finds the weights for the cells between those of some planes of the coarse grid: the couplings of a cell
    /// with the cells on either side, all that are on one side added up, in proportion. They follow jumps of
    /// coefficients (Alcouffe, Brandt, Dendy and Painter 1981, in one dimension).
    pub(super) fn weigh(&mut self, from: Lines<'_>, planes: Range<usize>) {
        let [length, ny, _] = self.coarse.size();
        let mut weights = std::mem::take(&mut self.weights);
        let of_unknowns = weights.chunks_mut(2 * self.coarse.cells()).enumerate();
        for (unknown, weights) in of_unknowns {
            let lines = 2 * length * ny * planes.start..2 * length * ny * planes.end;
            let sums = || [(); 3].map(|()| vec![0.0; self.fine.length()]);
            let (executor, first) = (self.executor, planes.start * ny);
            for_lines(
                executor,
                length,
                2,
                &mut weights[lines],
                sums,
                |sums, line, out| {
                    self.weigh_line(from, unknown, first + line, sums, out);
                },
            );
        }
        self.weights = weights;
    }

    fn weigh_line(
        &self,
        from: Lines<'_>,
        unknown: usize,
        line: usize,
        sums: &mut [Vec<f64>; 3],
        out: &mut [f64],
    ) {
        let (axis, length) = (self.axis, self.coarse.length());
        let Some(odd) = self.fine_line(line, 1) else {
            return out.fill(0.0);
        };
        sums.iter_mut().for_each(|sums| sums.fill(0.0));
        for (point, offset) in self.stencils[0].offsets().iter().enumerate() {
            let entries = self.entries(from, [unknown; 2], odd, point);
            add(entries, &mut sums[(offset[axis] + 1) as usize]);
        }
        let between = if axis == 0 {
            self.fine.length() / 2
        } else {
            length
        };
        if axis == 0 {
            sums.iter_mut().for_each(|sums| keep_odds(sums));
        }
        let (lower, upper) = out.split_at_mut(length);
        let [before, own, after] = [0, 1, 2].map(|side| &sums[side][..between]);
        shares(
            before,
            own,
            after,
            &mut lower[..between],
            &mut upper[..between],
        );
        lower[between..].fill(0.0);
        upper[between..].fill(0.0);
        for x in self.last(line) {
            [lower[x], upper[x]] = [last_weight(before[x], own[x]), 0.0];
        }
    }

    /// The cells of a coarse line behind which there are two fine cells, the second one outside.
    fn last(&self, line: usize) -> Range<usize> {
        let (axis, length) = (self.axis, self.coarse.length());
        let [y, z] = self.coarse.place(line);
        let is_last = |at: usize| 2 * at + 2 == self.fine.size()[axis];
        match axis {
            0 if is_last(length - 1) => length - 1..length,
            1 if is_last(y) => 0..length,
            2 if is_last(z) => 0..length,
            _ => 0..0,
        }
    }

    /// The fine line `row` beside a coarse one along the axis; that of the same number where lines are halved.
    pub(super) fn fine_line(&self, line: usize, row: i8) -> Option<usize> {
        if self.axis == 0 {
            return Some(line);
        }
        let ([y, z], [_, ny, _]) = (self.coarse.place(line), self.fine.size());
        let mut at = [0, y, z];
        at[self.axis] = (2 * at[self.axis]).checked_add_signed(row.into())?;
        (at[self.axis] < self.fine.size()[self.axis]).then(|| at[1] + ny * at[2])
    }

    /// The entries of one offset along a fine line.
    pub(super) fn entries<'l>(
        &self,
        from: Lines<'l>,
        [i, j]: [usize; 2],
        line: usize,
        point: usize,
    ) -> &'l [f64] {
        let (r, points) = (self.unknowns, self.stencils[0].points());
        let stream = (((line - from.first) * r + i) * points + point) * r + j;
        let length = self.fine.length();
        &from.values[stream * length..(stream + 1) * length]
    }

    /// The weights of one side at a coarse line.
    pub(super) fn weights_at(
        &self,
        unknown: usize,
        line: Option<usize>,
        side: usize,
    ) -> Option<&[f64]> {
        let length = self.coarse.length();
        let first = 2 * unknown * self.coarse.cells() + (2 * line? + side) * length;
        Some(&self.weights[first..first + length])
    }
}

/// The neighbours that cells have on a grid with half the cells along an axis.
pub(super) fn widened(stencil: &Stencil, axis: usize, coarse: Grid) -> Stencil {
    Stencil::of(&|offset| any(stencil, offset, axis)).within(coarse)
}

/// Whether a stencil has an offset, or one that differs from it along an axis.
fn any(stencil: &Stencil, offset: Offset, axis: usize) -> bool {
    (-1..=1).any(|step| stencil.position(with(offset, axis, step)).is_some())
}

/// The offset with another step along an axis.
pub(super) fn with(mut offset: Offset, axis: usize, step: i8) -> Offset {
    offset[axis] = step;
    offset
}

/// Moves the odd numbers of a line to its beginning.
fn keep_odds(line: &mut [f64]) {
    for x in 0..line.len() / 2 {
        line[x] = line[2 * x + 1];
    }
}

multiversion! {
    /// How cells depend on their two sides; half and half where the matrix does not say.
    fn shares[](
        before: &[f64],
        own: &[f64],
        after: &[f64],
        lower: &mut [f64],
        upper: &mut [f64],
    ) {
        let sums = before.iter().zip(own).zip(after);
        for ((((before, own), after), lower), upper) in sums.zip(lower).zip(upper) {
            let sign = -1_f64.copysign(*own);
            let (before, after) = (sign * before, sign * after);
            let sum = before + after;
            let known = (before >= 0.0) & (after >= 0.0) & (sum > 0.0);
            *lower = if known { before / sum } else { 0.5 };
            *upper = if known { after / sum } else { 0.5 };
        }
    }
}

/// The same for a cell at the boundary, beyond which there are zeros. At a free one the weight is one, and a little
/// more by rounding.
fn last_weight(before: f64, own: f64) -> f64 {
    let weight = -before / own;
    if weight > 0.0 && weight < 1.0 + 1e-6 {
        weight.min(1.0)
    } else {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_stronger_side() {
        let (mut lower, mut upper) = ([0.0; 3], [0.0; 3]);
        let (before, own, after) = ([-3.0, 3.0, 1.0], [4.0, -4.0, 4.0], [-1.0, 1.0, -1.0]);
        shares(&before, &own, &after, &mut lower, &mut upper);
        assert_eq!((lower, upper), ([0.75, 0.75, 0.5], [0.25, 0.25, 0.5]));
        assert_eq!(last_weight(-1.0, 4.0), 0.25);
        assert_eq!(last_weight(-1.0 - 1e-12, 1.0), 1.0);
        assert_eq!(last_weight(-3.0, 2.0), 0.5);
    }
}
