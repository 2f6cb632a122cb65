//! Islands of a grid that several ranks share, and their functions.
//!
//! A rank looks at own cells and rings of cells around them, as many as its islands need; there everything is done as it is
//! without ranks.

use crate::arrays::IslandBoxes;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::{CellBox, GridPart};
use crate::structured::StencilMatrix;
use crate::structured::island_basis::REACH;
use crate::structured::island_search::{LINES, TIED, island_from, offset};

/// Rings that are looked at first; twice as many while an island may end beyond them.
const RINGS: usize = 8;

/// The function of an island, in cells of the whole grid; cells ascend, and have no zeros.
pub(super) struct SharedFunction {
    /// The first cell of the island.
    pub first: u64,
    pub z: Vec<(u64, f64)>,
    pub az: Vec<(u64, f64)>,
}

/// The functions of the islands whose first cells are own ones, in the order of these; none on any rank where they would take
/// several times the memory of the matrix. All ranks call it together.
pub(super) fn own_functions(
    a: &StencilMatrix<f64>,
    part: &GridPart,
) -> Result<Vec<SharedFunction>> {
    let (wide, islands) = own_islands(a, part)?;
    let rings = islands.iter().map(|island| reach(part, &wide, island));
    let all = part.team().all_numbers(rings.max().unwrap_or(0) as u64)?;
    let rings = all.into_iter().max().unwrap_or(0) as usize;
    let (near, moves) = part.widened(rings);
    let around = part.team().agree(a.moved(near.grid(), &moves))?;
    let grid = part.grid();
    let of_all = |cell: usize| near.of_all(grid, cell) as u64;
    let made = |island: &Vec<u32>| {
        let moved = |&cell: &u32| near.place_of(grid, wide.of_all(grid, cell as usize)) as u32;
        let island: Vec<u32> = island.iter().map(moved).collect();
        let (boxes, functions) = around.island_function(&island)?;
        let [z, az] = functions.map(|numbers| {
            let cells = boxes.boxes()[0].cells(around.grid()).map(of_all);
            let all = cells.zip(numbers);
            all.filter(|&(_, value)| value != 0.0).collect()
        });
        let first = of_all(island[0] as usize);
        Some((boxes.cells(), SharedFunction { first, z, az }))
    };
    let found = a
        .executor()
        .run(around.bytes(), islands.iter().collect(), made);
    let (cells, functions): (Vec<usize>, Vec<_>) = found.into_iter().flatten().unzip();
    let total = part.team().total(cells.iter().sum::<usize>() as u64)?;
    Ok(match IslandBoxes::is_worth(grid, total) {
        true => functions,
        false => Vec::new(),
    })
}

/// How many rings around own cells the function of an island needs.
fn reach(part: &GridPart, wide: &CellBox, island: &[u32]) -> usize {
    let (own, grid) = (part.own(), wide.grid());
    let beyond = |&cell: &u32| {
        let place = grid.cell(cell as usize);
        let of_axis = |axis: usize| {
            let at = wide.first[axis] + place[axis];
            own.first[axis]
                .saturating_sub(at)
                .max((at + 1).saturating_sub(own.end[axis]))
        };
        of_axis(1).max(of_axis(2))
    };
    REACH + island.iter().map(beyond).max().unwrap_or(0)
}

/// The islands whose first cells are own ones, and the cells that theirs are numbered in.
pub(super) fn own_islands(
    a: &StencilMatrix<f64>,
    part: &GridPart,
) -> Result<(CellBox, Vec<Vec<u32>>)> {
    let own = a.links();
    let mut rings = RINGS;
    loop {
        let looked = Looked::new(part, rings, &own)?;
        let islands = looked.islands(a.executor(), part);
        let is_cut = |island: &Vec<u32>| island.iter().any(|&cell| looked.is_at_end(cell));
        if !part.team().any(islands.iter().any(is_cut))? {
            return Ok((looked.cells, islands));
        }
        rings *= 2;
    }
}

/// What is looked at: own cells and some around them.
struct Looked {
    cells: CellBox,
    /// Behind which places along y and z there are more cells of the grid.
    ends: Vec<(usize, usize)>,
    links: Vec<u32>,
}

impl Looked {
    fn new(part: &GridPart, rings: usize, own: &[u32]) -> Result<Self> {
        let (cells, moves) = part.widened(rings);
        let mut links = vec![0; cells.cells()];
        moves.move_to([1, 1], own, |_, cell, new: &[u32]| {
            links[cell..cell + new.len()].copy_from_slice(new);
        })?;
        let (size, all) = (cells.size(), part.grid().size());
        let low = [1, 2].map(|axis| (cells.first[axis] > 0).then_some((axis, 0)));
        let high = [1, 2].map(|axis| (cells.end[axis] < all[axis]).then(|| (axis, size[axis] - 1)));
        let ends = low.into_iter().chain(high).flatten().collect();
        let mut looked = Self { cells, ends, links };
        looked.cut();
        Ok(looked)
    }

    /// Leaves out links to cells that are not looked at. An island that goes on there is found with cells at the end, so
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

    /// The islands whose first cells are own ones.
    fn islands(&self, executor: &Executor, part: &GridPart) -> Vec<Vec<u32>> {
        let (grid, own) = (self.cells.grid(), self.cells.lines_of(&part.own()));
        let parts = own.flat_map(|lines| {
            let end = lines.end;
            lines
                .step_by(LINES)
                .map(move |first| first..(first + LINES).min(end))
        });
        let work = |lines: std::ops::Range<usize>| {
            let cells = lines.start * grid.length()..lines.end * grid.length();
            let islands = cells.filter_map(|cell| island_from(grid, &self.links, cell as u32));
            islands.collect::<Vec<_>>()
        };
        let found = executor.run(size_of_val(&self.links[..]), parts.collect(), work);
        found.into_iter().flatten().collect()
    }
}

/// The bits of all neighbours that are a step away along an axis.
fn steps(axis: usize, step: i8) -> u32 {
    let bits = (0..27).filter(|&bit| offset(bit)[axis] == step);
    bits.fold(0, |bits, bit| bits | 1 << bit)
}
