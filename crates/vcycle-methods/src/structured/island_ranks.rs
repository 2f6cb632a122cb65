//! Islands of a grid that several ranks share.
//!
//! A rank looks for islands in own cells and rings of cells around them, as many as they need. Then it takes planes around its
//! rows, so many that all functions which reach own rows are there, and makes these as one process does: an island at the
//! boundary is corrected by every rank that has rows of its box, with the same bits.

use std::ops::Range;

use super::StencilMatrix;
use super::decode::ALL;
use super::island_basis::{REACH, extents};
use super::island_search::{TIED, islands_from};
use crate::arrays::{IslandBoxes, IslandFunctions, Ranges};
use crate::matrix::{CellBox, CellMoves, GridPart, Halo};
use crate::prelude::*;

/// A matrix whose rows ranks share, and how they share its grid.
pub(super) type Ranks<'r> = (&'r Distributed<f64>, &'r GridPart);

/// Rings that are looked at first; twice as many while an island may end beyond them.
const RINGS: usize = 8;

/// The functions that reach own rows, on planes around these.
pub(super) struct RankFunctions {
    pub(super) functions: IslandFunctions,
    pub(super) moves: FunctionMoves,
}

/// Moves between own rows and planes of cells around them.
#[derive(Debug)]
pub(super) struct FunctionMoves {
    /// Cells of all planes.
    pub(super) cells: usize,
    /// From own rows of all ranks to the cells of the functions, and back.
    pub(super) enter: CellMoves,
    pub(super) leave: CellMoves,
}

impl RankFunctions {
    /// Those of the islands of a symmetric matrix; none where there are none, or some cannot be corrected. All ranks call it
    /// together.
    pub(super) fn new(a: &StencilMatrix<f64>, (rows, part): Ranks<'_>) -> Result<Option<Self>> {
        let team = part.team();
        let links = match a.executor().is_device() {
            true => team.agree(a.copy_to(&rows.executor().alone()))?.links(),
            false => a.links(),
        };
        let host = rows.executor().alone();
        let Some((length, has_some)) = longest(&host, part, &links)? else {
            return Ok(None);
        };
        // So functions that have cells in common with those that reach own rows are there as a whole, and the last plane
        // belongs to none of them.
        let (wide, moves) = part.around_rows(rows.rows(), 2 * length + 1);
        let near = team.agree(a.moved(wide.grid(), &moves))?;
        let own = OwnRows { rows, part, wide };
        let (functions, has_some) = match near.executor().is_device() {
            true => {
                let found = near.island_functions_there(own.cut());
                let found = team.agree(found)?.expect("a device that sets up");
                (found, has_some)
            }
            false => {
                let seen = Seen::new(wide, part, &links, &moves)?;
                let islands = own.relevant(seen.whole_islands(&host));
                let has_some = !islands.is_empty();
                (near.functions_of(islands), has_some)
            }
        };
        let reaching = own.reaching(functions.boxes());
        let weights = functions.weights().first(functions.count())?;
        // None are left where they are too many for these planes.
        let is_lost = has_some && functions.count() == 0;
        if team.any(is_lost || reaching.iter().any(|&island| weights[island] <= 0.0))? {
            return Ok(None);
        }
        let functions = functions.some(&reaching)?;
        let is_needed = own.cells_of(functions.boxes());
        let cells = (0..is_needed.len()).filter(|&cell| is_needed[cell]);
        let needed = cells.map(|cell| own.row(cell)).collect();
        let halo = Halo::new(team, rows.rows(), needed)?;
        let place = |row: u64| wide.place_of(part.grid(), row as usize);
        let enter = CellMoves::of_halo(&halo, |row| is_needed[place(row)], place);
        let moves = FunctionMoves {
            cells: wide.cells(),
            leave: enter.kept_back(),
            enter,
        };
        Ok(Some(Self { functions, moves }))
    }
}

/// Planes that the box around an island has, at most, over all ranks, and whether this one has islands; none where there are
/// no islands, or so many that their boxes would take several times the memory of the matrix.
fn longest(host: &Executor, part: &GridPart, links: &[u32]) -> Result<Option<(usize, bool)>> {
    let (seen, islands) = own_islands(host, part, links)?;
    let (grid, axis) = (part.grid(), part.slab_axis());
    let boxes = islands.iter().filter_map(|island| {
        let mut ranges = extents(seen.grid(), island);
        for (axis, range) in ranges.iter_mut().enumerate() {
            let first = seen.first[axis];
            *range = range.start + first..range.end + first;
        }
        IslandBoxes::around(grid, &ranges, REACH)
    });
    let (mut cells, mut planes) = (0, 0);
    for size in boxes.map(|ranges| ranges.map(|range| range.len())) {
        cells += size.iter().product::<usize>() as u64;
        planes = planes.max(size[axis] as u64);
    }
    let total = part.team().total(cells)?;
    let planes = part.team().all_numbers(planes)?.into_iter().max();
    let is_worth = total > 0 && IslandBoxes::is_worth(grid, total);
    let planes = planes.filter(|_| is_worth);
    Ok(planes.map(|planes| (planes as usize, cells > 0)))
}

/// The islands whose first cells are own ones, and the cells that theirs are numbered in.
fn own_islands(
    host: &Executor,
    part: &GridPart,
    links: &[u32],
) -> Result<(CellBox, Vec<Vec<u32>>)> {
    let mut rings = RINGS;
    loop {
        let (cells, moves) = part.widened(rings);
        let seen = Seen::new(cells, part, links, &moves)?;
        let islands = seen.islands(host, &part.own());
        let is_cut = |island: &Vec<u32>| island.iter().any(|&cell| seen.is_at_end(cell));
        if !part.team().any(islands.iter().any(is_cut))? {
            return Ok((cells, islands));
        }
        rings *= 2;
    }
}

/// The links of own cells and of some around them.
struct Seen {
    cells: CellBox,
    /// Behind which places along y and z there are more cells of the grid.
    ends: Vec<(usize, usize)>,
    links: Vec<u32>,
}

impl Seen {
    fn new(cells: CellBox, part: &GridPart, own: &[u32], moves: &CellMoves) -> Result<Self> {
        let mut links = vec![0; cells.cells()];
        moves.move_slice([1, 1], own, &mut links)?;
        let (size, all) = (cells.size(), part.grid().size());
        let low = [1, 2].map(|axis| (cells.first[axis] > 0).then_some((axis, 0)));
        let high = [1, 2].map(|axis| (cells.end[axis] < all[axis]).then(|| (axis, size[axis] - 1)));
        let ends = low.into_iter().chain(high).flatten().collect();
        let mut seen = Self { cells, ends, links };
        seen.cut();
        Ok(seen)
    }

    /// Leaves out links to cells that are not seen. An island that goes on there is found with cells at the end, so
    /// these are tied to nothing.
    fn cut(&mut self) {
        let grid = self.cells.grid();
        for line in 0..grid.lines() {
            let place = grid.place(line);
            let ends = self
                .ends
                .iter()
                .filter(|(axis, end)| place[axis - 1] == *end);
            let beyond = ends.fold(0, |bits, &(axis, end)| {
                bits | steps(axis, if end == 0 { -1 } else { 1 }) | TIED
            });
            let cells = line * grid.length()..(line + 1) * grid.length();
            self.links[cells]
                .iter_mut()
                .for_each(|links| *links &= !beyond);
        }
    }

    fn is_at_end(&self, cell: u32) -> bool {
        let grid = self.cells.grid();
        let place = grid.place(cell as usize / grid.length());
        self.ends.iter().any(|(axis, end)| place[axis - 1] == *end)
    }

    /// The islands whose first cells are in a box.
    fn islands(&self, host: &Executor, firsts: &CellBox) -> Vec<Vec<u32>> {
        let lines = self.cells.lines_of(firsts);
        islands_from(host, self.cells.grid(), &self.links, lines)
    }

    /// All islands that do not end beyond what is seen.
    fn whole_islands(&self, host: &Executor) -> Vec<Vec<u32>> {
        let mut islands = self.islands(host, &self.cells);
        islands.retain(|island| !island.iter().any(|&cell| self.is_at_end(cell)));
        islands
    }
}

/// The bits of all neighbours that are a step away along an axis.
fn steps(axis: usize, step: i8) -> u32 {
    let offsets = ALL.iter().rev();
    offsets.fold(0, |bits, offset| {
        bits << 1 | u32::from(offset[axis] == step)
    })
}

/// Own rows among planes around them.
struct OwnRows<'a> {
    rows: &'a Distributed<f64>,
    part: &'a GridPart,
    wide: CellBox,
}

impl OwnRows<'_> {
    /// The row of a cell of these planes.
    fn row(&self, cell: usize) -> u64 {
        self.wide.of_all(self.part.grid(), cell) as u64
    }

    /// Where the grid goes on beyond planes, a bit for each side.
    fn cut(&self) -> u32 {
        let (axis, all) = (self.part.slab_axis(), self.part.grid().size());
        let low = u32::from(self.wide.first[axis] > 0);
        let high = u32::from(self.wide.end[axis] < all[axis]);
        (low | high << 1) << (2 * (axis - 1))
    }

    /// The islands whose boxes may reach own rows, or have cells in common with such boxes.
    fn relevant(&self, mut islands: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        let (axis, grid) = (self.part.slab_axis(), self.wide.grid());
        let plane = (grid.cells() / grid.size()[axis]) as u64;
        let own = self.rows.columns().own_rows();
        let first = self.wide.first[axis];
        let mut span = (own.start / plane) as usize..own.end.div_ceil(plane) as usize;
        span = span.start.saturating_sub(first)..span.end.saturating_sub(first);
        let planes = |island: &[u32]| -> Option<Range<usize>> {
            let ranges: Ranges = IslandBoxes::around(grid, &extents(grid, island), REACH)?;
            Some(ranges[axis].clone())
        };
        let meets = |one: &Range<usize>, other: &Range<usize>| {
            one.start < other.end && other.start < one.end
        };
        let boxes = islands.iter().filter_map(|island| planes(island));
        let reaching = boxes.filter(|planes| meets(planes, &span));
        let wide = reaching.fold(span.clone(), |all, one| {
            all.start.min(one.start)..all.end.max(one.end)
        });
        islands.retain(|island| planes(island).is_some_and(|planes| meets(&planes, &wide)));
        islands
    }

    /// The islands whose boxes have own rows.
    fn reaching(&self, boxes: &IslandBoxes) -> Vec<usize> {
        let own = self.rows.columns().own_rows();
        let reaches = |&island: &usize| {
            let mut cells = boxes.boxes()[island].cells(self.wide.grid());
            cells.any(|cell| own.contains(&self.row(cell)))
        };
        (0..boxes.boxes().len()).filter(reaches).collect()
    }

    /// Whether each cell is in some box.
    fn cells_of(&self, boxes: &IslandBoxes) -> Vec<bool> {
        let mut is_needed = vec![false; self.wide.cells()];
        for one in boxes.boxes() {
            let cells = one.cells(self.wide.grid());
            cells.for_each(|cell| is_needed[cell] = true);
        }
        is_needed
    }
}
