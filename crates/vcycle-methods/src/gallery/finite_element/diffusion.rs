//! The diffusion operator on a domain of equal blocks.

use super::super::assemble::Rows;
use super::{Basis, Lattice, slopes};
use crate::executor::check_memory;
use vcycle_core::size::Extent;

use crate::prelude::*;

/// A domain of squares or cubes.
#[derive(Debug)]
pub struct Domain {
    /// Blocks along each axis of the box around the domain.
    pub(super) blocks: [usize; 3],
    /// 2 in the plane, 3 in space.
    pub(super) dimension: usize,
    /// Width of a block.
    pub(super) width: f64,
    /// Of each block, x fastest; 0 where the box has a block that the domain has not.
    pub(super) coefficients: &'static [f64],
}

impl Domain {
    /// The nodes and cells of elements of `order` after `levels` refinements.
    pub(super) fn lattice(&self, order: usize, levels: usize) -> Lattice {
        let in_domain = |axis: usize| axis < self.dimension;
        Lattice {
            cells: [0, 1, 2]
                .map(|axis| self.blocks[axis] << if in_domain(axis) { levels } else { 0 }),
            order: [0, 1, 2].map(|axis| if in_domain(axis) { order } else { 0 }),
        }
    }

    /// Rows and entries: nodes by inclusion and exclusion of the one corner that the box may have too many, entries
    /// by the share of the box that the domain fills.
    pub(super) fn extent(&self, lattice: &Lattice) -> Extent {
        let missing = self.coefficients.iter().filter(|&&c| c == 0.0).count();
        let nodes = lattice.nodes().size();
        let cut: usize = match missing {
            0 => 0,
            _ => (0..self.dimension).map(|axis| nodes[axis] / 2).product(),
        };
        let entries = (0..3).map(|axis| {
            let (cells, order) = (lattice.cells[axis], lattice.order[axis]);
            match order {
                0 => 1,
                // Nodes inside a cell meet those of one cell, nodes between two those of both.
                _ => (cells * (order - 1) + 2) * (order + 1) + (cells - 1) * (2 * order + 1),
            }
        });
        let entries: usize = entries.product();
        let blocks = self.coefficients.len();
        let rows = lattice.nodes().cells() - cut;
        Extent::real(rows, entries / blocks * (blocks - missing))
    }
}

/// The number of a lattice node that is in no cell of the domain.
const NO_NODE: u32 = u32::MAX;

/// The discrete problem; its rows are the nodes of the domain in lattice order.
pub(super) struct Diffusion<'a> {
    domain: &'a Domain,
    lattice: Lattice,
    levels: usize,
    bases: [Basis; 3],
    /// The matrix of a cell with coefficient 1, row after row.
    cell_matrix: Vec<f64>,
    /// The row of each lattice node.
    row_of: Vec<u32>,
    /// The lattice node of each row, and whether the boundary condition holds there.
    node_of: Vec<(u32, bool)>,
}

impl<'a> Diffusion<'a> {
    pub(super) fn new(
        domain: &'a Domain,
        lattice: Lattice,
        levels: usize,
        executor: &Executor,
    ) -> Result<Self> {
        let nodes = lattice.nodes().cells();
        check_memory(executor, nodes, size_of::<u32>() + size_of::<(u32, bool)>())?;
        let bases = lattice.order.map(Basis::new);
        let mut diffusion = Self {
            cell_matrix: cell_matrix(&lattice, &bases),
            domain,
            lattice,
            levels,
            bases,
            row_of: vec![NO_NODE; nodes],
            node_of: Vec::with_capacity(nodes),
        };
        let scale = diffusion.cell_width().powi(domain.dimension as i32 - 2);
        diffusion.cell_matrix.iter_mut().for_each(|v| *v *= scale);
        diffusion.number_nodes();
        Ok(diffusion)
    }

    fn number_nodes(&mut self) {
        for index in 0..self.row_of.len() {
            let node = self.lattice.nodes().cell(index);
            let cells = self.lattice.cells_around(node);
            let outside = |cell| self.coefficient(cell) == 0.0;
            if cells.iter().all(outside) {
                continue;
            }
            let on_boundary = self.lattice.on_surface(node) || cells.iter().any(outside);
            self.row_of[index] = self.node_of.len() as u32;
            self.node_of.push((index as u32, on_boundary));
        }
    }

    fn cell_width(&self) -> f64 {
        self.domain.width / (1_u64 << self.levels) as f64
    }

    /// The coefficient of a cell, 0 outside the domain.
    fn coefficient(&self, cell: [usize; 3]) -> f64 {
        let [x, y, z] =
            [0, 1, 2].map(|axis| cell[axis] * self.domain.blocks[axis] / self.lattice.cells[axis]);
        let [nx, ny, _] = self.domain.blocks;
        self.domain.coefficients[x + nx * (y + ny * z)]
    }

    fn node(&self, row: usize) -> ([usize; 3], bool) {
        let (index, on_boundary) = self.node_of[row];
        (self.lattice.nodes().cell(index as usize), on_boundary)
    }

    /// The integrals of 1 against the basis functions; 0 on the boundary.
    pub(super) fn load(&self) -> Vec<f64> {
        let volume = self.cell_width().powi(self.domain.dimension as i32);
        let weight = |cell: [usize; 3], node: [usize; 3]| -> f64 {
            self.local(cell, node)
                .map(|(axis, local)| self.bases[axis].load[local])
                .product()
        };
        (0..self.rows())
            .map(|row| match self.node(row) {
                (_, true) => 0.0,
                (node, false) => {
                    let cells = self.lattice.cells_around(node);
                    volume * cells.iter().map(|cell| weight(cell, node)).sum::<f64>()
                }
            })
            .collect()
    }

    /// Where the nodes lie, in the coordinates of the mesh.
    pub(super) fn coordinates(&self) -> Vec<[f64; 3]> {
        (0..self.rows())
            .map(|row| {
                let node = self.node(row).0;
                [0, 1, 2].map(|axis| self.coordinate(axis, node[axis]))
            })
            .collect()
    }

    fn coordinate(&self, axis: usize, node: usize) -> f64 {
        let order = self.lattice.order[axis].max(1);
        let within = self.bases[axis].nodes[node % order];
        self.cell_width() * ((node / order) as f64 + within)
    }

    /// Along each axis the number of `node` in `cell`.
    fn local(&self, cell: [usize; 3], node: [usize; 3]) -> impl Iterator<Item = (usize, usize)> {
        (0..3).map(move |axis| (axis, node[axis] - cell[axis] * self.lattice.order[axis]))
    }
}

impl Rows for Diffusion<'_> {
    fn rows(&self) -> usize {
        self.node_of.len()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let (node, on_boundary) = self.node(row);
        let nodes = self.lattice.nodes();
        let count = self.lattice.nodes_of_cell().cells();
        self.lattice.each_neighbour(node, |other, cells| {
            let mut connected = false;
            let mut value = 0.0;
            for cell in cells.iter() {
                let coefficient = self.coefficient(cell);
                let place =
                    self.lattice.local(cell, node) * count + self.lattice.local(cell, other);
                connected |= coefficient != 0.0;
                value += coefficient * self.cell_matrix[place];
            }
            if !connected {
                return;
            }
            let column = self.row_of[nodes.index(other)];
            if on_boundary || self.node_of[column as usize].1 {
                value = f64::from(column as usize == row);
            }
            visit(column as usize, value);
        });
    }
}

/// `∫ grad φa . grad φb` over a unit cell: along one axis the stiffness, along the others the
/// mass, summed over the axes.
fn cell_matrix(lattice: &Lattice, bases: &[Basis; 3]) -> Vec<f64> {
    let nodes = lattice.nodes_of_cell();
    let bases = bases.each_ref();
    let entry = |a, b| -> f64 {
        let along = |axis| slopes(bases, [a, b], [axis; 2]);
        (0..3).map(along).sum()
    };
    (0..nodes.cells())
        .flat_map(|a| (0..nodes.cells()).map(move |b| (a, b)))
        .map(|(a, b)| entry(nodes.cell(a), nodes.cell(b)))
        .collect()
}
