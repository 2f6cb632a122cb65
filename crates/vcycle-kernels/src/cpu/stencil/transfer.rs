//! Restriction and prolongation along one axis.

use std::ops::Range;

use super::transfer_sum::{Term, TransferSum};
use super::{Vectors, dispatch, has_kernels};
use crate::compiled_fn;
use crate::cpu::{Shared, Threads};
use crate::grid::Grid;
use crate::multiversion;
use crate::reference;
use crate::reference::stencil::TransferArrays;
use crate::scalar::{Real, Scalar};

/// Cells that one task does, at least; tasks are whole lines.
const CELLS: usize = 8 * 1024;
/// Cells of a line along the axis of a transfer that are done at a time.
const PIECE: usize = 256;

compiled_fn! {
    /// `coarse = P^T (q fine)`, `q` one number a fine cell or ones.
    pub fn restrict[stencils W: Scalar, V: Vectors](
        threads: &Threads,
        transfer: TransferArrays<'_, W>,
        q: Option<&[V]>,
        fine: &[V],
        coarse: &mut [V],
    ) {
        if !has_kernels::<W, V>() {
            return reference::stencil::restrict(transfer, q, fine, coarse);
        }
        let grid = transfer.fine.halved(transfer.axis);
        assert!(fine.len() == transfer.fine.cells() && coarse.len() == grid.cells());
        assert!(q.is_none_or(|q| q.len() == fine.len()));
        let bytes = 2 * size_of_val(fine);
        for_lines(threads, grid, bytes, coarse, |line, out| {
            let at = |fine_line: usize, weights| Term {
                weights,
                values: of_line(transfer.fine, fine, fine_line),
                q: q.map(|q| of_line(transfer.fine, q, fine_line)),
            };
            if transfer.axis == 0 {
                let Term { values, q, .. } = at(line, None);
                return restrict_along(values, q, weights(&transfer, grid, line), out);
            }
            let own = fine_line(transfer.fine, transfer.axis, line);
            let [before, after] = [-1, 1].map(|step| along(transfer.axis, step));
            let above = transfer.fine.neighbour(own, after);
            let above = above.map(|above| at(above, Some(weights(&transfer, grid, line)[0])));
            // The odd line below belongs to the coarse line before.
            let below = transfer.fine.neighbour(own, before).zip(grid.neighbour(line, before));
            let below = below.map(|(below, line)| at(below, Some(weights(&transfer, grid, line)[1])));
            dispatch::<W, V>(TransferSum::new([Some(at(own, None)), above, below], out));
        });
    }
}

compiled_fn! {
    /// `fine = q P coarse`, or added to `fine`.
    pub fn prolong[stencils W: Scalar, V: Vectors](
        threads: &Threads,
        transfer: TransferArrays<'_, W>,
        q: Option<&[V]>,
        coarse: &[V],
        fine: &mut [V],
        add: bool,
    ) {
        if !has_kernels::<W, V>() {
            return reference::stencil::prolong(transfer, q, coarse, fine, add);
        }
        let grid = transfer.fine.halved(transfer.axis);
        assert!(fine.len() == transfer.fine.cells() && coarse.len() == grid.cells());
        assert!(q.is_none_or(|q| q.len() == fine.len()));
        let bytes = 2 * size_of_val(fine);
        for_lines(threads, transfer.fine, bytes, fine, |line, out| {
            let q = q.map(|q| of_line(transfer.fine, q, line));
            if transfer.axis == 0 {
                let weights = weights(&transfer, grid, line);
                return prolong_along(of_line(grid, coarse, line), weights, (q, add), out);
            }
            let (parent, odd) = parent(transfer.fine, transfer.axis, line);
            let own = of_line(grid, coarse, parent);
            let [lower, upper] = weights(&transfer, grid, parent);
            let next = grid.neighbour(parent, along(transfer.axis, 1));
            let next = next.map(|line| Term::weighted(upper, of_line(grid, coarse, line)));
            let terms = match odd {
                true => [Some(Term::weighted(lower, own)), next, None],
                false => [Some(Term::new(own)), None, None],
            };
            let mut sum = TransferSum::new(terms, out);
            (sum.factors, sum.add) = (q, add);
            dispatch::<W, V>(sum);
        });
    }
}

/// A line along the axis of the restriction: even and odd cells are taken apart first.
pub(super) fn restrict_along<W: Scalar, V: Vectors>(
    fine: &[V],
    q: Option<&[V]>,
    [left, right]: [&[W]; 2],
    out: &mut [V],
) {
    let (mut evens, mut odds) = ([V::zero(); PIECE], [V::zero(); PIECE + 1]);
    let mut scaled = [V::zero(); 2 * PIECE];
    for (piece, out) in out.chunks_mut(PIECE).enumerate() {
        let (first, count) = (piece * PIECE, out.len());
        let cells = 2 * first..fine.len().min(2 * (first + count));
        let fine = match q {
            None => &fine[cells],
            Some(q) => {
                let scaled = &mut scaled[..cells.len()];
                let terms: [Option<Term<'_, W, V>>; 3] = [
                    Some(Term::scaled(&fine[cells.clone()], &q[cells])),
                    None,
                    None,
                ];
                dispatch::<W, V>(TransferSum::new(terms, scaled));
                &scaled[..]
            }
        };
        // The odd cell before the first one comes along.
        odds[0] = odds[PIECE];
        odds[count] = V::zero();
        deal(fine, &mut evens[..count], &mut odds[1..=count]);
        let odd = Term::weighted(&left[first..], &odds[1..]);
        let terms = [Some(Term::new(&evens)), Some(odd), None];
        dispatch::<W, V>(TransferSum::new(terms, out));
        // Weights from the other side belong to the coarse cell before.
        let skipped = usize::from(first == 0);
        let before = Term::weighted(&right[first + skipped - 1..], &odds[skipped..]);
        let mut sum = TransferSum::new([Some(before), None, None], &mut out[skipped..]);
        sum.add = true;
        dispatch::<W, V>(sum);
    }
}

/// A line along the axis of the prolongation: odd cells are made first, then put between the others.
pub(super) fn prolong_along<W: Scalar, V: Vectors>(
    coarse: &[V],
    [lower, upper]: [&[W]; 2],
    (factors, add): (Option<&[V]>, bool),
    out: &mut [V],
) {
    let mut odds = [V::zero(); PIECE];
    let mut both = [V::zero(); 2 * PIECE];
    for (piece, out) in out.chunks_mut(2 * PIECE).enumerate() {
        let first = piece * PIECE;
        let own = &coarse[first..first + out.len().div_ceil(2)];
        let odds = &mut odds[..own.len()];
        let own_share = Term::weighted(&lower[first..], own);
        dispatch::<W, V>(TransferSum::new([Some(own_share), None, None], odds));
        let next = &coarse[first + 1..];
        let known = own.len().min(next.len());
        let next_share = Term::weighted(&upper[first..], next);
        let mut sum = TransferSum::new([Some(next_share), None, None], &mut odds[..known]);
        sum.add = true;
        dispatch::<W, V>(sum);
        if factors.is_none() && !add {
            riffle(own, odds, out);
            continue;
        }
        riffle(own, odds, &mut both[..out.len()]);
        let mut sum = TransferSum::<W, V>::new([Some(Term::new(&both)), None, None], out);
        (sum.factors, sum.add) = (factors.map(|factors| &factors[2 * first..]), add);
        dispatch::<W, V>(sum);
    }
}

multiversion! {
    /// Even and odd members.
    pub fn deal[V: Real](from: &[V], evens: &mut [V], odds: &mut [V]) {
        let pairs = from.chunks_exact(2);
        if let [last] = pairs.remainder() {
            evens[from.len() / 2] = *last;
        }
        for ((pair, even), odd) in pairs.zip(evens).zip(odds) {
            (*even, *odd) = (pair[0], pair[1]);
        }
    }
}

multiversion! {
    /// The other way round.
    fn riffle[V: Real](evens: &[V], odds: &[V], to: &mut [V]) {
        let half = to.len() / 2;
        let mut pairs = to.chunks_exact_mut(2);
        for ((pair, even), odd) in pairs.by_ref().zip(evens).zip(odds) {
            (pair[0], pair[1]) = (*even, *odd);
        }
        if let [last] = pairs.into_remainder() {
            *last = evens[half];
        }
    }
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

pub(super) fn of_line<V>(grid: Grid, values: &[V], line: usize) -> &[V] {
    &values[range(grid, line)]
}

/// The weights of the odd cells above those of a coarse line.
pub(super) fn weights<'a, W>(
    transfer: &TransferArrays<'a, W>,
    coarse: Grid,
    line: usize,
) -> [&'a [W]; 2] {
    let nx = coarse.length();
    [0, 1].map(|side| &transfer.weights[(2 * line + side) * nx..][..nx])
}

/// A step along an axis.
fn along(axis: usize, step: i8) -> [i8; 3] {
    let mut offset = [0; 3];
    offset[axis] = step;
    offset
}

/// The fine line of a coarse one, for an axis across lines.
fn fine_line(fine: Grid, axis: usize, line: usize) -> usize {
    let [y, z] = fine.halved(axis).place(line);
    let mut at = [0, y, z];
    at[axis] *= 2;
    at[1] + fine.size()[1] * at[2]
}

/// The coarse line at or below a fine one, and whether it is below.
fn parent(fine: Grid, axis: usize, line: usize) -> (usize, bool) {
    let [y, z] = fine.place(line);
    let mut at = [0, y, z];
    let is_odd = at[axis] % 2 == 1;
    at[axis] /= 2;
    (at[1] + fine.halved(axis).size()[1] * at[2], is_odd)
}
