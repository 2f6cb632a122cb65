//! Problems with complex values: the five-point Laplacian with other ones.

use super::entry::{Given, Make};
use super::problem::Problem;
use super::stencil;
use crate::prelude::*;

/// `-Laplace(u) - (1 - i absorption) k^2 u` on the unit square with Dirichlet boundary, times the square of the mesh
/// width `h`: 4 - (1 - i absorption) (k h)^2 on the diagonal and -1 for the four neighbours. With an absorption of a
/// half it is the shifted Laplacian that preconditions the equation without.
pub(super) fn helmholtz(given: &Given<'_>, [row, column]: [usize; 2], value: f64) -> c64 {
    let (k, absorption) = (given.numbers[0], given.numbers[1]);
    let width = 1.0 / (given.size[0].max(given.size[1]) + 1) as f64;
    match row == column {
        true => value - c64::new(1.0, -absorption) * (k * width).powi(2),
        false => value.into(),
    }
}

/// The Laplacian of a charged particle in a magnetic field, by Peierls' substitution: the coupling from a point to the
/// next one along x is `-exp(i flux y)` with its row number `y` along y, back it is the conjugate. Hermitian and
/// positive definite.
pub(super) fn magnetic(given: &Given<'_>, [row, column]: [usize; 2], value: f64) -> c64 {
    let along = given.size[0];
    let phase = given.numbers[0] * (row / along) as f64;
    match column.wrapping_sub(row) as isize {
        1 if along > 1 => c64::from_polar(-value, phase) * -1.0,
        -1 if along > 1 => c64::from_polar(-value, -phase) * -1.0,
        _ => value.into(),
    }
}

/// The problem of a specification of the catalogue of complex ones.
pub(super) fn problem(given: &Given<'_>, executor: &Executor) -> Result<Problem<c64>> {
    let Make::Complex(value) = given.entry.make else {
        unreachable!("entries of that catalogue have complex values");
    };
    let laplacian = |shift| stencil::laplacian(4.0, 1, shift);
    let laplacian = stencil::matrix(&executor.on_host(), given.grid(), laplacian)?;
    let (columns, entries) = (laplacian.columns(), laplacian.values());
    let matrix = Csr::from_places(laplacian.pattern(), |row, place| {
        value(given, [row, columns[place] as usize], entries[place])
    })?;
    Ok(Problem {
        grid: Some(given.size),
        ..Problem::new(given.name(), matrix.into_executor(executor)?)
    })
}
