//! Diffusion through a material of two kinds, mixed block by block.

use super::assemble::{Rows, assemble};
use super::grid::Grid;
use super::spec::check_range;
use super::{Entry, Problem};
use crate::error::Result;
use crate::executor::Executor;

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

pub(super) const ENTRY: Entry = Entry {
    name: "jump7",
    usage: "jump7:N,c or jump7:NxMxK,c",
    description: "3-D diffusion by finite volumes, coefficient 1 or c in random 8x8x8 blocks",
    example: "jump7:12x10x9,1e6",
    build: |spec, executor| {
        spec.at_most(2)?;
        jump7(spec.size()?, spec.number(1, "contrast")?, executor)
    },
};

/// Cell-centred finite volumes for `-div(k grad u)`, `k` being `contrast` or 1 in blocks of 8x8x8
/// cells.
///
/// Which of the two is the lowest bit of a hash of the block's place. A face between cells has
/// the harmonic mean `2 k1 k2 / (k1 + k2)`, a face on the boundary (Dirichlet) `2 k`; the
/// diagonal is the sum of a cell's six faces. Not scaled by the mesh width.
///
/// # Errors
/// As for [`poisson5`](super::poisson5), or `contrast` not between 1e-100 and 1e100.
pub fn jump7(size: [usize; 3], contrast: f64, executor: &Executor) -> Result<Problem> {
    check_range("contrast", contrast, 1e-100..=1e100)?;
    let grid = Grid::on(executor, size)?;
    let matrix = assemble(executor, &Jump { grid, contrast })?;
    let name = format!("jump7:{},{contrast}", grid.label(3));
    Ok(Problem::on_grid(name, grid, matrix))
}

struct Jump {
    grid: Grid,
    contrast: f64,
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
    }

    #[test]
    fn blocks_of_the_high_coefficient() {
        let blocks = Grid { size: [16; 3] };
        let high = (0..blocks.points())
            .filter(|&block| hash(blocks.point(block).map(|index| index * BLOCK)) % 2 == 1)
            .count();
        assert_eq!(high, 2032);
        let bits = "0101101101000110000110100010111111011010000001101010111110010101";
        let blocks = Grid { size: [4; 3] };
        for (block, bit) in bits.bytes().enumerate() {
            let cell = blocks.point(block).map(|index| index * BLOCK);
            assert_eq!((hash(cell) % 2) as u8, bit - b'0');
        }
    }

    #[test]
    fn without_a_jump_it_is_poisson_with_a_boundary_half_a_cell_away() {
        let a = jump7([3, 3, 3], 1.0, &Executor::reference())
            .unwrap()
            .matrix;
        assert_eq!(a.row(13).1, [-1.0, -1.0, -1.0, 6.0, -1.0, -1.0, -1.0]);
        assert_eq!(a.entry(0, 0), Some(9.0));
    }
}
