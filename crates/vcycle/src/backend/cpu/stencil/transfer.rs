//! Restriction and prolongation along one axis.

use std::ops::Range;

use crate::backend::cpu::simd::multiversion;
use crate::backend::cpu::{Shared, Threads};
use crate::backend::reference::stencil::TransferArrays;
use crate::scalar::{Real, Scalar, convert};
use crate::structured::Grid;

/// Cells that one task does, at least; tasks are whole lines.
const CELLS: usize = 8 * 1024;

/// `coarse = P^T (q fine)`, `q` one number a fine cell or ones.
pub(crate) fn restrict<W: Scalar, V: Real>(
    threads: &Threads,
    transfer: TransferArrays<'_, W>,
    q: Option<&[V]>,
    fine: &[V],
    coarse: &mut [V],
) {
    let grid = transfer.fine.halved(transfer.axis);
    assert!(fine.len() == transfer.fine.cells() && coarse.len() == grid.cells());
    let bytes = 2 * size_of_val(fine);
    for_lines(threads, grid, bytes, coarse, |line, out| {
        match transfer.axis {
            0 => {
                let (fine, q) = (
                    of_line(transfer.fine, fine, line),
                    q.map(|q| of_line(transfer.fine, q, line)),
                );
                let [left, right] = weights(&transfer, grid, line);
                restrict_along(fine, q, left, right, out);
            }
            axis => {
                let at = |fine_line: usize| Scaled {
                    values: of_line(transfer.fine, fine, fine_line),
                    q: q.map(|q| of_line(transfer.fine, q, fine_line)),
                };
                let (own, below, above) = around(transfer.fine, axis, line);
                take(at(own), out);
                if let Some(above) = above {
                    add_weighted(weights(&transfer, grid, line)[0], at(above), out);
                }
                if let Some(below) = below {
                    let coarse_below = line - step(grid, axis);
                    add_weighted(weights(&transfer, grid, coarse_below)[1], at(below), out);
                }
            }
        }
    });
}

/// `fine = q P coarse`, or added to `fine`.
pub(crate) fn prolong<W: Scalar, V: Real>(
    threads: &Threads,
    transfer: TransferArrays<'_, W>,
    q: Option<&[V]>,
    coarse: &[V],
    fine: &mut [V],
    add: bool,
) {
    let grid = transfer.fine.halved(transfer.axis);
    assert!(fine.len() == transfer.fine.cells() && coarse.len() == grid.cells());
    let bytes = 2 * size_of_val(fine);
    for_lines(threads, transfer.fine, bytes, fine, |line, out| {
        let q = q.map(|q| of_line(transfer.fine, q, line));
        if transfer.axis == 0 {
            let weights = weights(&transfer, grid, line);
            return prolong_along(of_line(grid, coarse, line), weights, q, add, out);
        }
        let (parent, odd) = parent(transfer.fine, transfer.axis, line);
        let values = of_line(grid, coarse, parent);
        if !odd {
            return spread(values, q, add, out);
        }
        let [lower, upper] = weights(&transfer, grid, parent);
        let next = above(grid, transfer.axis, parent).map(|line| of_line(grid, coarse, line));
        spread_between([lower, upper], values, next, q, add, out);
    });
}

/// Numbers of a line, to be multiplied by others.
#[derive(Clone, Copy)]
struct Scaled<'a, V> {
    values: &'a [V],
    q: Option<&'a [V]>,
}

fn for_lines<V: Send>(
    threads: &Threads,
    grid: Grid,
    bytes: usize,
    out: &mut [V],
    work: impl Fn(usize, &mut [V]) + Sync,
) {
    let (length, lines) = (grid.length(), grid.lines());
    let per_task = CELLS.div_ceil(length);
    let out = Shared(out.as_mut_ptr());
    threads.for_each(lines.div_ceil(per_task), bytes, &|task| {
        for line in task * per_task..((task + 1) * per_task).min(lines) {
            // SAFETY: every line is given to one task.
            work(line, unsafe { out.slice(range(grid, line)) });
        }
    });
}

fn range(grid: Grid, line: usize) -> Range<usize> {
    line * grid.length()..(line + 1) * grid.length()
}

fn of_line<V>(grid: Grid, values: &[V], line: usize) -> &[V] {
    &values[range(grid, line)]
}

/// The weights of the odd cells above those of a coarse line.
fn weights<'a, W>(transfer: &TransferArrays<'a, W>, coarse: Grid, line: usize) -> [&'a [W]; 2] {
    let nx = coarse.length();
    [0, 1].map(|side| &transfer.weights[(2 * line + side) * nx..][..nx])
}

/// Lines between neighbours along y or z.
fn step(grid: Grid, axis: usize) -> usize {
    if axis == 1 { 1 } else { grid.size()[1] }
}

fn place(grid: Grid, axis: usize, line: usize) -> usize {
    let ny = grid.size()[1];
    if axis == 1 { line % ny } else { line / ny }
}

fn above(grid: Grid, axis: usize, line: usize) -> Option<usize> {
    let inside = place(grid, axis, line) + 1 < grid.size()[axis];
    inside.then(|| line + step(grid, axis))
}

/// The fine line of a coarse one, and those below and above it.
fn around(fine: Grid, axis: usize, line: usize) -> (usize, Option<usize>, Option<usize>) {
    let coarse = fine.halved(axis);
    let (ny, y, z) = (
        coarse.size()[1],
        line % coarse.size()[1],
        line / coarse.size()[1],
    );
    debug_assert!(y < ny);
    let own = match axis {
        1 => 2 * y + fine.size()[1] * z,
        _ => y + fine.size()[1] * 2 * z,
    };
    let below = (place(fine, axis, own) > 0).then(|| own - step(fine, axis));
    (own, below, above(fine, axis, own))
}

/// The coarse line at or below a fine one, and whether it is below.
fn parent(fine: Grid, axis: usize, line: usize) -> (usize, bool) {
    let (y, z) = (line % fine.size()[1], line / fine.size()[1]);
    let ny = fine.halved(axis).size()[1];
    match axis {
        1 => (y / 2 + ny * z, y % 2 == 1),
        _ => (y + ny * (z / 2), z % 2 == 1),
    }
}

multiversion! {
    /// `out = q values`.
    fn take[V: Real](from: Scaled<'_, V>, out: &mut [V]) {
        match from.q {
            None => out.copy_from_slice(from.values),
            Some(q) => {
                for ((out, &value), &q) in out.iter_mut().zip(from.values).zip(q) {
                    *out = q * value;
                }
            }
        }
    }
}

multiversion! {
    /// `out += weights q values`.
    fn add_weighted[W: Scalar, V: Real](weights: &[W], from: Scaled<'_, V>, out: &mut [V]) {
        let pairs = out.iter_mut().zip(from.values).zip(weights);
        match from.q {
            None => {
                for ((out, &value), &weight) in pairs {
                    *out += convert::<W, V>(weight) * value;
                }
            }
            Some(q) => {
                for (((out, &value), &weight), &q) in pairs.zip(q) {
                    *out += convert::<W, V>(weight) * (q * value);
                }
            }
        }
    }
}

multiversion! {
    /// A line along the axis of the restriction.
    fn restrict_along[W: Scalar, V: Real](
        fine: &[V],
        q: Option<&[V]>,
        left: &[W],
        right: &[W],
        out: &mut [V],
    ) {
        let at = |cell: usize| q.map_or(fine[cell], |q| q[cell] * fine[cell]);
        for (cell, out) in out.iter_mut().enumerate() {
            let mut sum = at(2 * cell);
            if 2 * cell + 1 < fine.len() {
                sum += convert::<W, V>(left[cell]) * at(2 * cell + 1);
            }
            if cell > 0 {
                sum += convert::<W, V>(right[cell - 1]) * at(2 * cell - 1);
            }
            *out = sum;
        }
    }
}

multiversion! {
    /// A line along the axis of the prolongation.
    fn prolong_along[W: Scalar, V: Real](
        coarse: &[V],
        weights: [&[W]; 2],
        q: Option<&[V]>,
        add: bool,
        out: &mut [V],
    ) {
        for (cell, out) in out.iter_mut().enumerate() {
            let parent = cell / 2;
            let mut value = coarse[parent];
            if cell % 2 == 1 {
                value = convert::<W, V>(weights[0][parent]) * value;
                if parent + 1 < coarse.len() {
                    value += convert::<W, V>(weights[1][parent]) * coarse[parent + 1];
                }
            }
            let value = q.map_or(value, |q| q[cell] * value);
            *out = if add { *out + value } else { value };
        }
    }
}

multiversion! {
    /// `out (+)= q values`.
    fn spread[V: Real](values: &[V], q: Option<&[V]>, add: bool, out: &mut [V]) {
        for (cell, (out, &value)) in out.iter_mut().zip(values).enumerate() {
            let value = q.map_or(value, |q| q[cell] * value);
            *out = if add { *out + value } else { value };
        }
    }
}

multiversion! {
    /// `out (+)= q (lower values + upper next)`; without a next line its weights do not count.
    fn spread_between[W: Scalar, V: Real](
        weights: [&[W]; 2],
        values: &[V],
        next: Option<&[V]>,
        q: Option<&[V]>,
        add: bool,
        out: &mut [V],
    ) {
        for (cell, (out, &value)) in out.iter_mut().zip(values).enumerate() {
            let mut value = convert::<W, V>(weights[0][cell]) * value;
            if let Some(next) = next {
                value += convert::<W, V>(weights[1][cell]) * next[cell];
            }
            let value = q.map_or(value, |q| q[cell] * value);
            *out = if add { *out + value } else { value };
        }
    }
}
