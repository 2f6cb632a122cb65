//! Matrices whose rows are all one stencil, cut off at the boundary of the grid.

use super::assemble::{Rows, assemble};
use super::grid::Grid;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::Csr;

/// A constant stencil of up to 27 points; what would lie outside the grid is left out, as for a
/// Dirichlet condition one step outside.
struct ConstantStencil {
    grid: Grid,
    points: Vec<StencilPoint>,
}

struct StencilPoint {
    shift: [isize; 3],
    /// The same shift in row numbers.
    distance: isize,
    weight: f64,
}

/// The matrix with `weight(shift)` at each shift of at most one along each axis, zeros left out.
pub(super) fn stencil_matrix(
    executor: &Executor,
    grid: Grid,
    weight: impl Fn([isize; 3]) -> f64,
) -> Result<Csr<f64>> {
    let points = shifts(grid)
        .map(|shift| StencilPoint {
            shift,
            distance: distance(grid, shift),
            weight: weight(shift),
        })
        .filter(|point| point.weight != 0.0)
        .collect();
    assemble(executor, &ConstantStencil { grid, points })
}

/// Shifts of at most one in the order of columns, along those axes that are not flat.
fn shifts(grid: Grid) -> impl Iterator<Item = [isize; 3]> {
    let reach = grid.size.map(|extent| isize::from(extent > 1));
    (-reach[2]..=reach[2]).flat_map(move |z| {
        (-reach[1]..=reach[1]).flat_map(move |y| (-reach[0]..=reach[0]).map(move |x| [x, y, z]))
    })
}

fn distance(grid: Grid, [x, y, z]: [isize; 3]) -> isize {
    let [nx, ny, _] = grid.size.map(usize::cast_signed);
    x + nx * (y + ny * z)
}

impl Rows for ConstantStencil {
    fn rows(&self) -> usize {
        self.grid.points()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let at = self.grid.point(row);
        let inner = self.grid.is_inner(at);
        for point in &self.points {
            if inner || self.grid.shifted(at, point.shift).is_some() {
                visit(row.wrapping_add_signed(point.distance), point.weight);
            }
        }
    }
}
