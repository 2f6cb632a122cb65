//! A clamped block of elastic material.

use super::assemble::{Rows, assemble};
use super::entry::Given;
use super::finite_element::{Basis, Lattice, slopes};
use super::problem::Problem;
use super::stencil::coefficient;
use crate::grid::Grid;
use crate::multigrid::NearNullspace;
use crate::prelude::*;

/// Unknowns of a node and of a cell with its eight nodes.
const COMPONENTS: usize = 3;
const CELL_UNKNOWNS: usize = 8 * COMPONENTS;

/// Linear elasticity (`E = 1` or the second number in blocks of 8x8x8 cubes, those of `jump7`; Poisson's ratio is the first number) of a
/// block of unit cubes, clamped at `x = 0`.
///
/// Trilinear (Q1) elements, integrated exactly, as 2x2x2 Gauss points do. The clamped nodes are
/// removed; the others are numbered with x fastest and unknown `3 node + component`. Entries that
/// cancel to zero stay stored, so that all 3x3 blocks are full.
///
/// [`coordinates`](Problem::coordinates) has a point for each node, in widths of a cube;
/// [`near_nullspace`](Problem::near_nullspace) has the six rigid-body modes, neither normalised
/// nor orthogonalised: the translations along x, y and z and the rotations about those axes
/// through the mean of the nodes.
pub(super) fn elasticity(given: &Given<'_>, executor: &Executor) -> Result<Problem> {
    let [nx, ny, nz] = given.size;
    let block = Elasticity {
        lattice: Lattice {
            cells: given.size,
            order: [1; 3],
        },
        free: Grid::unchecked([nx, ny + 1, nz + 1]),
        cell_matrix: cell_matrix(given.numbers[0]),
        contrast: given.numbers[1],
    };
    let matrix = assemble(executor, &block)?;
    let coordinates = block.coordinates();
    // As short as specifications are: without what is usual.
    let mut usual = given.entry.parameters.iter().zip(&given.numbers);
    let told = usual.rposition(|(parameter, number)| parameter.usual != Some(*number));
    Ok(Problem {
        near_nullspace: Some(NearNullspace::rigid_body_modes(3, &coordinates)?),
        coordinates: Some(coordinates),
        block_size: COMPONENTS,
        ..Problem::new(
            given.name_with(&given.numbers[..told.map_or(0, |last| last + 1)]),
            matrix,
        )
    })
}

struct Elasticity {
    lattice: Lattice,
    /// The nodes that are not clamped: those of the lattice with `x > 0`.
    free: Grid,
    /// For Young's modulus 1.
    cell_matrix: Vec<[f64; CELL_UNKNOWNS]>,
    contrast: f64,
}

impl Elasticity {
    /// The lattice node of a free node.
    fn node(&self, index: usize) -> [usize; 3] {
        let [x, y, z] = self.free.cell(index);
        [x + 1, y, z]
    }

    fn coordinates(&self) -> Vec<[f64; 3]> {
        (0..self.free.cells())
            .map(|index| self.node(index).map(|along| along as f64))
            .collect()
    }
}

impl Rows for Elasticity {
    fn rows(&self) -> usize {
        COMPONENTS * self.free.cells()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let node = self.node(row / COMPONENTS);
        self.lattice.each_neighbour(node, |other, cells| {
            let [x, y, z] = other;
            if x == 0 {
                return;
            }
            let mut sums = [0.0; COMPONENTS];
            for cell in cells.iter() {
                let here = COMPONENTS * self.lattice.local(cell, node) + row % COMPONENTS;
                let there = COMPONENTS * self.lattice.local(cell, other);
                let stiffness = coefficient(cell, self.contrast);
                for (sum, value) in sums.iter_mut().zip(&self.cell_matrix[here][there..]) {
                    *sum += stiffness * value;
                }
            }
            let first = COMPONENTS * self.free.index([x - 1, y, z]);
            for (component, sum) in sums.into_iter().enumerate() {
                visit(first + component, sum);
            }
        });
    }
}

/// The stiffness of a unit cube. For basis functions `a`, `b` and directions `i`, `j` it is
/// `∫ λ ∂i a ∂j b + μ ∂j a ∂i b`, and `∫ μ grad a . grad b` besides where `i = j`; Young's modulus
/// is 1.
fn cell_matrix(poisson: f64) -> Vec<[f64; CELL_UNKNOWNS]> {
    let lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let mu = 1.0 / (2.0 * (1.0 + poisson));
    let basis = Basis::new(1);
    let corner = |number: usize| [0, 1, 2].map(|axis| number >> axis & 1);
    let entry = |row: usize, column: usize| {
        let nodes = [row, column].map(|place| corner(place / COMPONENTS));
        let [i, j] = [row, column].map(|place| place % COMPONENTS);
        let slopes = |i, j| slopes([&basis; 3], nodes, [i, j]);
        let grad: f64 = (0..3).map(|axis| slopes(axis, axis)).sum();
        let shear = if i == j { mu * grad } else { 0.0 };
        lambda * slopes(i, j) + mu * slopes(j, i) + shear
    };
    let row = |row| std::array::from_fn(|column| entry(row, column));
    (0..CELL_UNKNOWNS).map(row).collect()
}
