//! Matrices with a row for each point of a grid: one stencil, or finite volumes between two materials.

use super::assemble::{Rows, assemble};
use super::grid::Grid;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::Csr;

/// A constant stencil of up to 27 points; what would lie outside the grid is left out, as for a
/// Dirichlet condition one step outside.
struct ConstantStencil {
    grid: Grid,
    /// Shifts, the same in row numbers, and weights.
    points: Vec<([isize; 3], isize, f64)>,
}

/// The matrix with `weight(shift)` at each shift of at most one along each axis, zeros left out.
pub(super) fn matrix(
    executor: &Executor,
    grid: Grid,
    weight: impl Fn([isize; 3]) -> f64,
) -> Result<Csr<f64>> {
    let [nx, ny, _] = grid.size.map(usize::cast_signed);
    let points = shifts(grid.size)
        .map(|shift| (shift, weight(shift)))
        .filter(|point| point.1 != 0.0)
        .map(|([x, y, z], weight)| ([x, y, z], x + nx * (y + ny * z), weight))
        .collect();
    assemble(executor, &ConstantStencil { grid, points })
}

/// Laplace's operator, not scaled by the mesh width: -1 for all neighbours that so many steps lead to. The Dirichlet boundary is
/// eliminated.
pub(super) fn laplacian(diagonal: f64, reach: usize, [x, y, z]: [isize; 3]) -> f64 {
    match x.unsigned_abs() + y.unsigned_abs() + z.unsigned_abs() {
        0 => diagonal,
        steps if steps <= reach => -1.0,
        _ => 0.0,
    }
}

/// Shifts of at most one in the order of columns, along those axes that are not flat.
pub(super) fn shifts(size: [usize; 3]) -> impl Iterator<Item = [isize; 3]> {
    let reach = size.map(|extent| isize::from(extent > 1));
    (-reach[2]..=reach[2]).flat_map(move |z| {
        (-reach[1]..=reach[1]).flat_map(move |y| (-reach[0]..=reach[0]).map(move |x| [x, y, z]))
    })
}

impl Rows for ConstantStencil {
    fn rows(&self) -> usize {
        self.grid.points()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let at = self.grid.point(row);
        let inner = self.grid.is_inner(at);
        for &(shift, distance, weight) in &self.points {
            if inner || self.grid.shifted(at, shift).is_some() {
                visit(row.wrapping_add_signed(distance), weight);
            }
        }
    }
}

/// Cells along the edge of a block of one coefficient.
const BLOCK: usize = 8;

/// The neighbours of a cell with smaller numbers, then those with larger ones.
const FACES: [[isize; 3]; 6] = [
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
        self.grid.points()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let cell = self.grid.point(row);
        let here = coefficient(cell, self.contrast);
        let faces = FACES.map(|shift| match self.grid.shifted(cell, shift) {
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
        let is_high = |blocks: Grid, block| hash(blocks.point(block).map(|at| at * BLOCK)) % 2 == 1;
        let blocks = Grid { size: [16; 3] };
        let high = (0..4096).filter(|&block| is_high(blocks, block)).count();
        assert_eq!(high, 2032);
        let bits = "0101101101000110000110100010111111011010000001101010111110010101";
        for (block, bit) in bits.bytes().enumerate() {
            assert_eq!(is_high(Grid { size: [4; 3] }, block), bit == b'1');
        }
    }
}
