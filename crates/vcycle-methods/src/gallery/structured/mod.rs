//! Problems with the numerical features of those that structured multigrid in half precision was
//! published with (Zong et al. 2024, table 3): stencil, unknowns a cell, range of the entries beside that
//! of half precision, anisotropy. The originals are data of applications; these are made from formulas,
//! and from measured permeabilities where a folder with them is given.

mod permeability;
pub(super) mod radiation;
pub(super) mod reservoir;
pub(super) mod solid;
pub(super) mod weather;

use super::entry::{Given, Make};
use super::problem::Problem;
use crate::prelude::*;
use crate::structured::{Grid, Offset, Stencil, StencilMatrix};

/// The matrix of a specification, if it is one of these problems.
pub(super) fn stencil(
    given: &Given<'_>,
    executor: &Executor,
) -> Result<Option<StencilMatrix<f64>>> {
    let Make::Cells(make) = given.entry.make else {
        return Ok(None);
    };
    let grid = Grid::new(given.size)?;
    let stencil = Stencil::of(&given.entry.neighbours).within(grid);
    make(given, (grid, stencil), executor).map(Some)
}

/// The problem of such a matrix.
pub(super) fn problem(given: &Given<'_>, a: &StencilMatrix<f64>) -> Problem {
    Problem {
        block_size: a.unknowns(),
        grid: (a.unknowns() == 1).then(|| a.grid().size()),
        ..Problem::new(given.text.to_owned(), a.to_csr())
    }
}

/// Laplace's operator with 27 points, times a factor.
pub(super) fn laplace27(
    factor: f64,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let centre = stencil.centre();
    StencilMatrix::from_cells(executor, grid, stencil, 1, |_, entries| {
        entries.fill(-factor);
        entries[centre] = 26.0 * factor;
    })
}

/// The neighbours of a stencil but the cell itself, with their places among the entries of a row.
fn others(stencil: &Stencil) -> Vec<(usize, Offset)> {
    let all = stencil.offsets().iter().copied().enumerate();
    all.filter(|(_, offset)| *offset != [0; 3]).collect()
}

/// A number from 0 to 1 that depends on cell and seed.
fn noise(cell: [usize; 3], seed: u64) -> f64 {
    let mut state = seed;
    for place in cell {
        state = scrambled(state ^ place as u64);
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

/// A step of splitmix64.
fn scrambled(state: u64) -> u64 {
    let mut bits = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// What flows through the face between two cells.
fn harmonic(a: f64, b: f64) -> f64 {
    2.0 * a * b / (a + b)
}

/// The cell behind a face; at the boundary the cell itself.
fn beside(grid: Grid, cell: [usize; 3], face: [i8; 3]) -> [usize; 3] {
    grid.shifted(cell, face).unwrap_or(cell)
}

/// Where the middle of a cell lies in the unit cube.
fn position(grid: Grid, cell: [usize; 3]) -> [f64; 3] {
    [0, 1, 2].map(|axis| (cell[axis] as f64 + 0.5) / grid.size()[axis] as f64)
}

/// The axis of an offset to a face.
fn axis_of(offset: [i8; 3]) -> usize {
    offset.iter().position(|&step| step != 0).unwrap_or(0)
}
