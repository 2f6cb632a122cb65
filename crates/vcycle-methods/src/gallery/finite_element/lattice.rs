//! Nodes and cells of tensor-product elements on a box of cells.

use std::ops::Range;

use crate::grid::Grid;

/// Cells along each axis, and how many steps from node to node each is cut into. An axis of order
/// 0 is flat: one node and one cell.
#[derive(Clone, Copy, Debug)]
pub struct Lattice {
    pub cells: [usize; 3],
    pub order: [usize; 3],
}

impl Lattice {
    /// The grid of all nodes.
    pub fn nodes(&self) -> Grid {
        let along = |axis: usize| self.order[axis] * self.cells[axis] + 1;
        Grid::unchecked([0, 1, 2].map(along))
    }

    /// The cells around a node, along one axis: two at a face between cells.
    #[inline]
    fn cells_at(&self, axis: usize, node: usize) -> Range<usize> {
        match self.order[axis] {
            0 => 0..1,
            order => node.saturating_sub(1) / order..(node / order + 1).min(self.cells[axis]),
        }
    }

    /// The cells around `node`.
    pub fn cells_around(&self, node: [usize; 3]) -> CellBox {
        CellBox([0, 1, 2].map(|axis| self.cells_at(axis, node[axis])))
    }

    /// Whether `node` lies on the surface of the box.
    pub fn on_surface(&self, node: [usize; 3]) -> bool {
        (0..3).any(|axis| {
            let last = self.order[axis] * self.cells[axis];
            last > 0 && (node[axis] == 0 || node[axis] == last)
        })
    }

    /// Calls `visit(neighbour, cells)` for every node that shares cells with `node`, in the order
    /// of their numbers.
    pub fn each_neighbour(&self, node: [usize; 3], mut visit: impl FnMut([usize; 3], &CellBox)) {
        let around = self.cells_around(node);
        let reach = |axis: usize| {
            let cells = &around.0[axis];
            cells.start * self.order[axis]..=cells.end * self.order[axis]
        };
        let shared = |axis: usize, other: usize| {
            let (a, b) = (&around.0[axis], self.cells_at(axis, other));
            a.start.max(b.start)..a.end.min(b.end)
        };
        for z in reach(2) {
            let along_z = shared(2, z);
            for y in reach(1) {
                let along_y = shared(1, y);
                for x in reach(0) {
                    let cells = [shared(0, x), along_y.clone(), along_z.clone()];
                    visit([x, y, z], &CellBox(cells));
                }
            }
        }
    }

    /// Nodes of one cell.
    pub fn nodes_of_cell(&self) -> Grid {
        Grid::unchecked(self.order.map(|order| order + 1))
    }

    /// The number of `node` among those of `cell`.
    pub fn local(&self, cell: [usize; 3], node: [usize; 3]) -> usize {
        let place = [0, 1, 2].map(|axis| node[axis] - cell[axis] * self.order[axis]);
        self.nodes_of_cell().index(place)
    }
}

/// A box of cells: a range along each axis.
pub struct CellBox([Range<usize>; 3]);

impl CellBox {
    /// The cells of the box.
    pub fn iter(&self) -> impl Iterator<Item = [usize; 3]> {
        let [xs, ys, zs] = self.0.clone();
        zs.flat_map(move |z| {
            let xs = xs.clone();
            ys.clone()
                .flat_map(move |y| xs.clone().map(move |x| [x, y, z]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_on_a_face_has_the_nodes_of_both_cells() {
        let lattice = Lattice {
            cells: [2, 1, 1],
            order: [3, 0, 0],
        };
        assert_eq!(lattice.nodes().size(), [7, 1, 1]);
        let neighbours = |x: usize| {
            let mut found = Vec::new();
            lattice.each_neighbour([x, 0, 0], |node, cells| {
                found.push((node[0], cells.iter().count()));
            });
            found
        };
        let first_cell = [(0, 1), (1, 1), (2, 1), (3, 1)];
        assert_eq!(neighbours(0), first_cell);
        assert_eq!(neighbours(2), first_cell);
        assert_eq!(neighbours(3)[3], (3, 2));
        assert_eq!(neighbours(3).len(), 7);
        assert_eq!(neighbours(6).len(), 4);
    }
}
