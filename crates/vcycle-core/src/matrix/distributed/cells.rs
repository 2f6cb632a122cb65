//! Cells of a grid that go from the arrays of some ranks to those of others.

use std::ops::Range;
use std::sync::Arc;

use super::cell_box::CellBox;
use super::cells_there::TablesThere;
use super::halo::Halo;
use super::wire::{bytes_of, bytes_of_mut};
use crate::communicator::{Communicator, Messages};
use crate::error::Result;
use crate::grid::Grid;
use crate::scalar::Element;

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

/// Cells one after the other, each with its place in both arrays.
fn runs(cells: impl Iterator<Item = (usize, usize)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (from, to) in cells {
        match runs.last_mut() {
            Some(last) if [last.from, last.to].map(|at| at + last.length) == [from, to] => {
                last.length += 1;
            }
            _ => runs.push(Run {
                from,
                to,
                length: 1,
            }),
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

    /// From own rows, and the others of a halo, to the places of all these in another array.
    pub fn of_halo(halo: &Halo, place: impl Fn(u64) -> usize) -> Self {
        let own = halo.own_rows();
        let kept = own.clone().enumerate();
        let sent = halo.sent().iter().map(|(rank, rows)| {
            // Who gets them knows where they go.
            let rows = rows.iter().map(|&row| (row as usize, row as usize));
            (*rank, runs(rows))
        });
        let mut others = halo.others();
        let received = halo.received().iter().map(|&(rank, count)| {
            let (rows, more) = others.split_at(count);
            others = more;
            (
                rank,
                runs(rows.iter().enumerate().map(|(at, &row)| (at, place(row)))),
            )
        });
        Self {
            team: Arc::clone(halo.team()),
            sent: sent.collect(),
            received: received.collect(),
            kept: runs(kept.map(|(at, row)| (at, place(row)))),
            there: TablesThere::default(),
        }
    }

    /// Those that stay, back to where they came from.
    #[must_use]
    pub fn kept_back(&self) -> Self {
        let back = self.kept.iter().map(|run| Run {
            from: run.to,
            to: run.from,
            length: run.length,
        });
        Self {
            team: Arc::clone(&self.team),
            sent: Vec::new(),
            received: Vec::new(),
            kept: back.collect(),
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
