//! Where the entries of a matrix on a grid lead.

use std::ops::Range;

use super::{Grid, Offset};
use crate::matrix::{LocalNumbers, ranges};
use crate::multiversion;
use crate::prelude::*;
use crate::reference::csr::CsrArrays;

/// All offsets there can be.
pub(super) const ALL: [Offset; 27] = {
    let mut all = [[0; 3]; 27];
    let mut place = 0;
    while place < 27 {
        let (x, y, z) = (place % 3, place / 3 % 3, place / 9);
        all[place] = [x as i8 - 1, y as i8 - 1, z as i8 - 1];
        place += 1;
    }
    all
};

/// Rows that one task does.
pub(super) const ROWS: usize = 16 * 1024;

/// Finds the offset that leads from the cell of one row to that of another.
pub(super) struct Decoder<'n> {
    pub grid: Grid,
    pub unknowns: usize,
    distances: [isize; 27],
    /// What rows and columns are, where ranks share the matrix.
    numbers: Option<&'n LocalNumbers>,
}

/// Rows of one unknown in consecutive cells of a line, all with entries for the same neighbours.
pub(super) struct Run<'a, T> {
    pub line: usize,
    /// The first cell on the line and in the grid, and how many there are.
    pub x: usize,
    pub cell: usize,
    pub count: usize,
    pub unknown: usize,
    /// Where every entry of a row leads: the place of its offset in [`ALL`], times the unknowns, plus the unknown
    /// of its column.
    pub streams: &'a [u8],
    /// Values from the first row on, and how many there are from a row to the next.
    values: &'a [T],
    stride: usize,
}

impl<T: Scalar> Run<'_, T> {
    /// Whether one entry is not zero in some row.
    pub fn is_used(&self, entry: usize) -> bool {
        let rows = self.values[entry..].iter().step_by(self.stride);
        rows.take(self.count).any(|value| *value != T::default())
    }

    /// The values of one entry in all rows.
    pub fn copy(&self, entry: usize, out: &mut [T]) {
        every(self.stride, &self.values[entry..], &mut out[..self.count]);
    }
}

/// What zeros lead to that are at no neighbour.
const NOWHERE: u8 = u8::MAX;
/// Cells of a run at most: its values are read once for each entry of a row, from the nearest cache.
const RUN: usize = 128;

impl<'n> Decoder<'n> {
    pub(super) fn new(grid: Grid, unknowns: usize) -> Self {
        let distances = ALL.map(|offset| grid.distance(offset));
        Self {
            grid,
            unknowns,
            distances,
            numbers: None,
        }
    }

    /// For the own rows of a rank.
    pub(super) fn of_rank(self, numbers: &'n LocalNumbers) -> Self {
        let numbers = Some(numbers);
        Self { numbers, ..self }
    }

    /// The first row that is at hand.
    fn first_row(&self) -> usize {
        self.numbers
            .map_or(0, |numbers| numbers.own_rows().start as usize)
    }

    /// The column of the whole matrix.
    #[inline]
    fn column(&self, here: u32) -> usize {
        let here = here as usize;
        self.numbers
            .map_or(here, |numbers| numbers.global(here) as usize)
    }

    /// Whether columns that are so far apart here are so in the whole matrix; those between them are, then.
    fn are_apart(&self, columns: &[u32], distance: u32) -> bool {
        let is = |&one: &u32| self.column(one + distance) == self.column(one) + distance as usize;
        self.numbers.is_none() || columns.iter().all(is)
    }

    /// Which places of [`ALL`] lead from a cell to another.
    #[inline]
    fn there(&self, cell: [usize; 3]) -> u32 {
        let is_inside = |place| self.grid.shifted(cell, ALL[place]).is_some();
        (0..27)
            .map(|place| u32::from(is_inside(place)) << place)
            .sum()
    }

    /// Calls `visit` for the rows of `cells`.
    ///
    /// # Errors
    /// The position of the first entry that is no neighbour of its row.
    pub(super) fn each_run<T: Scalar>(
        &self,
        a: &Csr<T>,
        cells: Range<usize>,
        mut visit: impl FnMut(Run<'_, T>),
    ) -> Result<(), (usize, usize)> {
        let (a, r, [nx, ny, _]) = (a.at_hand(), self.unknowns, self.grid.size());
        let mut streams = vec![Vec::new(); r];
        let (mut cell, first_row) = (cells.start, self.first_row());
        while cell < cells.end {
            let row = cell * r - first_row;
            let [x, y, z] = self.grid.cell(cell);
            for (unknown, streams) in streams.iter_mut().enumerate() {
                self.look_up(&a, [x, y, z], unknown, streams);
            }
            // Cells between the ends of a line have the same neighbours.
            let most = match x > 0 && x + 1 < nx {
                true => (nx - 1 - x).min(cells.end - cell).min(RUN),
                false => 1,
            };
            let mut count = alike(&a, row, r, most);
            let columns = &a.columns[a.offsets[row]..a.offsets[row + r]];
            if !self.are_apart(columns, ((count - 1) * r) as u32) {
                count = 1;
            }
            let lost = check_nowhere(&a, row..row + count * r, &streams);
            lost.map_err(|(row, column)| (first_row + row, self.column(column)))?;
            for (unknown, streams) in streams.iter().enumerate() {
                let first = a.offsets[row + unknown];
                visit(Run {
                    line: y + ny * z,
                    x,
                    cell,
                    count,
                    unknown,
                    streams,
                    values: &a.values[first..a.offsets[row + count * r]],
                    stride: (a.offsets[row + r] - a.offsets[row]).max(1),
                });
            }
            cell += count;
        }
        Ok(())
    }

    /// The places of [`ALL`] that entries of some cells are at, a bit each.
    ///
    /// # Errors
    /// The position of the first entry that is no neighbour of its row.
    pub(super) fn places_used<T: Scalar>(
        &self,
        a: &Csr<T>,
        cells: Range<usize>,
    ) -> Result<u32, (usize, usize)> {
        let used = |cells| {
            let mut used = 0_u32;
            let looked = self.each_run(a, cells, |run| {
                let streams = run.streams.iter().enumerate();
                let found = streams.filter(|&(entry, _)| run.is_used(entry));
                found.for_each(|(_, &stream)| used |= 1 << (usize::from(stream) / self.unknowns));
            });
            looked.map(|()| used)
        };
        let parts = a.executor().run(a.bytes(), tasks(cells), used);
        parts.into_iter().try_fold(0, |all, used| Ok(all | used?))
    }

    /// Finds out where the entries of a row lead.
    fn look_up<T: Scalar>(
        &self,
        a: &CsrArrays<'_, T>,
        cell: [usize; 3],
        unknown: usize,
        streams: &mut Vec<u8>,
    ) {
        let (there, number) = (self.there(cell), self.grid.index(cell));
        let row = number * self.unknowns + unknown - self.first_row();
        let mut next = 0;
        streams.clear();
        streams.extend(a.row(row).0.iter().map(|&column| {
            let column = self.column(column);
            let distance = (column / self.unknowns).wrapping_sub(number).cast_signed();
            let leads =
                |&place: &usize| self.distances[place] == distance && there >> place & 1 == 1;
            // Columns are sorted, and so are offsets, but for lines of one or two cells.
            let place = (next..27).chain(0..next).find(leads);
            next = place.unwrap_or(next);
            place.map_or(NOWHERE, |place| {
                (place * self.unknowns + column % self.unknowns) as u8
            })
        }));
    }
}

/// Fails if an entry that leads nowhere is not zero; rows in turns have these `streams`.
fn check_nowhere<T: Scalar>(
    a: &CsrArrays<'_, T>,
    rows: Range<usize>,
    streams: &[Vec<u8>],
) -> Result<(), (usize, u32)> {
    if !streams.iter().flatten().any(|&stream| stream == NOWHERE) {
        return Ok(());
    }
    for (row, streams) in rows.zip(streams.iter().cycle()) {
        let (columns, values) = a.row(row);
        let lost = |&place: &usize| streams[place] == NOWHERE && values[place] != T::default();
        if let Some(place) = (0..streams.len()).find(lost) {
            return Err((row, columns[place]));
        }
    }
    Ok(())
}

/// How many cells, at least that of a row and `most` at most, have rows like those of the cell before, all columns
/// one cell further on.
fn alike<T: Scalar>(a: &CsrArrays<'_, T>, row: usize, unknowns: usize, most: usize) -> usize {
    let offsets = &a.offsets[row..=row + most * unknowns];
    let (first, length) = (offsets[0], offsets[unknowns] - offsets[0]);
    if length == 0 {
        return 1;
    }
    let ends = offsets[unknowns..].iter().zip(offsets);
    let as_long = ends.take_while(|(end, start)| *end - *start == length);
    let further = (as_long.count() - 1) / unknowns;
    let columns = &a.columns[first..first + (further + 1) * length];
    1 + shifted(columns, &columns[length..], unknowns as u32) / length
}

multiversion! {
    /// How many columns are those before them, `by` further on.
    fn shifted[](before: &[u32], here: &[u32], by: u32) -> usize {
        let mut alike = 0;
        let chunks = before.as_chunks::<32>().0.iter().zip(here.as_chunks::<32>().0);
        for (before, here) in chunks {
            let mut differ = 0;
            for k in 0..32 {
                differ |= before[k].wrapping_add(by) ^ here[k];
            }
            if differ != 0 {
                break;
            }
            alike += 32;
        }
        let rest = before[alike..].iter().zip(&here[alike..]);
        alike + rest.take_while(|(before, here)| before.wrapping_add(by) == **here).count()
    }
}

/// Ranges of cells.
fn tasks(cells: Range<usize>) -> Vec<Range<usize>> {
    let bounds: Vec<usize> = cells.clone().step_by(ROWS).chain([cells.end]).collect();
    ranges(&bounds)
}

/// Every `stride`th value.
fn every<T: Scalar>(stride: usize, values: &[T], out: &mut [T]) {
    assert!((out.len() - 1) * stride < values.len());
    for (x, out) in out.iter_mut().enumerate() {
        // SAFETY: the last one has been checked.
        *out = unsafe { *values.get_unchecked(x * stride) };
    }
}
