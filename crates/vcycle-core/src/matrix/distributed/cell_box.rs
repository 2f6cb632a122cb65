//! Boxes of cells of a grid, and ways to cut a grid into such parts for ranks.

use std::ops::Range;

use super::partition::Partition;
use crate::grid::Grid;

/// The cells of a grid between two corners. Lines along x are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellBox {
    /// The corner nearest to the origin.
    pub first: [usize; 3],
    /// The first places along each axis behind it.
    pub end: [usize; 3],
}

impl CellBox {
    /// All cells of a grid.
    pub fn all(grid: Grid) -> Self {
        Self {
            first: [0; 3],
            end: grid.size(),
        }
    }

    /// No cell.
    pub const NONE: Self = Self {
        first: [0; 3],
        end: [0; 3],
    };

    /// Cells along each axis.
    pub fn size(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.end[axis].saturating_sub(self.first[axis]))
    }

    /// A grid of these cells alone; there is one at least.
    pub fn grid(&self) -> Grid {
        Grid::new(self.size()).expect("some cells of a grid")
    }

    /// Cells in all.
    pub fn cells(&self) -> usize {
        self.size().iter().product()
    }

    /// The cells that are in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            first: [0, 1, 2].map(|axis| self.first[axis].max(other.first[axis])),
            end: [0, 1, 2].map(|axis| self.end[axis].min(other.end[axis])),
        }
    }

    /// The coarse cells, those with even places, on the grid that is halved along some axes.
    #[must_use]
    pub fn halved(mut self, axes: &[usize]) -> Self {
        for &axis in axes {
            self.first[axis] = self.first[axis].div_ceil(2);
            self.end[axis] = self.end[axis].div_ceil(2);
        }
        self
    }

    /// The number in the grid of a cell that has a place in an array of these.
    pub fn of_all(&self, grid: Grid, place: usize) -> usize {
        let [nx, ny, _] = self.size();
        let (x, y, z) = (place % nx, place / nx % ny, place / nx / ny);
        let [all_x, all_y, _] = grid.size();
        let line = y + self.first[1] + all_y * (z + self.first[2]);
        x + self.first[0] + all_x * line
    }

    /// Where a cell of the grid, which is one of these, is in an array of them.
    pub fn place_of(&self, grid: Grid, cell: usize) -> usize {
        self.place(grid.cell(cell))
    }

    /// Where a cell is in an array of these.
    pub(super) fn place(&self, [x, y, z]: [usize; 3]) -> usize {
        let [nx, ny, _] = self.size();
        x - self.first[0] + nx * (y - self.first[1] + ny * (z - self.first[2]))
    }

    /// Lines of some of the cells among the lines of all, a range for each plane.
    pub fn lines_of(&self, some: &Self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (ny, first) = (self.size()[1], self.first);
        let y = some.first[1]..some.end[1];
        (some.first[2]..some.end[2]).map(move |z| {
            let plane = ny * (z - first[2]);
            plane + y.start - first[1]..plane + y.end - first[1]
        })
    }
}

/// The axis along which a grid has planes: lines in two dimensions.
pub(super) fn slab_axis(grid: Grid) -> usize {
    if grid.size()[2] > 1 { 2 } else { 1 }
}

/// Slabs of planes for so many ranks that are about the rows that ranks have; none where there are fewer planes.
pub(super) fn slabs(ranks: usize, grid: Grid, cells: &Partition) -> Option<Vec<CellBox>> {
    let size = grid.size();
    let axis = slab_axis(grid);
    let planes = size[axis];
    if planes < ranks {
        return None;
    }
    let plane = grid.cells() / planes;
    let mut cuts: Vec<usize> = (0..ranks)
        .map(|rank| (cells.range(rank).start as usize + plane / 2) / plane)
        .chain([planes])
        .collect();
    if cuts.windows(2).any(|pair| pair[0] >= pair[1]) {
        cuts = (0..=ranks).map(|rank| planes * rank / ranks).collect();
    }
    let slab = |rank: usize| {
        let mut slab = CellBox::all(grid);
        (slab.first[axis], slab.end[axis]) = (cuts[rank], cuts[rank + 1]);
        slab
    };
    Some((0..ranks).map(slab).collect())
}

/// All ways to cut a grid along y and along z for so many ranks.
pub(super) fn boxes(ranks: usize, grid: Grid) -> Vec<Vec<CellBox>> {
    let [_, lines, planes] = grid.size();
    let fits = |across: &usize| {
        let along = ranks / across;
        ranks.is_multiple_of(*across) && *across <= lines && along > 1 && along <= planes
    };
    let one = |across: usize| {
        let cut = |cells: usize, parts: usize, part: usize| cells * part / parts;
        let of_rank = |rank: usize| {
            let (y, z, along) = (rank % across, rank / across, ranks / across);
            let mut own = CellBox::all(grid);
            (own.first[1], own.end[1]) = (cut(lines, across, y), cut(lines, across, y + 1));
            (own.first[2], own.end[2]) = (cut(planes, along, z), cut(planes, along, z + 1));
            own
        };
        (0..ranks).map(of_rank).collect()
    };
    (2..=ranks).filter(fits).map(one).collect()
}

/// Whether a rank knows so many cells fewer with boxes than with slabs that it is worth sending most own cells between
/// them and the rows, which slabs do without.
pub(super) fn is_worth(boxes: Option<usize>, slabs: Option<usize>) -> bool {
    boxes
        .zip(slabs)
        .is_some_and(|(boxes, slabs)| 4 * boxes < 3 * slabs)
}
