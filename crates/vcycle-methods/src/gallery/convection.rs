//! Convection with diffusion.

use super::grid::Grid;
use super::spec::check_range;
use super::stencil::stencil_matrix;
use super::{Entry, Problem};
use crate::error::Result;
use crate::executor::Executor;

pub(super) const ENTRY: Entry = Entry {
    name: "convdiff7",
    usage: "convdiff7:N,peclet or convdiff7:NxMxK,peclet",
    description: "3-D upwind convection-diffusion, nonsymmetric; peclet is that of a cell",
    example: "convdiff7:5x4x3,10",
    build: |spec, executor| {
        spec.at_most(2)?;
        convdiff7(spec.size()?, spec.number(1, "peclet")?, executor)
    },
};

/// `-Laplace(u) + v . grad(u)` with the flow `v` towards growing x, y and z, upwind differences,
/// times the square of the mesh width `h`.
///
/// `peclet` is the Péclet number of a cell, `|v_x| h = |v_y| h = |v_z| h`: upstream neighbours
/// have `-1 - peclet`, downstream ones -1, the diagonal is `6 + 3 peclet`. An M-matrix for every
/// `peclet`, symmetric for 0.
///
/// # Errors
/// As for [`poisson5`](super::poisson5), or `peclet` not between 0 and 1e100.
pub fn convdiff7(size: [usize; 3], peclet: f64, executor: &Executor) -> Result<Problem> {
    check_range("peclet", peclet, 0.0..=1e100)?;
    let grid = Grid::on(executor, size)?;
    let matrix = stencil_matrix(executor, grid, |[x, y, z]| {
        match (x.abs() + y.abs() + z.abs(), x + y + z) {
            (0, _) => 6.0 + 3.0 * peclet,
            (1, -1) => -1.0 - peclet,
            (1, _) => -1.0,
            _ => 0.0,
        }
    })?;
    let name = format!("convdiff7:{},{peclet}", grid.label(3));
    Ok(Problem::on_grid(name, grid, matrix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_an_m_matrix_with_zero_row_sums_inside() {
        let a = convdiff7([3, 3, 3], 10.0, &Executor::reference())
            .unwrap()
            .matrix;
        assert_eq!(a.row(13).1, [-11.0, -11.0, -11.0, 36.0, -1.0, -1.0, -1.0]);
        for row in 0..27 {
            let (columns, values) = a.row(row);
            let off_diagonal =
                |(&column, &value): (&u32, &f64)| column as usize == row || value < 0.0;
            assert!(columns.iter().zip(values).all(off_diagonal));
            assert_eq!(values.iter().sum::<f64>() > 0.0, row != 13);
        }
    }
}
