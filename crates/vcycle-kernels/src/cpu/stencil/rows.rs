//! Products for solvers, in whose vectors the unknowns of a cell lie side by side.

use std::ops::Range;

use super::product::Line;
use super::{Part, Streams, Vectors, dispatch};
use crate::compiled_fn;
use crate::cpu::vector::dot_column;
use crate::cpu::{Shared, Threads, stream};
use crate::fields::{interleave, separate};
use crate::grid::Grid;
use crate::reference::stencil::{Form, StencilArrays};
use crate::scalar::Scalar;

/// Planes that one task does, and cells, at least.
const PLANES: usize = 8;
const CELLS: usize = 8 * 1024;

/// How a grid is cut into slabs of whole planes.
#[derive(Clone, Copy)]
struct Cut {
    grid: Grid,
    unknowns: usize,
    /// Cells of a plane.
    plane: usize,
    per_task: usize,
}

impl Cut {
    fn new(grid: Grid, unknowns: usize) -> Self {
        let plane = grid.lines_per_plane() * grid.length();
        Self {
            grid,
            unknowns,
            plane,
            per_task: PLANES.max(CELLS / plane),
        }
    }

    fn planes(self) -> usize {
        self.grid.cells() / self.plane
    }

    fn tasks(self) -> usize {
        self.planes().div_ceil(self.per_task)
    }

    /// Numbers of scratch for a task: a line in both orders, and the planes it looks at unknown by unknown.
    fn share(self) -> usize {
        let planes = if self.unknowns == 1 {
            0
        } else {
            self.per_task + 2
        };
        self.unknowns * (2 * self.grid.length() + planes * self.plane)
    }

    /// Some planes as a grid of their own.
    fn slab(self, planes: usize) -> Grid {
        let [nx, ny, nz] = self.grid.size();
        let size = if nz > 1 {
            [nx, ny, planes]
        } else {
            [nx, planes, 1]
        };
        Grid::new(size).expect("a part of a grid is one")
    }
}

/// Numbers of scratch that [`product_of_rows`] needs.
pub fn rows_scratch(grid: Grid, unknowns: usize) -> usize {
    let cut = Cut::new(grid, unknowns);
    cut.tasks() * cut.share()
}

compiled_fn! {
    /// `y = A x`; returns `<x, y>` if that is wanted, else zero.
    pub fn product_of_rows[stencils M: Scalar, V: Vectors](
        threads: &Threads,
        a: StencilArrays<'_, M>,
        wants_dot: bool,
        x: &[V],
        y: &mut [V],
        scratch: &mut [V],
    ) -> V {
        let cut = Cut::new(a.grid, a.unknowns);
        assert!(Some(x.len()) == a.grid.cells().checked_mul(a.unknowns) && y.len() == x.len());
        assert!(scratch.len() >= rows_scratch(a.grid, a.unknowns));
        let (bytes, of_y, share) = (size_of_val(a.values), size_of_val(y), cut.share());
        let mut dots = vec![V::zero(); cut.tasks()];
        let (y, scratch) = (Shared(y.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
        let each = Shared(dots.as_mut_ptr());
        threads.for_each(cut.tasks(), bytes, &|task| {
            let first = task * cut.per_task;
            let planes = first..(first + cut.per_task).min(cut.planes());
            let rows = cut.plane * cut.unknowns;
            // SAFETY: every task has its planes and its share.
            let (y, scratch, dot) = unsafe {
                (
                    y.slice(planes.start * rows..planes.end * rows),
                    scratch.slice(task * share..(task + 1) * share),
                    each.slice(task..task + 1),
                )
            };
            dot[0] = slab(cut, a, (planes, wants_dot), x, (y, of_y), scratch);
        });
        dots.into_iter().fold(V::zero(), |sum, dot| sum + dot)
    }
}

/// The product in some planes, whose rows are `y`, part of a vector of so many bytes.
fn slab<M: Scalar, V: Vectors>(
    cut: Cut,
    a: StencilArrays<'_, M>,
    (own, wants_dot): (Range<usize>, bool),
    x: &[V],
    (y, bytes): (&mut [V], usize),
    scratch: &mut [V],
) -> V {
    let (r, length) = (cut.unknowns, cut.grid.length());
    let wide = own.start.saturating_sub(1)..(own.end + 1).min(cut.planes());
    let cells = wide.start * cut.plane..wide.end * cut.plane;
    let entries = a.offsets.len() * r * r;
    let a = StencilArrays {
        grid: cut.slab(wide.len()),
        values: &a.values[cells.start * entries..cells.end * entries],
        ..a
    };
    let (line_of_fields, rest) = scratch.split_at_mut(r * length);
    let (line_of_rows, fields) = rest.split_at_mut(r * length);
    let rows = &x[cells.start * r..cells.end * r];
    let fields = match r {
        1 => rows,
        _ => {
            let fields = &mut fields[..rows.len()];
            separate(r, rows, fields);
            &*fields
        }
    };
    let mut streams = Streams::new(a, Part::All);
    let (mut dot, skipped) = (V::zero(), (own.start - wide.start) * cut.plane / length);
    for (number, y) in y.chunks_exact_mut(r * length).enumerate() {
        let line = skipped + number;
        for (unknown, out) in line_of_fields.chunks_exact_mut(length).enumerate() {
            dispatch::<M, V>(Line {
                streams: &mut streams,
                line,
                unknown,
                form: Form::Product,
                x: fields.as_ptr(),
                y: &mut *out,
            });
            if wants_dot {
                let here = &fields[unknown * a.grid.cells() + line * length..][..length];
                dot += dot_column(here, out);
            }
        }
        match r {
            1 => stream::copy(line_of_fields, y, bytes),
            _ => {
                interleave(r, line_of_fields, line_of_rows);
                stream::copy(line_of_rows, y, bytes);
            }
        }
    }
    stream::finish();
    dot
}
