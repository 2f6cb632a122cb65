//! Galerkin products along one axis, in stencil form.
//!
//! A coarse line is done at a time, whatever the axis is.

use std::ops::Range;

use super::Offset;
use super::halving::{Halving, Lines, StencilColumn, with};
use super::lines::for_lines;
use crate::cpu::stencil::{Product, deal};

/// Numbers of a task that makes products.
struct ProductNumbers {
    zeros: Vec<f64>,
    /// The weights of the cells before the coarse ones along the axis and of these, on either side, with a zero
    /// before and behind.
    weights: [[Vec<f64>; 2]; 2],
    /// The even and odd cells of lines that are halved themselves; before the odd ones there is a zero.
    dealt: [[Vec<f64>; 2]; 3],
    /// For each unknown the weights of odd cells in the even ones behind them, where lines are halved themselves.
    down: Vec<Vec<f64>>,
}

impl Halving<'_> {
    /// Forms some planes of `P^T A P`; weights have to be known one plane further on.
    pub(super) fn multiply(&self, from: Lines<'_>, planes: Range<usize>, out: &mut [f64]) {
        let [length, ny, _] = self.coarse.size();
        let (first, numbers) = (planes.start * ny, self.numbers_of_a_cell());
        let scratch = || ProductNumbers::new(length, self.unknowns);
        for_lines(
            self.executor,
            length,
            numbers,
            out,
            scratch,
            |scratch, line, out| {
                self.multiply_line(from, first + line, scratch, out);
            },
        );
    }

    fn multiply_line(
        &self,
        from: Lines<'_>,
        line: usize,
        scratch: &mut ProductNumbers,
        out: &mut [f64],
    ) {
        let r = self.unknowns;
        if self.axis == 0 {
            for unknown in 0..r {
                let weights = self.weights_at(unknown, Some(line), 1);
                scratch.down[unknown][1..].copy_from_slice(weights.expect("a line of the grid"));
            }
        }
        for j in 0..r {
            let mut known = None;
            for column in &self.columns {
                let [_, y, z] = column.across;
                if known != Some([y, z]) {
                    self.take_weights(j, line, [0, y, z], scratch);
                    known = Some([y, z]);
                }
                for i in 0..r {
                    self.multiply_column(from, line, [i, j], column, scratch, out);
                }
            }
        }
    }

    /// Copies the weights of the cells `across` from a line, between zeros.
    fn take_weights(
        &self,
        unknown: usize,
        line: usize,
        across: Offset,
        scratch: &mut ProductNumbers,
    ) {
        let shifts = if self.axis == 0 { 0..=0 } else { -1..=0 };
        for shift in shifts {
            let beside = self.coarse.neighbour(line, with(across, self.axis, shift));
            for side in 0..2 {
                let to = &mut scratch.weights[(shift + 1) as usize][side];
                let inside = 1..to.len() - 1;
                match self.weights_at(unknown, beside, side) {
                    Some(weights) => to[inside].copy_from_slice(weights),
                    None => to[inside].fill(0.0),
                }
            }
        }
    }

    fn multiply_column(
        &self,
        from: Lines<'_>,
        line: usize,
        unknowns: [usize; 2],
        column: &StencilColumn,
        scratch: &mut ProductNumbers,
        out: &mut [f64],
    ) {
        let (axis, length, [i, j]) = (self.axis, self.coarse.length(), unknowns);
        let (zeros, [before, at]) = (&scratch.zeros, &scratch.weights);
        let (before, behind, down) = match axis {
            0 => (views(at, -1), views(at, 0), &scratch.down[i][..length]),
            _ => {
                let above = self.coarse.neighbour(line, with([0; 3], axis, -1));
                let down = self.weights_at(i, above, 1).unwrap_or(zeros);
                let x = column.across[0];
                (views(before, x), views(at, x), down)
            }
        };
        let up = self.weights_at(i, Some(line), 0);
        let (r, points) = (self.unknowns, self.stencil().points());
        let place = |target: usize| {
            let first = ((i * points + target) * r + j) * length;
            first..first + length
        };
        Product {
            entries: self.rows(from, line, unknowns, column, (zeros, &mut scratch.dealt)),
            restricted: [down, up.expect("a line of the grid")],
            before,
            behind,
            out: parts(out, column.to.map(|target| target.map(place))),
        }
        .form();
    }

    /// The entries of a column in the fine rows before, at and behind those of a coarse line, by their step along
    /// the axis.
    fn rows<'l>(
        &self,
        from: Lines<'l>,
        line: usize,
        unknowns: [usize; 2],
        column: &StencilColumn,
        (zeros, dealt): (&'l [f64], &'l mut [[Vec<f64>; 2]; 3]),
    ) -> [[&'l [f64]; 3]; 3] {
        let mut rows = [[zeros; 3]; 3];
        for (step, dealt) in dealt.iter_mut().enumerate() {
            let Some(point) = column.from[step] else {
                continue;
            };
            if self.axis == 0 {
                let [evens, odds] = dealt;
                deal(
                    self.entries(from, unknowns, line, point),
                    evens,
                    &mut odds[1..],
                );
                let beside = [&odds[..evens.len()], evens, &odds[1..]];
                (0..3).for_each(|row| rows[row][step] = beside[row]);
                continue;
            }
            for (place, row) in (-1..=1).enumerate() {
                if let Some(line) = self.fine_line(line, row) {
                    rows[place][step] = self.entries(from, unknowns, line, point);
                }
            }
        }
        rows
    }
}

impl ProductNumbers {
    fn new(length: usize, unknowns: usize) -> Self {
        let line = |more: usize| vec![0.0; length + more];
        Self {
            zeros: line(0),
            weights: [(); 2].map(|()| [line(2), line(2)]),
            dealt: [(); 3].map(|()| [line(0), line(1)]),
            down: vec![line(1); unknowns],
        }
    }
}

/// Weights of either side between zeros, seen from the cells one before or behind them.
fn views(weights: &[Vec<f64>; 2], shift: i8) -> [&[f64]; 2] {
    let first = (1 + shift) as usize;
    [0, 1].map(|side| &weights[side][first..first + weights[side].len() - 2])
}

/// Parts of a slice that do not overlap: all of them, the one in the middle, or none.
fn parts(out: &mut [f64], places: [Option<Range<usize>>; 3]) -> [Option<&mut [f64]>; 3] {
    match places {
        [Some(first), Some(middle), Some(last)] => {
            let parts = out.get_disjoint_mut([first, middle, last]);
            parts.expect("places of three entries").map(Some)
        }
        [_, Some(middle), _] => [None, Some(&mut out[middle]), None],
        _ => [None, None, None],
    }
}

#[cfg(test)]
#[path = "galerkin_tests.rs"]
mod tests;
