//! Corrections by a function for each island, over ranks with devices.

use std::sync::Arc;

use super::islands::own_islands;
use crate::arrays::{IslandBoxes, IslandFunctions};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::matrix::{CellBox, CellMoves, CellOrder, Distributed, GridPart, Halo};
use crate::structured::StencilMatrix;
use crate::structured::columns::by_column;
use crate::structured::island_basis::{REACH, extents};
use crate::vector::Vector;

/// [`IslandCorrection`](crate::structured::island_correction::IslandCorrection) for own rows, with the bits of one device.
///
/// A rank knows planes around its rows, as many as the islands near them need, and corrects there as a device does alone: an
/// island at the boundary is corrected by every rank that has rows of its box. What is found for other rows is dropped.
#[derive(Debug)]
pub(in crate::structured) struct IslandsThere {
    cycle: Arc<dyn LinOp<f64>>,
    functions: IslandFunctions,
    /// Cells of all planes that are known.
    wide: usize,
    /// From own rows of all ranks to these planes, those alone that functions which reach own rows need.
    enter: CellMoves,
    /// The own ones of them back to rows.
    leave: CellMoves,
}

impl IslandsThere {
    /// Around the cycle of a symmetric matrix that is on a device; the cycle itself where there are no islands. All ranks call
    /// it together.
    pub(in crate::structured) fn around(
        cycle: Arc<dyn LinOp<f64>>,
        rows: &Distributed<f64>,
        (a, part): (&StencilMatrix<f64>, &GridPart),
    ) -> Result<Arc<dyn LinOp<f64>>> {
        let team = part.team();
        let here = team.agree(a.copy_to(&rows.executor().alone()))?;
        let Some((length, has_some)) = longest(&here, part)? else {
            return Ok(cycle);
        };
        // So functions that have cells in common with those that reach own rows are there as a whole, and the last plane
        // belongs to none of them.
        let (wide, moves) = part.around_rows(rows.rows(), 2 * length + 1);
        let near = team.agree(a.moved(wide.grid(), &moves))?;
        let found = near.island_functions_there(cut(&wide, part));
        let Some(functions) = team.agree(found)? else {
            return Ok(cycle);
        };
        let own = OwnRows::new(rows, part, wide);
        let weights = functions.weights().first(functions.count())?;
        let reaching = own.reaching(functions.boxes());
        // None are left where they are too many for the planes that are known.
        let is_lost = has_some && functions.count() == 0;
        if team.any(is_lost || reaching.iter().any(|&island| weights[island] <= 0.0))? {
            return Ok(cycle);
        }
        let halo = Halo::new(team, rows.rows(), own.others(functions.boxes(), &reaching))?;
        let enter = CellMoves::of_halo(&halo, |row| wide.place_of(part.grid(), row as usize));
        Ok(Arc::new(Self {
            cycle,
            functions,
            wide: wide.cells(),
            leave: enter.kept_back(),
            enter,
        }))
    }

    /// The correction before and after a cycle, of one column.
    fn corrected(&self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let (there, islands) = (self.functions.z().executor(), self.functions.count());
        let mut first = ws.vector::<f64>(there, islands, 1)?;
        let mut both = ws.vector::<f64>(there, islands, 1)?;
        let mut wide_r = ws.vector::<f64>(there, self.wide, 1)?;
        let mut wide_x = ws.vector::<f64>(there, self.wide, 1)?;
        let mut r = ws.vector_like::<f64, f64>(b)?;
        self.enter(b, &mut wide_r, ws)?;
        self.functions.sums(&wide_r, None, &mut first)?;
        self.functions.subtract_products(&first, &mut wide_r)?;
        self.leave(&wide_r, &mut r, ws)?;
        self.cycle.apply(&r, x, ws)?;
        // D^-1 Z^T (r - A x), on top of the first correction.
        self.enter(&r, &mut wide_r, ws)?;
        self.enter(x, &mut wide_x, ws)?;
        let before = Some([&*first, &*wide_x]);
        self.functions.sums(&wide_r, before, &mut both)?;
        self.functions.add(&both, &mut wide_x)?;
        self.leave(&wide_x, x, ws)
    }

    /// The numbers that are needed of own rows and others, and zeros elsewhere: functions are zero there, and what is not a
    /// number would not be.
    fn enter(&self, own: &Vector<f64>, wide: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let order = CellOrder::Rows;
        wide.fill(0.0)?;
        self.enter.move_there(1, (own, order), (wide, order), ws)
    }

    fn leave(&self, wide: &Vector<f64>, own: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let order = CellOrder::Rows;
        self.leave.move_there(1, (wide, order), (own, order), ws)
    }
}

impl LinOp<f64> for IslandsThere {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", self.size(), self.executor(), b, x)?;
        by_column(b, x, ws, |b, x| self.corrected(b, x, ws))
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        let (cycle, own) = (self.cycle.footprint(), self.functions.bytes());
        Footprint {
            held: cycle.held + own,
            moved: cycle.moved + 2 * own,
        }
    }
}

/// Planes that the box around an island has, at most, over all ranks, and whether this one has islands; none where there are
/// no islands, or so many that their boxes would take several times the memory of the matrix.
fn longest(a: &StencilMatrix<f64>, part: &GridPart) -> Result<Option<(usize, bool)>> {
    let (looked, islands) = own_islands(a, part)?;
    let (grid, axis) = (part.grid(), part.slab_axis());
    let boxes = islands.iter().filter_map(|island| {
        let mut ranges = extents(looked.grid(), island);
        for (axis, range) in ranges.iter_mut().enumerate() {
            let first = looked.first[axis];
            *range = range.start + first..range.end + first;
        }
        IslandBoxes::around(grid, &ranges, REACH)
    });
    let sizes = boxes.map(|ranges| ranges.map(|range| range.len()));
    let (mut cells, mut planes) = (0, 0);
    for size in sizes {
        cells += size.iter().product::<usize>() as u64;
        planes = planes.max(size[axis] as u64);
    }
    let total = part.team().total(cells)?;
    let planes = part.team().all_numbers(planes)?.into_iter().max();
    let is_worth = total > 0 && IslandBoxes::is_worth(grid, total);
    let planes = planes.filter(|_| is_worth);
    Ok(planes.map(|planes| (planes as usize, cells > 0)))
}

/// Where the grid goes on beyond planes, a bit for each side.
fn cut(wide: &CellBox, part: &GridPart) -> u32 {
    let (axis, all) = (part.slab_axis(), part.grid().size());
    let low = u32::from(wide.first[axis] > 0);
    let high = u32::from(wide.end[axis] < all[axis]);
    (low | high << 1) << (2 * (axis - 1))
}

/// Own rows among planes that are known.
struct OwnRows<'a> {
    rows: &'a Distributed<f64>,
    part: &'a GridPart,
    wide: CellBox,
}

impl<'a> OwnRows<'a> {
    fn new(rows: &'a Distributed<f64>, part: &'a GridPart, wide: CellBox) -> Self {
        Self { rows, part, wide }
    }

    /// The rows of a box.
    fn of_box(&self, boxes: &IslandBoxes, island: usize) -> impl Iterator<Item = u64> {
        let cells = boxes.boxes()[island].cells(self.wide.grid());
        cells.map(|cell| self.wide.of_all(self.part.grid(), cell) as u64)
    }

    fn is_own(&self, row: u64) -> bool {
        self.rows.columns().own_rows().contains(&row)
    }

    /// The islands whose boxes have own rows.
    fn reaching(&self, boxes: &IslandBoxes) -> Vec<usize> {
        let islands = 0..boxes.boxes().len();
        let reaches = |&island: &usize| self.of_box(boxes, island).any(|row| self.is_own(row));
        islands.filter(reaches).collect()
    }

    /// The rows of other ranks in the boxes of some islands.
    fn others(&self, boxes: &IslandBoxes, islands: &[usize]) -> Vec<u64> {
        let mut is_needed = vec![false; self.wide.cells()];
        for &island in islands {
            let cells = boxes.boxes()[island].cells(self.wide.grid());
            cells.for_each(|cell| is_needed[cell] = true);
        }
        let cells = (0..is_needed.len()).filter(|&cell| is_needed[cell]);
        let rows = cells.map(|cell| self.wide.of_all(self.part.grid(), cell) as u64);
        rows.filter(|&row| !self.is_own(row)).collect()
    }
}
