//! Cells of a grid that go from the arrays of some ranks to those of others.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::cell_box::CellBox;
use super::exchange::Exchange;
use super::halo::Halo;
use crate::communicator::Communicator;
use crate::grid::Grid;
use crate::operations::cells::RunTable;
use crate::prelude::*;

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
        Self::of(array, array)
    }

    /// Some cells of a box that is an array.
    pub fn of(array: CellBox, some: CellBox) -> Self {
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
    let others = from.ranges(grid);
    let cells = to.ranges(grid).into_iter();
    let cells = cells.flat_map(|range| {
        let first = others.partition_point(|other| other.end <= range.start);
        let others = others[first..].iter();
        let others = others.take_while(move |other| other.start < range.end);
        others.map(move |other| other.start.max(range.start)..other.end.min(range.end))
    });
    merged(cells.map(|cells| Run {
        from: from.place(grid, cells.start),
        to: to.place(grid, cells.start),
        length: cells.len(),
    }))
}

/// Runs one after the other, those that follow each other in both arrays as one.
fn merged(parts: impl Iterator<Item = Run>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for run in parts {
        match runs.last_mut() {
            Some(last) if [last.from, last.to].map(|at| at + last.length) == [run.from, run.to] => {
                last.length += run.length;
            }
            _ => runs.push(run),
        }
    }
    runs
}

/// Single cells, each with its place in both arrays.
fn of_places(cells: impl Iterator<Item = (usize, usize)>) -> Vec<Run> {
    merged(cells.map(|(from, to)| Run {
        from,
        to,
        length: 1,
    }))
}

fn count(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.length).sum()
}

/// Which rank sends which cells to whom, and which stay.
#[derive(Debug)]
pub struct CellMoves {
    pub(super) exchange: Exchange,
    /// Those that are sent and received, rank by rank.
    pub(super) sent: Vec<Run>,
    pub(super) received: Vec<Run>,
    pub(super) kept: Vec<Run>,
    /// The same on a device, where one has asked.
    pub(super) tables: DeviceTables,
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
        let sent = others().map(|rank| (rank, common(grid, &own, &to(rank))));
        let received = others().map(|rank| (rank, common(grid, &from(rank), &wanted)));
        let kept = common(grid, &own, &wanted);
        Self::of_runs(team, sent.collect(), received.collect(), kept)
    }

    fn of_runs(
        team: &Arc<dyn Communicator>,
        sent: Vec<(usize, Vec<Run>)>,
        received: Vec<(usize, Vec<Run>)>,
        kept: Vec<Run>,
    ) -> Self {
        let counts = |ranks: &[(usize, Vec<Run>)]| {
            let counts = ranks.iter().map(|(rank, runs)| (*rank, count(runs)));
            counts.collect()
        };
        let all = |ranks: Vec<(usize, Vec<Run>)>| ranks.into_iter().flat_map(|(_, runs)| runs);
        Self {
            exchange: Exchange::new(team, counts(&sent), counts(&received)),
            sent: all(sent).collect(),
            received: all(received).collect(),
            kept,
            tables: DeviceTables::default(),
        }
    }

    /// Those that stay on this rank, alone.
    pub fn kept(team: &Arc<dyn Communicator>, grid: Grid, [from, to]: [CellBox; 2]) -> Self {
        let kept = common(grid, &Cells::all_of(from), &Cells::all_of(to));
        Self::of_runs(team, Vec::new(), Vec::new(), kept)
    }

    /// From some own rows, and the others of a halo, to the places of all these in another array.
    pub fn of_halo(
        halo: &Halo,
        is_kept: impl Fn(u64) -> bool,
        place: impl Fn(u64) -> usize,
    ) -> Self {
        let (mut rows, mut others) = (halo.sent_rows(), halo.others());
        let sent = halo.messages().sent().iter().map(|&(rank, count)| {
            let (now, later) = rows.split_at(count);
            rows = later;
            // The rank that gets them knows where they go.
            let places = now.iter().map(|&row| (row as usize, row as usize));
            (rank, of_places(places))
        });
        let received = halo.messages().received().iter().map(|&(rank, count)| {
            let (now, later) = others.split_at(count);
            others = later;
            let places = now.iter().enumerate();
            (rank, of_places(places.map(|(at, &row)| (at, place(row)))))
        });
        let kept = halo.own_rows().enumerate().filter(|&(_, row)| is_kept(row));
        let kept = of_places(kept.map(|(at, row)| (at, place(row))));
        Self::of_runs(halo.team(), sent.collect(), received.collect(), kept)
    }

    /// Those that stay, back to where they came from.
    #[must_use]
    pub fn kept_back(&self) -> Self {
        let back = self.kept.iter().map(|run| Run {
            from: run.to,
            to: run.from,
            length: run.length,
        });
        let team = self.exchange.team();
        Self::of_runs(team, Vec::new(), Vec::new(), back.collect())
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
        self.exchange.sent().len()
    }

    /// Numbers this one sends, for one a cell.
    pub fn sent_count(&self) -> usize {
        self.exchange.sent_count()
    }
}

/// The runs of all moves on a device.
#[derive(Debug)]
pub(super) struct RunTables {
    device: Executor,
    pub sent: RunTable,
    pub received: RunTable,
    pub kept: RunTable,
}

/// Those of the device that asked last.
#[derive(Debug, Default)]
pub(super) struct DeviceTables(Mutex<Option<Arc<RunTables>>>);

impl DeviceTables {
    /// Those of moves on a device.
    pub fn of(&self, moves: &CellMoves, device: &Executor) -> Arc<RunTables> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.take().filter(|known| known.is_of(device));
        let made = found.unwrap_or_else(|| Arc::new(RunTables::new(moves, device)));
        Arc::clone(known.insert(made))
    }
}

impl RunTables {
    fn new(moves: &CellMoves, device: &Executor) -> Self {
        Self {
            sent: table(device, &moves.sent),
            received: table(device, &moves.received),
            kept: table(device, &moves.kept),
            device: device.clone(),
        }
    }

    fn is_of(&self, device: &Executor) -> bool {
        match (self.device.device(), device.device()) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

fn table(device: &Executor, runs: &[Run]) -> RunTable {
    let mut starts = vec![0];
    for run in runs {
        starts.push(starts[starts.len() - 1] + run.length);
    }
    let from = runs.iter().map(|run| run.from).collect();
    let to = runs.iter().map(|run| run.to).collect();
    RunTable {
        cells: starts[starts.len() - 1],
        starts: Buffer::from_vec(device, starts),
        places: [from, to].map(|places| Buffer::from_vec(device, places)),
    }
}
