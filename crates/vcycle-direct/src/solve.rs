//! Solves with the factors of a matrix.

use std::ops::Range;

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place_with_conj as solve_lower,
    solve_unit_lower_triangular_in_place_with_conj as solve_unit_lower,
    solve_unit_upper_triangular_in_place_with_conj as solve_unit_upper,
    solve_upper_triangular_in_place_with_conj as solve_upper,
};
use faer::{Conj, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::dense::{part, subtract};
use crate::factors::Factors;
use crate::front::Block;
use crate::number::Number;
use crate::{Method, System};

/// One half of a solve: with `L` or with `U`, and how the factor is stored.
#[derive(Clone, Copy)]
struct Half {
    /// Whether the factor is `L`, or is made of it.
    is_lower: bool,
    /// Whether its diagonal is one.
    is_unit: bool,
    conjugate: Conj,
    /// Whether what is solved for is numbered as columns are.
    is_column: bool,
}

/// The rest of a front, its parent and what follows, and the rows of the parent that the rest belongs to.
type WithParent<'s, F> = (&'s mut [F], &'s mut [F], &'s [u32]);

/// The fronts' part of right-hand sides and solutions, row after row.
struct Scratch<'s, F> {
    values: &'s mut [F],
    /// Where the rows of the first of these fronts begin.
    first: usize,
    cols: usize,
}

impl<F: Number> Factors<F> {
    /// Numbers that a solve needs beside a right-hand side, for every column.
    pub fn scratch(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Replaces right-hand sides by solutions. Columns of a row lie side by side. `scratch` has so many numbers as
    /// [`scratch`](Self::scratch) says for every column.
    pub fn solve(
        &self,
        system: System,
        values: &mut [F],
        scratch: &mut [F],
        cols: usize,
        threads: usize,
    ) {
        let scratch = &mut scratch[..self.scratch() * cols];
        let [forward, backward] = self.halves(system);
        let rows = if forward.is_column {
            &self.symbolic.columns
        } else {
            &self.symbolic.rows
        };
        self.gather(forward, rows, values, scratch, cols);
        self.forward(forward, scratch, cols, threads);
        self.divide(system, scratch, cols);
        self.backward(backward, scratch, cols, threads);
        let rows = if backward.is_column {
            &self.symbolic.columns
        } else {
            &self.symbolic.rows
        };
        self.scatter(backward, rows, values, scratch, cols);
    }

    /// `A = L U`, `A^T = U^T L^T`, `A^H = U^H L^H`; of symmetric matrices `U` is `L^H` or `L^T`.
    fn halves(&self, system: System) -> [Half; 2] {
        let half = |is_lower, is_unit, conjugate, is_column| Half {
            is_lower,
            is_unit,
            conjugate,
            is_column,
        };
        let is_unit = self.method != Method::Cholesky;
        match (self.method, system) {
            (Method::Lu, System::Plain) => [
                half(true, true, Conj::No, false),
                half(false, false, Conj::No, true),
            ],
            (Method::Lu, System::Transposed) => [
                half(false, false, Conj::No, true),
                half(true, true, Conj::No, false),
            ],
            (Method::Lu, System::Adjoint) => [
                half(false, false, Conj::Yes, true),
                half(true, true, Conj::Yes, false),
            ],
            (method, system) => {
                // `A^T` of a Hermitian matrix is its conjugate, and so is `A^H` of a symmetric one.
                let is_changed = match method.is_hermitian() {
                    true => system == System::Transposed,
                    false => system == System::Adjoint,
                };
                let of = |changed: bool| if changed { Conj::Yes } else { Conj::No };
                [
                    half(true, is_unit, of(is_changed), false),
                    half(
                        true,
                        is_unit,
                        of(is_changed != method.is_hermitian()),
                        false,
                    ),
                ]
            }
        }
    }

    fn gather(&self, half: Half, rows: &[u32], values: &[F], scratch: &mut [F], cols: usize) {
        for (block, &start) in self.blocks.iter().zip(&self.starts) {
            let own = &mut scratch[start * cols..(start + block.pivots + block.rest) * cols];
            let (pivots, rest) = own.split_at_mut(block.pivots * cols);
            let places = block.places_of(half.is_column);
            for (to, &place) in pivots.chunks_exact_mut(cols).zip(places) {
                let row = rows[place as usize] as usize;
                to.copy_from_slice(&values[row * cols..(row + 1) * cols]);
            }
            rest.fill(F::ZERO);
        }
    }

    fn scatter(&self, half: Half, rows: &[u32], values: &mut [F], scratch: &[F], cols: usize) {
        for (block, &start) in self.blocks.iter().zip(&self.starts) {
            let own = &scratch[start * cols..(start + block.pivots) * cols];
            for (from, &place) in own.chunks_exact(cols).zip(block.places_of(half.is_column)) {
                let row = rows[place as usize] as usize;
                values[row * cols..(row + 1) * cols].copy_from_slice(from);
            }
        }
    }

    /// Subtrees on threads of their own, then the fronts above.
    fn forward(&self, half: Half, scratch: &mut [F], cols: usize, threads: usize) {
        let work = |(fronts, mut part): (Range<usize>, Scratch<'_, F>)| {
            for number in fronts.start..fronts.end {
                self.forward_front(half, number, &mut part, Par::Seq);
                if number + 1 < fronts.end {
                    self.add_to_parent(half, number, &mut part);
                }
            }
        };
        let tasks = self.split(scratch, cols);
        match threads {
            1 => tasks.into_iter().for_each(work),
            _ => tasks.into_par_iter().for_each(work),
        }
        let mut whole = Scratch {
            values: scratch,
            first: 0,
            cols,
        };
        for subtree in self
            .schedule
            .subtrees
            .iter()
            .filter(|fronts| !fronts.is_empty())
        {
            self.add_to_parent(half, subtree.end - 1, &mut whole);
        }
        let mut above: Vec<usize> = self.schedule.levels.iter().flatten().copied().collect();
        above.sort_unstable();
        for number in above {
            self.forward_front(half, number, &mut whole, Par::rayon(threads));
            self.add_to_parent(half, number, &mut whole);
        }
    }

    /// The fronts above, the last one first, then subtrees on threads of their own.
    fn backward(&self, half: Half, scratch: &mut [F], cols: usize, threads: usize) {
        let mut whole = Scratch {
            values: scratch,
            first: 0,
            cols,
        };
        let mut above: Vec<usize> = self.schedule.levels.iter().flatten().copied().collect();
        above.sort_unstable();
        for &number in above.iter().rev() {
            self.take_from_parent(half, number, &mut whole);
            self.backward_front(half, number, &mut whole, Par::rayon(threads));
        }
        for subtree in self
            .schedule
            .subtrees
            .iter()
            .filter(|fronts| !fronts.is_empty())
        {
            self.take_from_parent(half, subtree.end - 1, &mut whole);
        }
        let work = |(fronts, mut part): (Range<usize>, Scratch<'_, F>)| {
            for number in (fronts.start..fronts.end).rev() {
                if number + 1 < fronts.end {
                    self.take_from_parent(half, number, &mut part);
                }
                self.backward_front(half, number, &mut part, Par::Seq);
            }
        };
        let tasks = self.split(whole.values, cols);
        match threads {
            1 => tasks.into_iter().for_each(work),
            _ => tasks.into_par_iter().for_each(work),
        }
    }

    /// The scratch of every subtree.
    fn split<'s>(
        &self,
        mut scratch: &'s mut [F],
        cols: usize,
    ) -> Vec<(Range<usize>, Scratch<'s, F>)> {
        let mut at = 0;
        let mut parts = Vec::with_capacity(self.schedule.subtrees.len());
        for fronts in &self.schedule.subtrees {
            let (start, end) = (self.starts[fronts.start], self.starts[fronts.end]);
            let (_, after) = scratch.split_at_mut((start - at) * cols);
            let (values, after) = after.split_at_mut((end - start) * cols);
            (scratch, at) = (after, end);
            let part = Scratch {
                values,
                first: start,
                cols,
            };
            parts.push((fronts.clone(), part));
        }
        parts
    }

    fn own<'s>(&self, number: usize, scratch: &'s mut Scratch<'_, F>) -> &'s mut [F] {
        let (start, end) = (self.starts[number], self.starts[number + 1]);
        let (first, cols) = (scratch.first, scratch.cols);
        &mut scratch.values[(start - first) * cols..(end - first) * cols]
    }

    /// The rest of a front, and the rows of its parent that it belongs to, with these rows.
    fn with_parent<'s>(
        &'s self,
        half: Half,
        number: usize,
        scratch: &'s mut Scratch<'_, F>,
    ) -> Option<WithParent<'s, F>> {
        let block = &self.blocks[number];
        if block.rest == 0 {
            return None;
        }
        let parent = self.symbolic.fronts[number].parent as usize;
        let (first, cols) = (scratch.first, scratch.cols);
        let at = |row: usize| (row - first) * cols;
        let (before, after) = scratch.values.split_at_mut(at(self.starts[parent]));
        let rest = &mut before[at(self.starts[number] + block.pivots)..at(self.starts[number + 1])];
        Some((rest, after, block.targets_of(half.is_column)))
    }

    fn add_to_parent(&self, half: Half, number: usize, scratch: &mut Scratch<'_, F>) {
        let cols = scratch.cols;
        if let Some((rest, parent, targets)) = self.with_parent(half, number, scratch) {
            for (from, &row) in rest.chunks_exact(cols).zip(targets) {
                let to = &mut parent[row as usize * cols..(row as usize + 1) * cols];
                for (to, &from) in to.iter_mut().zip(from) {
                    *to += from;
                }
            }
        }
    }

    fn take_from_parent(&self, half: Half, number: usize, scratch: &mut Scratch<'_, F>) {
        let cols = scratch.cols;
        if let Some((rest, parent, targets)) = self.with_parent(half, number, scratch) {
            for (to, &row) in rest.chunks_exact_mut(cols).zip(targets) {
                to.copy_from_slice(&parent[row as usize * cols..(row as usize + 1) * cols]);
            }
        }
    }

    fn forward_front(
        &self,
        half: Half,
        number: usize,
        scratch: &mut Scratch<'_, F>,
        parallel: Par,
    ) {
        let (block, cols) = (&self.blocks[number], scratch.cols);
        let own = self.own(number, scratch);
        let (pivots, rest) = own.split_at_mut(block.pivots * cols);
        let mut y = MatMut::from_row_major_slice_mut(pivots, block.pivots, cols);
        let rest = MatMut::from_row_major_slice_mut(rest, block.rest, cols);
        let triangle = block.triangle();
        match half.is_lower {
            true if half.is_unit => {
                solve_unit_lower(triangle, half.conjugate, y.as_mut(), parallel)
            }
            true => solve_lower(triangle, half.conjugate, y.as_mut(), parallel),
            false => solve_lower(triangle.transpose(), half.conjugate, y.as_mut(), parallel),
        }
        product(
            rest,
            block.beside(half.is_lower),
            half.conjugate,
            y.as_ref(),
            parallel,
        );
    }

    fn backward_front(
        &self,
        half: Half,
        number: usize,
        scratch: &mut Scratch<'_, F>,
        parallel: Par,
    ) {
        let (block, cols) = (&self.blocks[number], scratch.cols);
        let own = self.own(number, scratch);
        let (pivots, rest) = own.split_at_mut(block.pivots * cols);
        let mut x = MatMut::from_row_major_slice_mut(pivots, block.pivots, cols);
        let rest = MatRef::from_row_major_slice(rest, block.rest, cols);
        let triangle = block.triangle();
        let beside = block.beside(half.is_lower).transpose();
        product(x.as_mut(), beside, half.conjugate, rest, parallel);
        match half.is_lower {
            true if half.is_unit => {
                solve_unit_upper(triangle.transpose(), half.conjugate, x, parallel);
            }
            true => solve_upper(triangle.transpose(), half.conjugate, x, parallel),
            false => solve_upper(triangle, half.conjugate, x, parallel),
        }
    }

    /// Divides by `D`.
    fn divide(&self, system: System, scratch: &mut [F], cols: usize) {
        let Method::Ldl { hermitian } = self.method else {
            return;
        };
        let is_changed = match hermitian {
            true => system == System::Transposed,
            false => system == System::Adjoint,
        };
        for (block, &start) in self.blocks.iter().zip(&self.starts) {
            let own = &mut scratch[start * cols..(start + block.pivots) * cols];
            block.diagonal.divide(own, cols, hermitian, is_changed);
        }
    }
}

/// `y -= A x`, where `A` is conjugated or not.
fn product<F: Number>(
    y: MatMut<'_, F>,
    a: MatRef<'_, F>,
    conjugate: Conj,
    x: MatRef<'_, F>,
    parallel: Par,
) {
    match conjugate {
        Conj::No => subtract(y, a, x, Conj::No, parallel),
        // `y^T -= x^T A^H`, whose second factor may be conjugated.
        Conj::Yes => subtract(
            y.transpose_mut(),
            x.transpose(),
            a.transpose(),
            conjugate,
            parallel,
        ),
    }
}

impl<F: Number> Block<F> {
    /// The pivots' rows and columns.
    fn triangle(&self) -> MatRef<'_, F> {
        part(
            &self.lower,
            self.pivots + self.rest,
            self.pivots,
            self.pivots,
        )
    }

    /// `L` below the pivots, or the transpose of `U` right of them.
    fn beside(&self, is_lower: bool) -> MatRef<'_, F> {
        match is_lower {
            true => {
                let below = &self.lower[self.pivots.min(self.lower.len())..];
                part(below, self.pivots + self.rest, self.rest, self.pivots)
            }
            false => part(&self.upper, self.rest, self.rest, self.pivots),
        }
    }
}
