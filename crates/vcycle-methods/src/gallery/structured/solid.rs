//! A block of steel, clamped at one side: linear elasticity on cubes cut into six tetrahedra, which
//! couples 15 nodes.

use super::super::entry::Given;
use super::super::grid::PATHS;
use crate::prelude::*;
use crate::structured::{Grid, Offset, Stencil, StencilMatrix};

/// Young's modulus and Poisson's ratio.
const YOUNG: f64 = 2e9;
const POISSON: f64 = 0.3;

type Block = [[f64; 3]; 3];

pub fn elasticity(
    _: &Given<'_>,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let (offsets, points) = (stencil.offsets().to_vec(), stencil.points());
    let cube = cube_matrix();
    StencilMatrix::from_cells(executor, grid, stencil, 3, |node, entries| {
        for (point, &offset) in offsets.iter().enumerate() {
            let block = assembled(&cube, grid, node, offset);
            for (i, row) in block.iter().enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    entries[(i * points + point) * 3 + j] = value;
                }
            }
        }
    })
}

/// Whether there is a cube whose lowest corner is here. Beyond the first nodes along x is the clamped
/// side, beyond all others nothing; a grid of one node along an axis has cubes on either side of it.
fn is_cube(grid: Grid, corner: [isize; 3]) -> bool {
    (0..3).all(|axis| {
        let extent = grid.size()[axis].cast_signed();
        let first = if axis == 0 || extent == 1 { -1 } else { 0 };
        let last = if extent == 1 { 0 } else { extent - 2 };
        (first..=last).contains(&corner[axis])
    })
}

/// The sum over all cubes that have both nodes.
fn assembled(cube: &[[Block; 8]; 8], grid: Grid, node: [usize; 3], offset: Offset) -> Block {
    let mut block = Block::default();
    let at = node.map(usize::cast_signed);
    for number in 0..8_usize {
        let corner = [0, 1, 2].map(|axis| at[axis] - 1 + (number >> axis & 1).cast_signed());
        let first = [0, 1, 2].map(|axis| at[axis] - corner[axis]);
        let second = [0, 1, 2].map(|axis| first[axis] + isize::from(offset[axis]));
        let in_cube = second.iter().all(|&place| (0..=1).contains(&place));
        if in_cube && is_cube(grid, corner) {
            let index = |place: [isize; 3]| (place[0] + 2 * place[1] + 4 * place[2]) as usize;
            let term = &cube[index(first)][index(second)];
            for (sums, terms) in block.iter_mut().zip(term) {
                sums.iter_mut()
                    .zip(terms)
                    .for_each(|(sum, term)| *sum += term);
            }
        }
    }
    block
}

/// The stiffness of a unit cube; node `x + 2 y + 4 z`.
fn cube_matrix() -> [[Block; 8]; 8] {
    let mut cube = [[Block::default(); 8]; 8];
    for path in PATHS {
        let nodes = [0, 1 << path[0], (1 << path[0]) | (1 << path[1]), 7_usize];
        let gradients = gradients(path);
        for (a, &first) in nodes.iter().enumerate() {
            for (b, &second) in nodes.iter().enumerate().skip(a) {
                let block = stiffness(gradients[a], gradients[b]);
                for i in 0..3 {
                    for j in 0..3 {
                        cube[first][second][i][j] += block[i][j];
                        if a != b {
                            cube[second][first][j][i] += block[i][j];
                        }
                    }
                }
            }
        }
    }
    cube
}

/// The gradients of the four linear shape functions of a tetrahedron that goes along the axes one after
/// the other: differences of neighbouring coordinates.
fn gradients(path: [usize; 3]) -> [[f64; 3]; 4] {
    let mut gradients = [[0.0; 3]; 4];
    for (step, &axis) in path.iter().enumerate() {
        gradients[step][axis] -= 1.0;
        gradients[step + 1][axis] += 1.0;
    }
    gradients
}

/// `lambda a b^T + mu (b a^T + (a b) I)` times the volume, 1/6.
fn stiffness(a: [f64; 3], b: [f64; 3]) -> Block {
    let lambda = YOUNG * POISSON / (1.0 + POISSON) / (1.0 - 2.0 * POISSON) / 6.0;
    let mu = YOUNG / 2.0 / (1.0 + POISSON) / 6.0;
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let mut block = Block::default();
    for i in 0..3 {
        for j in 0..3 {
            let identity = if i == j { mu * dot } else { 0.0 };
            block[i][j] = lambda * a[i] * b[j] + mu * b[i] * a[j] + identity;
        }
    }
    block
}
