//! The lines of a matrix beside a coarse line, and arithmetic on them.

use std::ops::Range;

use super::StencilMatrix;
use crate::backend::cpu::simd::multiversion;
use crate::backend::cpu::stencil::deal;

/// Numbers of a line, seen from the cells of a coarse line: that of cell `x` is at `x + shift`, if there is
/// one.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) values: &'a [f64],
    pub(super) shift: i8,
}

impl<'a> View<'a> {
    /// The cells that have a number.
    fn cells(self) -> Range<usize> {
        let shift = isize::from(self.shift);
        let end = self.values.len().wrapping_add_signed(-shift);
        usize::try_from(-shift).unwrap_or(0)..end
    }

    /// The numbers of some cells.
    fn of(self, cells: Range<usize>) -> &'a [f64] {
        let place = |cell: usize| cell.wrapping_add_signed(self.shift.into());
        &self.values[place(cells.start)..place(cells.end)]
    }
}

/// The entries of one offset at a time in the fine rows beside a coarse line, of the rows of an unknown and
/// the columns of another.
pub(super) struct Rows<'a> {
    pub(super) a: &'a StencilMatrix<f64>,
    pub(super) unknowns: [usize; 2],
    axis: usize,
    pub(super) line: usize,
    point: usize,
    /// The even and odd cells of the line, where it is halved itself.
    dealt: [Vec<f64>; 2],
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        a: &'a StencilMatrix<f64>,
        unknowns: [usize; 2],
        axis: usize,
        line: usize,
    ) -> Self {
        let length = a.grid().length();
        let counts =
            [length.div_ceil(2), length / 2].map(|count| if axis == 0 { count } else { 0 });
        Self {
            a,
            unknowns,
            axis,
            line,
            point: 0,
            dealt: counts.map(|count| vec![0.0; count]),
        }
    }

    /// Turns to another offset.
    pub(super) fn look_at(&mut self, point: usize) {
        self.point = point;
        if self.axis == 0 {
            let entries = self.a.line_of(self.unknowns, self.line, point);
            let [evens, odds] = &mut self.dealt;
            deal(entries, evens, odds);
        }
    }

    /// The entries of the rows `shift` beside the coarse ones; none outside.
    pub(super) fn beside(&self, shift: i8) -> Option<View<'_>> {
        let (fine, axis) = (self.a.grid(), self.axis);
        if axis == 0 {
            let (values, shift) = match shift {
                0 => (&self.dealt[0], 0),
                1 => (&self.dealt[1], 0),
                _ => (&self.dealt[1], -1),
            };
            return Some(View { values, shift });
        }
        let ny = fine.halved(axis).size()[1];
        let mut at = [0, self.line % ny, self.line / ny];
        at[axis] = (2 * at[axis]).checked_add_signed(shift.into())?;
        let line = (at[axis] < fine.size()[axis]).then(|| at[1] + fine.size()[1] * at[2])?;
        let values = self.a.line_of(self.unknowns, line, self.point);
        Some(View { values, shift: 0 })
    }
}

/// Adds entries, times weights where there are such, to the cells that have all of them.
pub(super) fn add_products(entries: View<'_>, weights: [Option<View<'_>>; 2], out: &mut [f64]) {
    let mut cells = 0..out.len();
    for view in weights.iter().flatten().chain([&entries]) {
        let known = view.cells();
        cells = cells.start.max(known.start)..cells.end.min(known.end);
    }
    if cells.is_empty() {
        return;
    }
    let out = &mut out[cells.clone()];
    match weights {
        [None, None] => add(entries.of(cells), out),
        [Some(one), None] | [None, Some(one)] => {
            multiply_add(entries.of(cells.clone()), one.of(cells), out);
        }
        [Some(one), Some(other)] => {
            let (one, other) = (one.of(cells.clone()), other.of(cells.clone()));
            multiply_both_add(entries.of(cells), one, other, out);
        }
    }
}

multiversion! {
    fn add[](from: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(from).for_each(|(out, from)| *out += from);
    }
}

multiversion! {
    fn multiply_add[](a: &[f64], b: &[f64], out: &mut [f64]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out += a * b;
        }
    }
}

multiversion! {
    fn multiply_both_add[](a: &[f64], b: &[f64], c: &[f64], out: &mut [f64]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out += a * b * c;
        }
    }
}
