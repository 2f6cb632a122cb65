//! Restriction of residuals and prolongation of corrections, plane by plane, so that intermediate results stay in the
//! cache.

use std::ops::Range;

use super::transfer::{of_line, prolong_along, restrict_along, weights};
use super::transfer_sum::{Term, TransferSum};
use super::{Residual, Vectors, dispatch};
use crate::compiled_fn;
use crate::cpu::{Shared, Threads};
use crate::grid::Grid;
use crate::reference::stencil::TransferArrays;
use crate::scalar::Scalar;

/// Coarse planes that one task does.
const PLANES: usize = 8;

/// The transfers of a level, those along z, y and x in this order where there are such; weights are those of
/// all unknowns, unknown by unknown.
#[derive(Clone, Copy)]
pub struct Axes<'a, W> {
    fine: Grid,
    coarse: Grid,
    /// By axis.
    steps: [Option<TransferArrays<'a, W>>; 3],
}

impl<'a, W: Scalar> Axes<'a, W> {
    /// The transfers from a fine grid on, each from the grid that the one before it leads to.
    ///
    /// # Panics
    /// When they are not in the order z, y, x.
    pub fn new(fine: Grid, transfers: impl Iterator<Item = TransferArrays<'a, W>>) -> Self {
        let (mut coarse, mut steps) = (fine, [None; 3]);
        for transfer in transfers {
            assert!(transfer.fine == coarse, "z comes first, then y, then x");
            coarse = coarse.halved(transfer.axis);
            steps[transfer.axis] = Some(transfer);
        }
        Self {
            fine,
            coarse,
            steps,
        }
    }

    /// Numbers of scratch that transfers of so many unknowns need.
    pub fn scratch(&self, unknowns: usize) -> usize {
        self.tasks() * self.share(unknowns)
    }

    fn tasks(&self) -> usize {
        self.coarse.size()[2].div_ceil(PLANES)
    }

    fn planes(&self, task: usize) -> Range<usize> {
        task * PLANES..((task + 1) * PLANES).min(self.coarse.size()[2])
    }

    /// Three planes of all unknowns and a line.
    fn share(&self, unknowns: usize) -> usize {
        3 * unknowns * self.plane() + self.fine.length()
    }

    /// Cells of a fine plane.
    fn plane(&self) -> usize {
        self.fine.length() * self.fine.size()[1]
    }

    /// The cells of a plane of the coarse grid.
    fn coarse_plane(&self, unknown: usize, plane: usize) -> Range<usize> {
        let cells = self.coarse.length() * self.coarse.size()[1];
        let first = unknown * self.coarse.cells() + plane * cells;
        first..first + cells
    }

    /// The two weights along an axis for an unknown, on a line of the grid that has been halved along it.
    fn weights(&self, axis: usize, unknown: usize, line: usize) -> Option<[&'a [W]; 2]> {
        let step = self.steps[axis]?;
        let halved = step.fine.halved(axis);
        let share = 2 * halved.cells();
        let own = TransferArrays {
            weights: &step.weights[unknown * share..][..share],
            ..step
        };
        Some(weights(&own, halved, line))
    }

    /// The fine planes that a coarse one and the one above it have between them, and whether there is another
    /// below that one.
    fn fine_planes(&self, plane: usize) -> (usize, Option<usize>) {
        match self.steps[2] {
            None => (plane, None),
            Some(_) => {
                let odd = 2 * plane + 1;
                (2 * plane, (odd < self.fine.size()[2]).then_some(odd))
            }
        }
    }

    /// Restricts a fine plane along y and x.
    fn restrict_plane<V: Vectors>(
        &self,
        (unknown, plane): (usize, usize),
        fine: &[V],
        between: &mut [V],
        out: &mut [V],
    ) {
        let ([nx, ny, _], coarse_ny) = (self.fine.size(), self.coarse.size()[1]);
        let fine_line = |y: usize| &fine[y * nx..(y + 1) * nx];
        for (y, out) in out.chunks_mut(self.coarse.length()).enumerate() {
            let line = plane * coarse_ny + y;
            let along_y = self.weights(1, unknown, line);
            let line_of_fine = match along_y {
                None => fine_line(y),
                Some([lower, _]) => {
                    let above =
                        (2 * y + 1 < ny).then(|| Term::weighted(lower, fine_line(2 * y + 1)));
                    let below = (y > 0).then(|| {
                        let upper = self.weights(1, unknown, line - 1).expect("y is halved")[1];
                        Term::weighted(upper, fine_line(2 * y - 1))
                    });
                    let terms = [Some(Term::new(fine_line(2 * y))), above, below];
                    dispatch::<W, V>(TransferSum::new(terms, between));
                    &*between
                }
            };
            match self.weights(0, unknown, line) {
                None => out.copy_from_slice(line_of_fine),
                Some(weights) => restrict_along(line_of_fine, None, weights, out),
            }
        }
    }

    /// Prolongs a coarse plane along x and y.
    fn prolong_plane<V: Vectors>(
        &self,
        (unknown, plane): (usize, usize),
        coarse: &[V],
        out: &mut [V],
    ) {
        let ([nx, ny, _], coarse_ny) = (self.fine.size(), self.coarse.size()[1]);
        let coarse = &coarse[self.coarse_plane(unknown, plane)];
        let step = if self.steps[1].is_some() { 2 } else { 1 };
        for (y, coarse) in coarse.chunks(self.coarse.length()).enumerate() {
            let out = &mut out[step * y * nx..][..nx];
            match self.weights(0, unknown, plane * coarse_ny + y) {
                None => out.copy_from_slice(coarse),
                Some(weights) => prolong_along(coarse, weights, (None, false), out),
            }
        }
        for odd in (1..ny).step_by(2).filter(|_| step == 2) {
            let line = plane * coarse_ny + odd / 2;
            let [lower, upper] = self.weights(1, unknown, line).expect("y is halved");
            let (below, rest) = out.split_at_mut(odd * nx);
            let (out, above) = rest.split_at_mut(nx);
            let above = (odd + 1 < ny).then(|| Term::weighted(upper, &above[..nx]));
            let terms = [
                Some(Term::weighted(lower, &below[(odd - 1) * nx..])),
                above,
                None,
            ];
            dispatch::<W, V>(TransferSum::new(terms, out));
        }
    }
}

compiled_fn! {
    /// `coarse = P^T q (b - A x)`.
    pub fn restrict_residual[stencils M: Scalar, V: Vectors](
        threads: &Threads,
        residual: Residual<'_, M, V>,
        axes: Axes<'_, M>,
        coarse: &mut [V],
        scratch: &mut [V],
    ) {
        let r = residual.a.unknowns;
        let rows = r * axes.fine.cells();
        assert!(residual.b.len() == rows && residual.x.len() == rows && axes.fine == residual.a.grid);
        assert!(coarse.len() == r * axes.coarse.cells() && scratch.len() >= axes.scratch(r));
        assert!(residual.q.is_none_or(|q| q.len() == rows));
        let (share, plane) = (axes.share(r), axes.plane());
        let (coarse, scratch) = (Shared(coarse.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
        threads.for_each(axes.tasks(), size_of_val(residual.a.values), &|task| {
            // SAFETY: every task has its share.
            let scratch = unsafe { scratch.slice(task * share..(task + 1) * share) };
            let (mut below, rest) = scratch.split_at_mut(r * plane);
            let (own, rest) = rest.split_at_mut(r * plane);
            let (mut above, between) = rest.split_at_mut(r * plane);
            let planes = axes.planes(task);
            let (first, _) = axes.fine_planes(planes.start);
            if first > 0 && axes.steps[2].is_some() {
                residual.plane(first - 1, below);
            }
            for coarse_plane in planes {
                let (even, odd) = axes.fine_planes(coarse_plane);
                residual.plane(even, own);
                if let Some(odd) = odd {
                    residual.plane(odd, above);
                }
                for unknown in 0..r {
                    let part = unknown * plane..(unknown + 1) * plane;
                    let (own, at) = (&mut own[part.clone()], (unknown, coarse_plane));
                    let sides = [&below[part.clone()], &above[part]];
                    add_planes(&axes, at, [even > 0, odd.is_some()], sides, own);
                    let cells = axes.coarse_plane(unknown, coarse_plane);
                    // SAFETY: every coarse plane is done by one task.
                    axes.restrict_plane(at, own, between, unsafe { coarse.slice(cells) });
                }
                std::mem::swap(&mut below, &mut above);
            }
        });
    }
}

/// Adds the shares of the planes below and above, where there are such, to an even one.
fn add_planes<W: Scalar, V: Vectors>(
    axes: &Axes<'_, W>,
    (unknown, plane): (usize, usize),
    there: [bool; 2],
    [below, above]: [&[V]; 2],
    own: &mut [V],
) {
    if axes.steps[2].is_none() {
        return;
    }
    let ny = axes.fine.size()[1];
    for (y, own) in own.chunks_mut(axes.fine.length()).enumerate() {
        let weights = |plane: usize, side: usize| {
            axes.weights(2, unknown, plane * ny + y)
                .expect("z is halved")[side]
        };
        let of = |values| of_line(axes.fine, values, y);
        let below = there[0].then(|| Term::weighted(weights(plane - 1, 1), of(below)));
        let above = there[1].then(|| Term::weighted(weights(plane, 0), of(above)));
        let mut sum = TransferSum::new([above, below, None], own);
        sum.add = true;
        dispatch::<W, V>(sum);
    }
}

compiled_fn! {
    /// `fine += q P coarse`, `q` one number a row or ones.
    pub fn add_prolonged[stencils W: Scalar, V: Vectors](
        threads: &Threads,
        correction: Correction<'_, W, V>,
        fine: &mut [V],
        scratch: &mut [V],
    ) {
        let (planes, length) = (correction.axes.fine.size()[2], correction.scratch());
        assert!(fine.len() == correction.rows() && scratch.len() >= correction.axes.tasks() * length);
        let bytes = 2 * size_of_val(fine);
        let (fine, scratch) = (Shared(fine.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
        let per_task = planes.div_ceil(correction.axes.tasks()).next_multiple_of(2);
        threads.for_each(planes.div_ceil(per_task), bytes, &|task| {
            // SAFETY: every task has its share.
            let scratch = unsafe { scratch.slice(task * length..(task + 1) * length) };
            let mut prolonged = Prolonged::new(correction, scratch);
            for plane in task * per_task..((task + 1) * per_task).min(planes) {
                // SAFETY: every plane is done by one task.
                unsafe { prolonged.add(plane, fine.pointer()) };
            }
        });
    }
}

/// What a coarse grid adds to a fine one: `q P coarse`, `q` one number a row or ones.
#[derive(Clone, Copy)]
pub struct Correction<'a, W, V> {
    axes: Axes<'a, W>,
    q: Option<&'a [V]>,
    coarse: &'a [V],
}

impl<'a, W: Scalar, V: Vectors> Correction<'a, W, V> {
    /// The correction by `coarse`, whose length is a multiple of the cells of the coarse grid; `q` has one number
    /// for every number of the fine grid.
    ///
    /// # Panics
    /// For other lengths.
    pub fn new(axes: Axes<'a, W>, q: Option<&'a [V]>, coarse: &'a [V]) -> Self {
        let correction = Self { axes, q, coarse };
        assert!(coarse.len() == correction.unknowns() * axes.coarse.cells());
        assert!(q.is_none_or(|q| q.len() == correction.rows()));
        correction
    }

    fn unknowns(&self) -> usize {
        self.coarse.len() / self.axes.coarse.cells()
    }

    /// Numbers on the fine grid.
    fn rows(&self) -> usize {
        self.unknowns() * self.axes.fine.cells()
    }

    /// Numbers of scratch that a task needs: two planes.
    fn scratch(&self) -> usize {
        2 * self.unknowns() * self.axes.plane()
    }
}

/// A correction on its way to the fine grid, and two planes of the coarse grid prolonged along x and y: those
/// that are needed for one fine plane are so for the next, too.
struct Prolonged<'a, W, V> {
    correction: Correction<'a, W, V>,
    /// Coarse planes by parity, and which they are.
    planes: [&'a mut [V]; 2],
    held: [Option<usize>; 2],
}

impl<'a, W: Scalar, V: Vectors> Prolonged<'a, W, V> {
    fn new(correction: Correction<'a, W, V>, scratch: &'a mut [V]) -> Self {
        let (even, odd) = scratch.split_at_mut(correction.scratch() / 2);
        Self {
            correction,
            planes: [even, odd],
            held: [None; 2],
        }
    }

    fn hold(&mut self, plane: usize) {
        if self.held[plane % 2] == Some(plane) {
            return;
        }
        let Correction { axes, coarse, .. } = self.correction;
        let unknowns = self.planes[plane % 2].chunks_mut(axes.plane());
        for (unknown, out) in unknowns.enumerate() {
            axes.prolong_plane((unknown, plane), coarse, out);
        }
        self.held[plane % 2] = Some(plane);
    }

    /// Corrects a plane of the numbers of the fine grid.
    ///
    /// # Safety
    /// `fine` points to all of them, and nobody else has those of the plane.
    unsafe fn add(&mut self, fine_plane: usize, fine: *mut V) {
        let Correction { axes, q, .. } = self.correction;
        let (own, odd) = match axes.steps[2] {
            None => (fine_plane, false),
            Some(_) => (fine_plane / 2, fine_plane % 2 == 1),
        };
        let next = Some(own + 1).filter(|&next| odd && next < axes.coarse.size()[2]);
        [Some(own), next]
            .into_iter()
            .flatten()
            .for_each(|plane| self.hold(plane));
        let plane = axes.plane();
        for unknown in 0..self.correction.unknowns() {
            let first = (unknown * axes.fine.size()[2] + fine_plane) * plane;
            let out = std::slice::from_raw_parts_mut(fine.add(first), plane);
            let factors = q.map(|q| &q[first..first + plane]);
            let of = |coarse: usize| &self.planes[coarse % 2][unknown * plane..][..plane];
            match odd {
                false => add_plane::<W, V>(of(own), factors, out),
                true => {
                    let planes = [Some(of(own)), next.map(of)];
                    add_between(&axes, (unknown, own), planes, factors, out);
                }
            }
        }
    }
}

/// `out += factors plane`.
fn add_plane<W: Scalar, V: Vectors>(plane: &[V], factors: Option<&[V]>, out: &mut [V]) {
    let mut sum = TransferSum::<W, V>::new([Some(Term::new(plane)), None, None], out);
    (sum.factors, sum.add) = (factors, true);
    dispatch::<W, V>(sum);
}

/// Adds the shares of the planes below and above to one between them.
fn add_between<W: Scalar, V: Vectors>(
    axes: &Axes<'_, W>,
    (unknown, plane): (usize, usize),
    planes: [Option<&[V]>; 2],
    factors: Option<&[V]>,
    out: &mut [V],
) {
    let (ny, grid) = (axes.fine.size()[1], axes.fine);
    for (y, out) in out.chunks_mut(grid.length()).enumerate() {
        let weights = axes
            .weights(2, unknown, plane * ny + y)
            .expect("z is halved");
        let term = |side: usize| {
            planes[side].map(|plane| Term::weighted(weights[side], of_line(grid, plane, y)))
        };
        let mut sum = TransferSum::new([term(0), term(1), None], out);
        (sum.factors, sum.add) = (factors.map(|factors| of_line(grid, factors, y)), true);
        dispatch::<W, V>(sum);
    }
}
