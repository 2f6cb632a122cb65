//! The cells of stencil matrices, as kernels take them.

use std::ops::Range;

use crate::grid::Grid;

/// The cells that count, of those of a grid: the ones that a rank has. Lines along x are whole.
#[derive(Clone, Copy, Debug)]
pub struct OwnCells {
    /// The first of their places along y and z.
    pub first: [usize; 2],
    /// How many there are along y and z.
    pub count: [usize; 2],
}

impl OwnCells {
    /// All of a grid.
    pub fn all(grid: Grid) -> Self {
        let [_, ny, nz] = grid.size();
        Self {
            first: [0; 2],
            count: [ny, nz],
        }
    }

    /// Their lines in a grid, as few ranges as there can be.
    pub fn lines(&self, grid: Grid) -> Vec<Range<usize>> {
        let ([_, ny, _], [y, z], [lines, planes]) = (grid.size(), self.first, self.count);
        let plane = |z: usize| y + ny * z..y + ny * z + lines;
        match lines == ny {
            true => std::iter::once(ny * z..ny * (z + planes)).collect(),
            false => (z..z + planes).map(plane).collect(),
        }
    }

    /// As the kernels take it.
    pub(crate) fn parts(&self) -> (usize, usize, usize, usize) {
        let ([y, z], [ny, nz]) = (self.first, self.count);
        (y, z, ny, nz)
    }
}

/// The cells of a stencil matrix, and which of their neighbours it has entries for.
#[derive(Clone, Copy, Debug)]
pub struct StencilBox<'a> {
    /// The cells.
    pub grid: Grid,
    /// The neighbours of a cell.
    pub offsets: &'a [[i8; 3]],
    /// Numbers of a cell.
    pub unknowns: usize,
}

impl StencilBox<'_> {
    /// Rows of the matrix.
    pub(crate) fn rows(&self) -> usize {
        self.grid.cells() * self.unknowns
    }

    /// As the kernels take it.
    pub(crate) fn parts(&self) -> (usize, usize, usize, usize, u32) {
        let [nx, ny, nz] = self.grid.size();
        (nx, ny, nz, self.unknowns, steps(self.offsets))
    }
}

/// A bit for every neighbour.
pub(crate) fn steps(offsets: &[[i8; 3]]) -> u32 {
    let place = |&[x, y, z]: &[i8; 3]| 13 + i32::from(x) + 3 * i32::from(y) + 9 * i32::from(z);
    offsets.iter().map(|offset| 1 << place(offset)).sum()
}
