//! Matrices with a row for each point of a grid: one stencil, or finite volumes between two materials.

use super::assemble::{Rows, assemble};
use crate::prelude::*;
use crate::structured::{Grid, Offset, Stencil};

/// A constant stencil of up to 27 points; what would lie outside the grid is left out, as for a
/// Dirichlet condition one step outside.
struct ConstantStencil {
    grid: Grid,
    /// Offsets, the same in row numbers, and weights.
    points: Vec<(Offset, isize, f64)>,
}

/// The matrix with `weight(offset)` for each neighbour, zeros left out.
pub(super) fn matrix(
    executor: &Executor,
    grid: Grid,
    weight: impl Fn(Offset) -> f64,
) -> Result<Csr<f64>> {
    let neighbours = Stencil::full(3).within(grid);
    let points = neighbours.offsets().iter();
    let points = points
        .map(|&offset| (offset, grid.distance(offset), weight(offset)))
        .filter(|point| point.2 != 0.0)
        .collect();
    assemble(executor, &ConstantStencil { grid, points })
}

/// Laplace's operator, not scaled by the mesh width: -1 for all neighbours that so many steps lead to. The Dirichlet boundary is
/// eliminated.
pub(super) fn laplacian(diagonal: f64, reach: usize, [x, y, z]: Offset) -> f64 {
    match usize::from(x.unsigned_abs() + y.unsigned_abs() + z.unsigned_abs()) {
        0 => diagonal,
        steps if steps <= reach => -1.0,
        _ => 0.0,
    }
}

impl Rows for ConstantStencil {
    fn rows(&self) -> usize {
        self.grid.cells()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let at = self.grid.cell(row);
        let inner = self.grid.is_inner(at);
        for &(offset, distance, weight) in &self.points {
            if inner || self.grid.shifted(at, offset).is_some() {
                visit(row.wrapping_add_signed(distance), weight);
            }
        }
    }
}

/// Cells along the edge of a block of one coefficient.
const BLOCK: usize = 8;

/// The neighbours of a cell with smaller numbers, then those with larger ones.
const FACES: [Offset; 6] = [
    [0, 0, -1],
    [0, -1, 0],
    [-1, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
];

/// Cell-centred finite volumes for `-div(k grad u)`, `k` being `contrast` or 1 in blocks of 8x8x8 cells.
///
/// Which of the two is the lowest bit of a hash of the block's place. A face between cells has the harmonic mean
/// `2 k1 k2 / (k1 + k2)`, a face on the boundary (Dirichlet) `2 k`; the diagonal is the sum of a cell's six faces. Not scaled by
/// the mesh width.
pub(super) struct Jump {
    pub(super) grid: Grid,
    pub(super) contrast: f64,
}

/// `contrast` or 1, by the block that `cell` lies in.
pub(super) fn coefficient(cell: [usize; 3], contrast: f64) -> f64 {
    match hash(cell) % 2 {
        1 => contrast,
        _ => 1.0,
    }
}

impl Rows for Jump {
    fn rows(&self) -> usize {
        self.grid.cells()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let cell = self.grid.cell(row);
        let here = coefficient(cell, self.contrast);
        let faces = FACES.map(|face| match self.grid.shifted(cell, face) {
            None => (None, 2.0 * here),
            Some(other) => {
                let there = coefficient(other, self.contrast);
                let mean = 2.0 * here * there / (here + there);
                (Some(self.grid.index(other)), mean)
            }
        });
        let diagonal: f64 = faces.iter().map(|face| face.1).sum();
        let entries = faces.map(|(column, weight)| (column, -weight));
        let (before, after) = entries.split_at(3);
        for &(column, value) in before.iter().chain(&[(Some(row), diagonal)]).chain(after) {
            if let Some(column) = column {
                visit(column, value);
            }
        }
    }
}

/// The hash of the block that `cell` lies in.
fn hash(cell: [usize; 3]) -> u32 {
    let [i, j, k] = cell.map(|index| (index / BLOCK) as u32);
    let mut h =
        i.wrapping_mul(73_856_093) ^ j.wrapping_mul(19_349_663) ^ k.wrapping_mul(83_492_791);
    h ^= h >> 13;
    h = h.wrapping_mul(0x5bd1_e995);
    h ^ h >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_definition() {
        assert_eq!(hash([8, 0, 0]), 3_044_388_955);
        assert_eq!(hash([0, 8, 0]), 882_533_181);
        assert_eq!(hash([0, 0, 8]), 2_909_368_072);
        assert_eq!(hash([31, 31, 31]), 1_333_488_607);
        let is_high = |blocks: Grid, block| hash(blocks.cell(block).map(|at| at * BLOCK)) % 2 == 1;
        let blocks = Grid::unchecked([16; 3]);
        let high = (0..4096).filter(|&block| is_high(blocks, block)).count();
        assert_eq!(high, 2032);
        let bits = "0101101101000110000110100010111111011010000001101010111110010101";
        for (block, bit) in bits.bytes().enumerate() {
            assert_eq!(is_high(Grid::unchecked([4; 3]), block), bit == b'1');
        }
    }
}
