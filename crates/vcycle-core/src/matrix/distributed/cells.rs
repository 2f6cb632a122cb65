//! Cells of a grid that go from the arrays of some ranks to those of others.

use std::ops::Range;
use std::sync::Arc;

use super::cells_there::TablesThere;
use super::wire::{bytes_of, bytes_of_mut};
use crate::communicator::{Communicator, Messages};
use crate::error::Result;
use crate::grid::Grid;
use crate::scalar::Element;

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
    fn place(&self, [x, y, z]: [usize; 3]) -> usize {
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

/// Cells in an array of a rank.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    /// Consecutive ones of the grid.
    Rows(Range<usize>),
    /// Some of a box, all of whose cells have places in the array.
    Box { array: CellBox, some: CellBox },
}

impl Cells {
    pub fn all_of(array: CellBox) -> Self {
        let some = array;
        Self::Box { array, some }
    }

    /// The place of a cell in the array.
    fn place(&self, grid: Grid, cell: usize) -> usize {
        match self {
            Self::Rows(rows) => cell - rows.start,
            Self::Box { array, .. } => array.place(grid.cell(cell)),
        }
    }

    /// The planes of these cells, those in a box alone.
    fn clipped(&self, by: &CellBox) -> Self {
        match self {
            Self::Rows(_) => self.clone(),
            Self::Box { array, some } => Self::Box {
                array: *array,
                some: some.and(by),
            },
        }
    }

    /// Ranges of consecutive cells of the grid.
    fn ranges(&self, grid: Grid) -> Vec<Range<usize>> {
        match self {
            Self::Rows(rows) if rows.is_empty() => Vec::new(),
            Self::Rows(rows) => vec![rows.clone()],
            Self::Box { some, .. } if some.cells() == 0 => Vec::new(),
            Self::Box { some, .. } => {
                let lines = CellBox::all(grid).lines_of(some);
                let length = grid.length();
                lines
                    .map(|lines| lines.start * length..lines.end * length)
                    .collect()
            }
        }
    }
}

/// Cells that are side by side in both arrays.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub from: usize,
    pub to: usize,
    pub length: usize,
}

/// The cells of both, in their order.
fn common(grid: Grid, from: &Cells, to: &Cells) -> Vec<Run> {
    let (from, to) = match (from, to) {
        (Cells::Box { some, .. }, _) => (from.clone(), to.clipped(some)),
        (_, Cells::Box { some, .. }) => (from.clipped(some), to.clone()),
        _ => (from.clone(), to.clone()),
    };
    let mut runs: Vec<Run> = Vec::new();
    let others = from.ranges(grid);
    let cells = to.ranges(grid).into_iter();
    let cells = cells.flat_map(|range| {
        let first = others.partition_point(|other| other.end <= range.start);
        let others = others[first..].iter();
        let others = others.take_while(move |other| other.start < range.end);
        others.map(move |other| other.start.max(range.start)..other.end.min(range.end))
    });
    for cells in cells {
        let run = Run {
            from: from.place(grid, cells.start),
            to: to.place(grid, cells.start),
            length: cells.len(),
        };
        match runs.last_mut() {
            Some(last)
                if last.from + last.length == run.from && last.to + last.length == run.to =>
            {
                last.length += run.length;
            }
            _ => runs.push(run),
        }
    }
    runs
}

pub(super) fn count(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.length).sum()
}

/// Who sends which cells to whom, and which stay.
#[derive(Debug)]
pub struct CellMoves {
    pub(super) team: Arc<dyn Communicator>,
    pub(super) sent: Vec<(usize, Vec<Run>)>,
    pub(super) received: Vec<(usize, Vec<Run>)>,
    pub(super) kept: Vec<Run>,
    /// The same on a device, where one has asked.
    pub(super) there: TablesThere,
}

impl CellMoves {
    /// From the cells that every rank has to those that every rank is to have.
    pub(super) fn new(
        team: &Arc<dyn Communicator>,
        grid: Grid,
        from: impl Fn(usize) -> Cells,
        to: impl Fn(usize) -> Cells,
    ) -> Self {
        let me = team.rank();
        let (own, wanted) = (from(me), to(me));
        let others = || (0..team.size()).filter(|&rank| rank != me);
        let is_some = |(_, runs): &(usize, Vec<Run>)| !runs.is_empty();
        let sent = others().map(|rank| (rank, common(grid, &own, &to(rank))));
        let received = others().map(|rank| (rank, common(grid, &from(rank), &wanted)));
        Self {
            team: Arc::clone(team),
            sent: sent.filter(is_some).collect(),
            received: received.filter(is_some).collect(),
            kept: common(grid, &own, &wanted),
            there: TablesThere::default(),
        }
    }

    /// Those that stay on this rank, alone.
    pub fn kept(team: &Arc<dyn Communicator>, grid: Grid, [from, to]: [CellBox; 2]) -> Self {
        Self {
            team: Arc::clone(team),
            sent: Vec::new(),
            received: Vec::new(),
            kept: common(grid, &Cells::all_of(from), &Cells::all_of(to)),
            there: TablesThere::default(),
        }
    }

    /// Without those that stay.
    pub(super) fn without_kept(self) -> Self {
        Self {
            kept: Vec::new(),
            ..self
        }
    }

    /// Ranks this one sends to.
    pub fn neighbours(&self) -> usize {
        self.sent.len()
    }

    /// Numbers this one sends, for one a cell.
    pub fn sent_count(&self) -> usize {
        self.sent.iter().map(|(_, runs)| count(runs)).sum()
    }

    /// Moves `per_cell` numbers a cell, in `fields` arrays that lie one behind the other. `put` is told the field, the place of
    /// a cell in the array that they go to, and the numbers from there on. All ranks call it together.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn move_to<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        from: &[T],
        mut put: impl FnMut(usize, usize, &[T]),
    ) -> Result<()> {
        for (field, values) in fields_of(from, fields) {
            for run in &self.kept {
                let first = run.from * per_cell;
                put(field, run.to, &values[first..first + run.length * per_cell]);
            }
        }
        let packed = self.packed([fields, per_cell], from);
        self.travel([fields, per_cell], &packed, put)
    }

    /// The same within one array.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn refresh<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        values: &mut [T],
    ) -> Result<()> {
        let share = values.len() / fields;
        let packed = self.packed([fields, per_cell], values);
        self.travel([fields, per_cell], &packed, |field, cell, new: &[T]| {
            let first = field * share + cell * per_cell;
            values[first..first + new.len()].copy_from_slice(new);
        })
    }

    /// What is sent, rank by rank, run by run, of each field by field.
    fn packed<T: Element>(&self, [fields, per_cell]: [usize; 2], from: &[T]) -> Vec<T> {
        let mut packed = Vec::with_capacity(self.sent_count() * fields * per_cell);
        for (_, runs) in &self.sent {
            for run in runs {
                for (_, values) in fields_of(from, fields) {
                    let first = run.from * per_cell;
                    packed.extend_from_slice(&values[first..first + run.length * per_cell]);
                }
            }
        }
        packed
    }

    /// Exchanges what is packed, and puts what comes where it belongs.
    fn travel<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        packed: &[T],
        mut put: impl FnMut(usize, usize, &[T]),
    ) -> Result<()> {
        let width = fields * per_cell;
        let all = self.received.iter().map(|(_, runs)| count(runs) * width);
        let mut arrived = vec![T::default(); all.sum()];
        let (sent, received) = (bytes_of(packed), bytes_of_mut(&mut arrived));
        self.exchange(width * size_of::<T>(), sent, received, &mut || Ok(()))?;
        let mut rest = arrived.as_slice();
        for (_, runs) in &self.received {
            for run in runs {
                for field in 0..fields {
                    let (values, more) = rest.split_at(run.length * per_cell);
                    put(field, run.to, values);
                    rest = more;
                }
            }
        }
        Ok(())
    }

    /// Sends and receives what is packed, so many bytes a cell; `meanwhile` is called while it travels.
    pub(super) fn exchange(
        &self,
        width: usize,
        packed: &[u8],
        arrived: &mut [u8],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let (mut rest, mut messages) = (packed, Messages::default());
        for (rank, runs) in &self.sent {
            let (part, more) = rest.split_at(count(runs) * width);
            messages.sent.push((*rank, part));
            rest = more;
        }
        let mut rest = arrived;
        for (rank, runs) in &self.received {
            let (part, more) = rest.split_at_mut(count(runs) * width);
            messages.received.push((*rank, part));
            rest = more;
        }
        self.team.exchange(&mut messages, meanwhile)
    }
}

/// The arrays of all fields; where there are no cells, each is empty.
fn fields_of<T>(values: &[T], fields: usize) -> impl Iterator<Item = (usize, &[T])> {
    let share = values.len() / fields;
    (0..fields).map(move |field| (field, &values[field * share..(field + 1) * share]))
}
