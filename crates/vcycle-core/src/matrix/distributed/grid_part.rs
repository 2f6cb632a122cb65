//! Grids whose cells several ranks share.

use std::ops::Range;

use super::cell_box::CellBox;
use super::cell_box::{boxes, is_worth, slab_axis, slabs};
use super::cells::{CellMoves, Cells};
use super::partition::Partition;
use crate::communicator::Communicator;
use crate::grid::Grid;
use crate::prelude::*;
use crate::scalar::Element;

/// Cells around its own that a rank knows, along y and z. Gauss-Seidel in colours changes planes by parity, in them lines by
/// parity: what a cell becomes in a sweep depends on cells up to two planes and four lines away. In two dimensions planes
/// are lines.
const RINGS: [usize; 2] = [4, 2];

/// The cells that a rank has of a grid, and those around them, which it knows, too: the *near* cells, a grid of their own.
///
/// Near cells begin at even places, so that the colours of cells are those of the whole grid, and end at even ones, so that
/// each lies between coarse cells that are near.
#[derive(Debug)]
pub struct GridPart {
    team: Arc<dyn Communicator>,
    grid: Grid,
    /// Own cells of every rank.
    own: Vec<CellBox>,
    near: Grid,
    halo: CellMoves,
}

impl GridPart {
    /// The part of this rank where rows of `cells` are shared in the order of the grid: slabs of planes, that are about
    /// those rows, or, where these would be thin, boxes of lines. None where there are too many ranks for either.
    pub fn shared(team: &Arc<dyn Communicator>, grid: Grid, cells: &Partition) -> Option<Self> {
        let known = |own: &[CellBox]| own.iter().map(|own| near(grid, *own).cells()).max();
        let slabs = slabs(team.size(), grid, cells);
        let boxes = boxes(team.size(), grid);
        let boxes = boxes.into_iter().min_by_key(|own| known(own));
        let own = match (slabs, boxes) {
            (Some(slabs), Some(boxes)) if is_worth(known(&boxes), known(&slabs)) => boxes,
            (Some(slabs), _) => slabs,
            (None, boxes) => boxes?,
        };
        Some(Self::of_boxes(team, grid, own))
    }

    /// The part of this rank; no box is empty.
    fn of_boxes(team: &Arc<dyn Communicator>, grid: Grid, own: Vec<CellBox>) -> Self {
        let near = |rank: usize| near(grid, own[rank]);
        let from = |rank: usize| Cells::of(near(rank), own[rank]);
        let to = |rank: usize| Cells::all_of(near(rank));
        let halo = CellMoves::new(team, grid, from, to).without_kept();
        Self {
            near: near(team.rank()).grid(),
            team: Arc::clone(team),
            grid,
            own,
            halo,
        }
    }

    /// The near cells of a rank.
    fn near_of(&self, rank: usize) -> Cells {
        Cells::all_of(near(self.grid, self.own[rank]))
    }

    /// The own cells of a rank among the near ones.
    fn own_of(&self, rank: usize) -> Cells {
        Cells::of(near(self.grid, self.own[rank]), self.own[rank])
    }

    /// Moves of cells of the grid, from what every rank has to what it is to have.
    fn moves(&self, from: impl Fn(usize) -> Cells, to: impl Fn(usize) -> Cells) -> CellMoves {
        CellMoves::new(&self.team, self.grid, from, to)
    }

    /// The part on the grid that is halved along some axes; none where a rank would have no cell of it.
    #[must_use]
    pub fn halved(&self, axes: &[usize]) -> Option<Self> {
        let grid = axes.iter().fold(self.grid, |grid, &axis| grid.halved(axis));
        let own: Vec<CellBox> = self.own.iter().map(|own| own.halved(axes)).collect();
        let is_shared = own.iter().all(|own| own.cells() > 0);
        is_shared.then(|| Self::of_boxes(&self.team, grid, own))
    }

    /// All ranks.
    pub fn team(&self) -> &Arc<dyn Communicator> {
        &self.team
    }

    /// The grid of all ranks.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Own cells and those around them.
    pub fn near(&self) -> Grid {
        self.near
    }

    /// The own cells of this rank.
    pub fn own(&self) -> CellBox {
        self.own[self.team.rank()]
    }

    /// Where the near cells are in the grid.
    pub fn near_box(&self) -> CellBox {
        near(self.grid, self.own())
    }

    /// Own lines among the near ones, a range for each plane.
    pub fn own_lines(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        self.near_box().lines_of(&self.own())
    }

    /// Whether the cells of a near line are own ones.
    pub fn is_own_line(&self, line: usize) -> bool {
        let ([y, z], near, own) = (self.near.place(line), self.near_box(), self.own());
        let is_own = |place: usize, axis: usize| {
            (own.first[axis]..own.end[axis]).contains(&(near.first[axis] + place))
        };
        is_own(y, 1) && is_own(z, 2)
    }

    /// The number that a near line has in the grid.
    pub fn line_of_all(&self, line: usize) -> usize {
        let ([y, z], [_, first_y, first_z]) = (self.near.place(line), self.near_box().first);
        y + first_y + self.grid.size()[1] * (z + first_z)
    }

    /// The number that a near cell has in the grid.
    pub fn cell_of_all(&self, cell: usize) -> usize {
        let length = self.near.length();
        self.line_of_all(cell / length) * length + cell % length
    }

    /// The axis along which the grid has planes; in two dimensions planes are lines.
    pub fn slab_axis(&self) -> usize {
        slab_axis(self.grid)
    }

    /// Ranks whose cells are near, and numbers that are sent in an exchange of near cells.
    pub fn traffic(&self) -> (usize, usize) {
        (self.halo.neighbours(), self.halo.sent_count())
    }

    /// Exchanges the numbers of near cells, `per_cell` a cell in each of several fields.
    pub fn refresh<T: Element>(&self, shape: [usize; 2], values: &mut [T]) -> Result<()> {
        self.halo.refresh(shape, values)
    }

    /// The same for a vector that is unknown by unknown, wherever it is.
    pub fn refresh_vector<T: Scalar>(
        &self,
        unknowns: usize,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.halo.refresh_vector(unknowns, x, ws)
    }

    /// From own cells on the halved grid that near cells lead to by themselves, to all that are near there.
    pub fn to_coarse(&self, axes: &[usize], coarse: &Self) -> CellMoves {
        let array = |rank: usize| near(self.grid, self.own[rank]).halved(axes);
        let from = |rank: usize| Cells::of(array(rank), coarse.own[rank]);
        coarse.moves(from, |rank| coarse.near_of(rank))
    }

    /// The other way round, without a message: what is near there is more.
    pub fn from_coarse(&self, axes: &[usize], coarse: &Self) -> CellMoves {
        let boxes = [coarse.near_box(), self.near_box().halved(axes)];
        CellMoves::kept(&self.team, coarse.grid, boxes)
    }

    /// Own cells and those up to so many cells around them, and the moves there from own cells among the near ones.
    pub fn widened(&self, rings: usize) -> (CellBox, CellMoves) {
        let wide = |rank: usize| widened(self.grid, self.own[rank], rings);
        let moves = self.moves(|rank| self.own_of(rank), |rank| Cells::all_of(wide(rank)));
        (wide(self.team.rank()), moves)
    }

    /// Whole planes with the cells that this rank has in the order of the grid, and so many more on either side, and the
    /// moves there from own cells among the near ones. In two dimensions planes are lines.
    pub fn around_rows(&self, cells: &Partition, rings: usize) -> (CellBox, CellMoves) {
        let axis = slab_axis(self.grid);
        let plane = (self.grid.cells() / self.grid.size()[axis]) as u64;
        let around = |rank: usize| {
            let (rows, mut planes) = (cells.range(rank), CellBox::all(self.grid));
            let [first, end] = [rows.start / plane, rows.end.div_ceil(plane)];
            let last = planes.end[axis];
            // Ranks without cells have a plane, too.
            planes.first[axis] = (first as usize).saturating_sub(rings).min(last - 1);
            planes.end[axis] = (end as usize + rings).clamp(planes.first[axis] + 1, last);
            planes
        };
        let moves = self.moves(|rank| self.own_of(rank), |rank| Cells::all_of(around(rank)));
        (around(self.team.rank()), moves)
    }

    /// From own cells of all ranks, which are all of an array, to the near cells of each.
    pub fn from_own(&self) -> CellMoves {
        let from = |rank: usize| Cells::all_of(self.own[rank]);
        self.moves(from, |rank| self.near_of(rank))
    }

    /// The other way round, without a message.
    pub fn to_own(&self) -> CellMoves {
        CellMoves::kept(&self.team, self.grid, [self.near_box(), self.own()])
    }

    /// From own cells of all ranks to the whole grid on rank 0.
    pub fn to_first(&self) -> CellMoves {
        self.moves(|rank| self.own_of(rank), |rank| self.whole(rank))
    }

    /// From the whole grid on rank 0 to the near cells of all ranks.
    pub fn from_first(&self) -> CellMoves {
        self.moves(|rank| self.whole(rank), |rank| self.near_of(rank))
    }

    /// From cells that ranks have in the order of the grid to those that are near.
    pub fn from_rows(&self, cells: &Partition) -> CellMoves {
        self.moves(|rank| rows(cells, rank), |rank| self.near_of(rank))
    }

    /// From own cells to those that ranks have in the order of the grid.
    pub fn to_rows(&self, cells: &Partition) -> CellMoves {
        self.moves(|rank| self.own_of(rank), |rank| rows(cells, rank))
    }

    fn whole(&self, rank: usize) -> Cells {
        Cells::all_of(match rank {
            0 => CellBox::all(self.grid),
            _ => CellBox::NONE,
        })
    }
}

fn rows(cells: &Partition, rank: usize) -> Cells {
    let rows = cells.range(rank);
    Cells::Rows(rows.start as usize..rows.end as usize)
}

/// Cells and those up to so many around them.
fn widened(grid: Grid, own: CellBox, rings: usize) -> CellBox {
    let mut wide = own;
    for axis in 1..3 {
        wide.first[axis] = own.first[axis].saturating_sub(rings);
        wide.end[axis] = (own.end[axis] + rings).min(grid.size()[axis]);
    }
    wide
}

/// Own cells and those around them.
fn near(grid: Grid, own: CellBox) -> CellBox {
    let size = grid.size();
    let mut near = own;
    for axis in 1..3 {
        let rings = match axis == 1 && size[2] == 1 {
            true => RINGS[1],
            false => RINGS[axis - 1],
        };
        near.first[axis] = own.first[axis].saturating_sub(rings) & !1;
        near.end[axis] = ((own.end[axis] + rings) | 1).min(size[axis]);
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;

    /// Every near cell has its number in the whole grid.
    fn check(part: &GridPart, values: &[u64]) {
        assert_eq!(values.len(), part.near().cells());
        for (cell, &value) in values.iter().enumerate() {
            assert_eq!(value, part.cell_of_all(cell) as u64);
        }
    }

    #[test]
    fn cells_go_from_rows_to_parts_and_back_and_to_coarse_grids() {
        // Slabs, and boxes where these are thin or planes too few.
        let slabs = [1, 2, 3, 7].map(|ranks| ([3, 2, 23], ranks));
        let boxes = [([2, 32, 16], 16), ([2, 9, 3], 6)];
        for (size, ranks) in slabs.into_iter().chain(boxes) {
            let grid = Grid::new(size).unwrap();
            threads::run(ranks, |team| {
                let cells = Partition::even(grid.cells() as u64, 1, ranks);
                let part = GridPart::shared(&team, grid, &cells).unwrap();
                assert_eq!(part.own().size()[1] < size[1], size[1] > 2);
                let own: Vec<u64> = cells.range(team.rank()).collect();
                let mut near = vec![u64::MAX; part.near().cells()];
                let one = [1, 1];
                part.from_rows(&cells).move_slice(one, &own, &mut near)?;
                check(&part, &near);
                let mut back = vec![u64::MAX; own.len()];
                part.to_rows(&cells).move_slice(one, &near, &mut back)?;
                assert_eq!(back, own);
                let (wide, moves) = part.widened(5);
                let mut around = vec![u64::MAX; wide.cells()];
                moves.move_slice(one, &near, &mut around)?;
                let mut found = around.iter().enumerate();
                assert!(found.all(|(cell, &is)| wide.of_all(grid, cell) as u64 == is));
                let Some(coarse) = part.halved(&[2]) else {
                    return Ok(());
                };
                let shape = part.near_box().halved(&[2]).size();
                let mut made = vec![0; shape.iter().product()];
                let moves = part.from_coarse(&[2], &coarse);
                let there = 0..coarse.near().cells();
                let there = there.map(|cell| coarse.cell_of_all(cell) as u64);
                let mut there: Vec<u64> = there.collect();
                moves.move_slice(one, &there, &mut made)?;
                there.fill(u64::MAX);
                let moves = part.to_coarse(&[2], &coarse);
                moves.move_slice(one, &made, &mut there)?;
                check(&coarse, &there);
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn one_rank_gathers_and_spreads_fields() {
        let grid = Grid::new([2, 9, 1]).unwrap();
        threads::run(3, |team| {
            let cells = Partition::even(18, 1, 3);
            let part = GridPart::shared(&team, grid, &cells).unwrap();
            let near = part.near().cells();
            let numbers = (0..2 * near).map(|place| {
                let is_own = part
                    .own_lines()
                    .any(|lines| lines.contains(&(place % near / 2)));
                let number = part.cell_of_all(place % near) + 100 * (place / near);
                if is_own { number as u64 } else { u64::MAX }
            });
            let mut values: Vec<u64> = numbers.collect();
            part.refresh([2, 1], &mut values)?;
            let expected = values.clone();
            let mut whole = vec![0; if team.rank() == 0 { 36 } else { 0 }];
            part.to_first().move_slice([2, 1], &values, &mut whole)?;
            let numbers = (0..18).chain(100..118).take(whole.len());
            assert_eq!(whole, numbers.collect::<Vec<u64>>());
            values.fill(0);
            part.from_first().move_slice([2, 1], &whole, &mut values)?;
            assert_eq!(values, expected);
            Ok(())
        })
        .unwrap();
    }
}
