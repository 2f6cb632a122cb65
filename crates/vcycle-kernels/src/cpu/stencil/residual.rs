//! Residuals of a plane.

use super::own::{OwnLine, OwnTask, Sides};
use super::product::Line;
use super::{Part, Streams, Vectors, dispatch, multiply};
use crate::reference::stencil::{Form, Order, StencilArrays};
use crate::scalar::Scalar;

/// A residual `q (b - A x)`, `q` one number a row or ones.
#[derive(Clone, Copy)]
pub struct Residual<'a, M, V> {
    /// The matrix.
    pub a: StencilArrays<'a, M>,
    /// The right-hand side, one number a row.
    pub b: &'a [V],
    /// The solution so far, one number a row.
    pub x: &'a [V],
    /// What residuals are multiplied by, one number a row; ones where there is none.
    pub q: Option<&'a [V]>,
    /// The order of the sweep from zero that made `x`. It has solved every row with what was known then: what
    /// is left are entries with cells that changed later.
    pub swept: Option<Order>,
}

impl<M: Scalar, V: Vectors> Residual<'_, M, V> {
    /// The residuals of a plane, unknown by unknown.
    pub(super) fn plane(&self, plane: usize, out: &mut [V]) {
        let lines = self.a.grid.lines_per_plane();
        let part = self.swept.map_or(Part::All, Part::Later);
        let mut streams = [0, 1].map(|_| Streams::new(self.a, part));
        let sides = Sides::of(&self.a);
        for line in 0..lines {
            self.line((&mut streams[line % 2], sides), [plane, line], out);
        }
    }

    fn line(
        &self,
        (streams, sides): (&mut Streams<'_, M>, Sides),
        [plane, line]: [usize; 2],
        out: &mut [V],
    ) {
        let (grid, lines) = (self.a.grid, self.a.grid.lines_per_plane());
        let (length, line_of_grid) = (grid.length(), plane * lines + line);
        let form = match self.swept {
            None => Form::Residual { b: self.b },
            Some(_) => Form::Advanced {
                alpha: V::zero() - V::one(),
                beta: V::zero(),
            },
        };
        for unknown in 0..self.a.unknowns {
            let first = (unknown * lines + line) * length;
            dispatch::<M, V>(Line {
                streams: &mut *streams,
                line: line_of_grid,
                unknown,
                form,
                x: self.x.as_ptr(),
                y: &mut out[first..first + length],
            });
        }
        if let Some(order) = self.swept {
            let own = OwnLine {
                matrix: self.a,
                sides,
                line: line_of_grid,
                first: order.parities()[0],
                task: OwnTask::LessSides,
                rests: out[line * length..].as_mut_ptr(),
                stride: lines * length,
                x: self.x.as_ptr().cast_mut(),
            };
            // SAFETY: `out` has the plane of every unknown; the numbers are read only.
            unsafe { own.run() };
        }
        for (unknown, q) in self
            .q
            .iter()
            .flat_map(|q| q.chunks(grid.cells()))
            .enumerate()
        {
            let first = (unknown * lines + line) * length;
            let q = &q[line_of_grid * length..][..length];
            multiply(q, &mut out[first..first + length]);
        }
    }
}
