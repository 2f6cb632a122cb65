//! Laplace's operator on the unit square and cube, not scaled by the mesh width.

use super::grid::Grid;
use super::stencil::stencil_matrix;
use super::{Entry, Problem};
use crate::error::Result;
use crate::executor::Executor;

pub(super) const POISSON5: Entry = Entry {
    name: "poisson5",
    usage: "poisson5:N or poisson5:NxM",
    description: "Laplace in 2-D, 5 points: 4 on the diagonal, -1 beside it",
    example: "poisson5:6x5",
    build: |spec, executor| {
        spec.at_most(1)?;
        poisson5(spec.size()?, executor)
    },
};

pub(super) const POISSON9: Entry = Entry {
    name: "poisson9",
    usage: "poisson9:N or poisson9:NxM",
    description: "Laplace in 2-D, 9 points: 8 on the diagonal, -1 beside it",
    example: "poisson9:6x5",
    build: |spec, executor| {
        spec.at_most(1)?;
        poisson9(spec.size()?, executor)
    },
};

pub(super) const POISSON7: Entry = Entry {
    name: "poisson7",
    usage: "poisson7:N or poisson7:NxMxK",
    description: "Laplace in 3-D, 7 points: 6 on the diagonal, -1 beside it",
    example: "poisson7:5x4x3",
    build: |spec, executor| {
        spec.at_most(1)?;
        poisson7(spec.size()?, executor)
    },
};

pub(super) const POISSON27: Entry = Entry {
    name: "poisson27",
    usage: "poisson27:N or poisson27:NxMxK",
    description: "Laplace in 3-D, 27 points: 26 on the diagonal, -1 beside it",
    example: "poisson27:5x4x3",
    build: |spec, executor| {
        spec.at_most(1)?;
        poisson27(spec.size()?, executor)
    },
};

/// The 5-point Laplacian in 2-D: 4 on the diagonal, -1 for the four neighbours, Dirichlet
/// boundary eliminated.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let a = gallery::poisson5([3, 3], &Executor::cpu())?.matrix;
/// assert_eq!(a.row(4), (&[1, 3, 4, 5, 7][..], &[-1.0, -1.0, 4.0, -1.0, -1.0][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// A size of zero, or too large for 32-bit columns or for the memory.
pub fn poisson5([nx, ny]: [usize; 2], executor: &Executor) -> Result<Problem> {
    let grid = Grid::on(executor, [nx, ny, 1])?;
    let name = format!("poisson5:{}", grid.label(2));
    five_or_seven(name, grid, 4.0, executor)
}

/// The 9-point Laplacian in 2-D: 8 on the diagonal, -1 for the eight neighbours.
///
/// # Errors
/// As for [`poisson5`].
pub fn poisson9([nx, ny]: [usize; 2], executor: &Executor) -> Result<Problem> {
    let grid = Grid::on(executor, [nx, ny, 1])?;
    let name = format!("poisson9:{}", grid.label(2));
    all_neighbours(name, grid, 8.0, executor)
}

/// The 7-point Laplacian in 3-D: 6 on the diagonal, -1 for the six neighbours.
///
/// # Errors
/// As for [`poisson5`].
pub fn poisson7(size: [usize; 3], executor: &Executor) -> Result<Problem> {
    let grid = Grid::on(executor, size)?;
    let name = format!("poisson7:{}", grid.label(3));
    five_or_seven(name, grid, 6.0, executor)
}

/// The 27-point Laplacian in 3-D: 26 on the diagonal, -1 for the 26 neighbours.
///
/// # Errors
/// As for [`poisson5`].
pub fn poisson27(size: [usize; 3], executor: &Executor) -> Result<Problem> {
    let grid = Grid::on(executor, size)?;
    let name = format!("poisson27:{}", grid.label(3));
    all_neighbours(name, grid, 26.0, executor)
}

fn five_or_seven(name: String, grid: Grid, diagonal: f64, executor: &Executor) -> Result<Problem> {
    let matrix = stencil_matrix(executor, grid, |[x, y, z]| {
        match x.abs() + y.abs() + z.abs() {
            0 => diagonal,
            1 => -1.0,
            _ => 0.0,
        }
    })?;
    Ok(Problem::on_grid(name, grid, matrix))
}

fn all_neighbours(name: String, grid: Grid, diagonal: f64, executor: &Executor) -> Result<Problem> {
    let matrix = stencil_matrix(executor, grid, |shift| match shift {
        [0, 0, 0] => diagonal,
        _ => -1.0,
    })?;
    Ok(Problem::on_grid(name, grid, matrix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_and_flat_grids_are_grids() {
        let host = Executor::reference();
        let point = poisson7([1, 1, 1], &host).unwrap().matrix;
        assert_eq!((point.columns(), point.values()), (&[0][..], &[6.0][..]));
        let line = poisson7([1, 1, 3], &host).unwrap().matrix;
        assert_eq!(line.row(1), (&[0, 1, 2][..], &[-1.0, 6.0, -1.0][..]));
    }

    #[test]
    fn rows_sum_to_zero_away_from_the_boundary() {
        let a = poisson27([3, 3, 3], &Executor::reference()).unwrap().matrix;
        for row in 0..27 {
            let sum: f64 = a.row(row).1.iter().sum();
            assert!(if row == 13 { sum == 0.0 } else { sum > 0.0 });
        }
    }
}
