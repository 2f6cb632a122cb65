//! Ways to cut a grid into parts for ranks.

use super::cell_box::CellBox;
use super::partition::Partition;
use crate::grid::Grid;

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
