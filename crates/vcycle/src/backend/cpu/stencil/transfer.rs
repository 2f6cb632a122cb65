//! Restriction and prolongation along one axis.

use std::ops::Range;

use super::{Kernel, Vectors, dispatch, store};
use crate::backend::cpu::simd::Simd;
use crate::backend::cpu::{Shared, Threads};
use crate::backend::reference::stencil::TransferArrays;
use crate::scalar::Scalar;
use crate::structured::Grid;

/// Cells that one task does, at least; tasks are whole lines.
const CELLS: usize = 8 * 1024;
/// Cells of a line along the axis of a transfer that are done at a time.
const PIECE: usize = 256;

/// `coarse = P^T (q fine)`, `q` one number a fine cell or ones.
pub(crate) fn restrict<W: Scalar, V: Vectors>(
    threads: &Threads,
    transfer: TransferArrays<'_, W>,
    q: Option<&[V]>,
    fine: &[V],
    coarse: &mut [V],
) {
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
            return restrict_along(at(line, None), weights(&transfer, grid, line), out);
        }
        let (own, below, above) = around(transfer.fine, transfer.axis, line);
        let mut sum = Sum::new(at(own, None), out);
        sum.terms[1] = above.map(|above| at(above, Some(weights(&transfer, grid, line)[0])));
        sum.terms[2] = below.map(|below| {
            let coarse_below = line - step(grid, transfer.axis);
            at(below, Some(weights(&transfer, grid, coarse_below)[1]))
        });
        dispatch::<W, V>(sum);
    });
}

/// `fine = q P coarse`, or added to `fine`.
pub(crate) fn prolong<W: Scalar, V: Vectors>(
    threads: &Threads,
    transfer: TransferArrays<'_, W>,
    q: Option<&[V]>,
    coarse: &[V],
    fine: &mut [V],
    add: bool,
) {
    let grid = transfer.fine.halved(transfer.axis);
    assert!(fine.len() == transfer.fine.cells() && coarse.len() == grid.cells());
    assert!(q.is_none_or(|q| q.len() == fine.len()));
    let bytes = 2 * size_of_val(fine);
    for_lines(threads, transfer.fine, bytes, fine, |line, out| {
        let q = q.map(|q| of_line(transfer.fine, q, line));
        if transfer.axis == 0 {
            let weights = weights(&transfer, grid, line);
            return prolong_along(of_line(grid, coarse, line), weights, q, add, out);
        }
        let (parent, odd) = parent(transfer.fine, transfer.axis, line);
        let [lower, upper] = weights(&transfer, grid, parent).map(|weights| odd.then_some(weights));
        let mut sum = Sum::new(Term::new(lower, of_line(grid, coarse, parent)), out);
        let next = above(grid, transfer.axis, parent).filter(|_| odd);
        sum.terms[1] = next.map(|line| Term::new(upper, of_line(grid, coarse, line)));
        (sum.factors, sum.add) = (q, add);
        dispatch::<W, V>(sum);
    });
}

/// Numbers of a line, to be multiplied by weights and by others.
#[derive(Clone, Copy)]
struct Term<'a, W, V> {
    weights: Option<&'a [W]>,
    values: &'a [V],
    q: Option<&'a [V]>,
}

impl<'a, W, V> Term<'a, W, V> {
    fn new(weights: Option<&'a [W]>, values: &'a [V]) -> Self {
        Self {
            weights,
            values,
            q: None,
        }
    }

    fn part(self, range: Range<usize>) -> Self {
        Self {
            weights: self.weights.map(|weights| &weights[range.clone()]),
            values: &self.values[range.clone()],
            q: self.q.map(|q| &q[range]),
        }
    }
}

/// `out (+)= factors (terms added up)`; all are at least as long as `out`.
struct Sum<'a, W, V> {
    terms: [Option<Term<'a, W, V>>; 3],
    factors: Option<&'a [V]>,
    add: bool,
    out: &'a mut [V],
}

impl<'a, W, V> Sum<'a, W, V> {
    fn new(first: Term<'a, W, V>, out: &'a mut [V]) -> Self {
        Self {
            terms: [Some(first), None, None],
            factors: None,
            add: false,
            out,
        }
    }
}

impl<W: Scalar, V: Vectors> Kernel<V> for Sum<'_, W, V> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(self) {
        let (length, out) = (self.out.len(), self.out.as_mut_ptr());
        for term in self.terms.iter().flatten() {
            let enough = |count: usize| assert!(count >= length);
            enough(term.values.len());
            enough(term.weights.map_or(length, <[W]>::len));
            enough(term.q.map_or(length, <[V]>::len));
        }
        assert!(self.factors.is_none_or(|factors| factors.len() >= length));
        let mut at = 0;
        while at < length {
            let count = S::LANES.min(length - at);
            // SAFETY: the caller's; all slices are long enough.
            unsafe {
                match count == S::LANES {
                    true => self.cells::<S>(out, at, S::LANES),
                    false => self.cells::<S>(out, at, count),
                }
            }
            at += count;
        }
    }
}

impl<W: Scalar, V: Vectors> Sum<'_, W, V> {
    /// # Safety
    /// As for [`Simd`]; `count` numbers from `at` on are in all slices, and in `out`.
    #[inline(always)]
    unsafe fn cells<S: Simd<Real = V>>(&self, out: *mut V, at: usize, count: usize) {
        // SAFETY: the caller's.
        unsafe {
            let load = |from: &[V]| S::load(from.as_ptr().add(at), count);
            let times = |by: Option<&[V]>, a| match by {
                None => a,
                Some(by) => S::multiply_add(load(by), a, S::zero()),
            };
            let mut sum = S::zero();
            for term in self.terms.iter().flatten() {
                let value = times(term.q, load(term.values));
                sum = match term.weights {
                    None => S::add(sum, value),
                    Some(weights) => {
                        S::multiply_add(S::load(weights.as_ptr().add(at), count), value, sum)
                    }
                };
            }
            sum = times(self.factors, sum);
            if self.add {
                sum = S::add(S::load(out.add(at).cast_const(), count), sum);
            }
            store::<S>(sum, out.add(at), count);
        }
    }
}

/// A line along the axis of the restriction: even and odd cells are taken apart first.
fn restrict_along<W: Scalar, V: Vectors>(
    fine: Term<'_, W, V>,
    [left, right]: [&[W]; 2],
    out: &mut [V],
) {
    let mut pieces = [[V::zero(); PIECE + 1]; 2];
    let at = |cell: usize| match (fine.values.get(cell), fine.q) {
        (None, _) => V::zero(),
        (Some(&value), None) => value,
        (Some(&value), Some(q)) => q[cell] * value,
    };
    for (piece, out) in out.chunks_mut(PIECE).enumerate() {
        let (first, [evens, odds]) = (piece * PIECE, &mut pieces);
        // The odd cell before the first one comes along.
        odds[0] = if first == 0 { V::zero() } else { odds[PIECE] };
        for cell in 0..out.len() {
            evens[cell] = at(2 * (first + cell));
            odds[cell + 1] = at(2 * (first + cell) + 1);
        }
        let range = first..first + out.len();
        let mut sum = Sum::new(Term::new(None, &evens[..out.len()]), out);
        sum.terms[1] = Some(Term::new(Some(&left[range.clone()]), &odds[1..]));
        dispatch::<W, V>(sum);
        // Weights from the other side belong to the coarse cell before.
        let skipped = usize::from(first == 0);
        let before = Term::new(Some(&right[range.start + skipped - 1..]), &odds[skipped..]);
        let mut sum = Sum::new(before.part(0..out.len() - skipped), &mut out[skipped..]);
        sum.add = true;
        dispatch::<W, V>(sum);
    }
}

/// A line along the axis of the prolongation: odd cells are made first, then put between the others.
fn prolong_along<W: Scalar, V: Vectors>(
    coarse: &[V],
    [lower, upper]: [&[W]; 2],
    q: Option<&[V]>,
    add: bool,
    out: &mut [V],
) {
    let mut odds = [V::zero(); PIECE];
    for (piece, out) in out.chunks_mut(2 * PIECE).enumerate() {
        let first = piece * PIECE;
        let own = &coarse[first..first + out.len().div_ceil(2)];
        let odds = &mut odds[..own.len()];
        dispatch::<W, V>(Sum::new(Term::new(Some(&lower[first..]), own), odds));
        let next = &coarse[first + 1..];
        let known = own.len().min(next.len());
        let mut sum = Sum::new(Term::new(Some(&upper[first..]), next), &mut odds[..known]);
        sum.add = true;
        dispatch::<W, V>(sum);
        for (cell, out) in out.iter_mut().enumerate() {
            let value = if cell % 2 == 0 {
                own[cell / 2]
            } else {
                odds[cell / 2]
            };
            let value = q.map_or(value, |q| q[2 * first + cell] * value);
            *out = if add { *out + value } else { value };
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
