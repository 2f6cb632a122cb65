//! Stencil matrices from CSR matrices and back.

use std::ops::Range;

use super::stencil::opposite;
use super::{Grid, Offset, Stencil, StencilMatrix, Storage};
use crate::error::{Error, Result};
use crate::executor::cut;
use crate::matrix::{Csr, build, ranges, zeroed};
use crate::multiversion;
use crate::reference::csr::CsrArrays;
use crate::scalar::Scalar;

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

/// The place among [`ALL`] of the offset that leads from a cell to another, if they are neighbours.
pub(super) fn offset_place(from: [usize; 3], to: [usize; 3]) -> Option<usize> {
    let steps = [0, 1, 2].map(|axis| (to[axis] + 1).wrapping_sub(from[axis]));
    let is_near = steps.iter().all(|&step| step <= 2);
    is_near.then(|| steps[0] + 3 * (steps[1] + 3 * steps[2]))
}

/// Rows that one task does.
const ROWS: usize = 16 * 1024;
/// Cells that tell most grids apart.
pub(super) const TRIAL: usize = 64 * 1024;

/// Finds the offset that leads from the cell of one row to that of another.
pub(super) struct Decoder {
    grid: Grid,
    unknowns: usize,
    distances: [isize; 27],
}

/// Rows of one unknown in consecutive cells of a line, all with entries for the same neighbours.
pub(super) struct Run<'a, T> {
    line: usize,
    /// The first cell, and how many there are.
    x: usize,
    count: usize,
    unknown: usize,
    /// Where every entry of a row leads: the place of its offset in [`ALL`], times the unknowns, plus the unknown
    /// of its column.
    streams: &'a [u8],
    /// Values from the first row on, and how many there are from a row to the next.
    values: &'a [T],
    stride: usize,
}

impl<T: Scalar> Run<'_, T> {
    /// Whether one entry is not zero in some row.
    fn is_used(&self, entry: usize) -> bool {
        let rows = self.values[entry..].iter().step_by(self.stride);
        rows.take(self.count).any(|value| *value != T::default())
    }
}

/// What zeros lead to that are at no neighbour.
const NOWHERE: u8 = u8::MAX;
/// Cells of a run at most: its values are read once for each entry of a row, from the nearest cache.
const RUN: usize = 128;

impl Decoder {
    pub(super) fn new(grid: Grid, unknowns: usize) -> Self {
        let distances = ALL.map(|offset| grid.distance(offset));
        Self {
            grid,
            unknowns,
            distances,
        }
    }

    /// Which places of [`ALL`] lead from a cell to another.
    #[inline]
    fn there(&self, cell: [usize; 3]) -> u32 {
        let bits = (0..27).map(|place| u32::from(inside(self.grid, cell, ALL[place])) << place);
        bits.sum()
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
        let mut cell = cells.start;
        while cell < cells.end {
            let [x, y, z] = self.grid.cell(cell);
            for (unknown, streams) in streams.iter_mut().enumerate() {
                self.look_up(&a, [x, y, z], unknown, streams);
            }
            // Cells between the ends of a line have the same neighbours.
            let most = match x > 0 && x + 1 < nx {
                true => (nx - 1 - x).min(cells.end - cell).min(RUN),
                false => 1,
            };
            let count = alike(&a, cell * r, r, most);
            check_nowhere(&a, cell * r..(cell + count) * r, &streams)?;
            for (unknown, streams) in streams.iter().enumerate() {
                let (row, first) = (cell * r, a.offsets[cell * r + unknown]);
                visit(Run {
                    line: y + ny * z,
                    x,
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

    /// Finds out where the entries of a row lead.
    fn look_up<T: Scalar>(
        &self,
        a: &CsrArrays<'_, T>,
        cell: [usize; 3],
        unknown: usize,
        streams: &mut Vec<u8>,
    ) {
        let [nx, ny, _] = self.grid.size();
        let (there, number) = (self.there(cell), cell[0] + nx * (cell[1] + ny * cell[2]));
        let row = number * self.unknowns + unknown;
        let mut next = 0;
        streams.clear();
        streams.extend(a.row(row).0.iter().map(|&column| {
            let column = column as usize;
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
) -> Result<(), (usize, usize)> {
    if !streams.iter().flatten().any(|&stream| stream == NOWHERE) {
        return Ok(());
    }
    for (row, streams) in rows.zip(streams.iter().cycle()) {
        let (columns, values) = a.row(row);
        let lost = |&place: &usize| streams[place] == NOWHERE && values[place] != T::default();
        if let Some(place) = (0..streams.len()).find(lost) {
            return Err((row, columns[place] as usize));
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

#[inline]
fn inside(grid: Grid, cell: [usize; 3], offset: Offset) -> bool {
    (0..3).all(|axis| {
        let there = cell[axis].checked_add_signed(offset[axis].into());
        there.is_some_and(|place| place < grid.size()[axis])
    })
}

pub(super) fn no_stencil(grid: Grid, (row, column): (usize, usize)) -> Error {
    Error::NotAStencil {
        row,
        column,
        grid: grid.to_string(),
    }
}

/// The neighbours that entries of the first `cells` of a grid are at.
///
/// # Errors
/// The position of the first entry that is at none.
pub(super) fn stencil_on<T: Scalar>(
    a: &Csr<T>,
    grid: Grid,
    unknowns: usize,
    cells: usize,
) -> Result<Stencil, (usize, usize)> {
    let decoder = Decoder::new(grid, unknowns);
    let used = |cells| {
        let mut used = 0_u32;
        let looked = decoder.each_run(a, cells, |run| {
            let streams = run.streams.iter().enumerate();
            let found = streams.filter(|&(entry, _)| run.is_used(entry));
            found.for_each(|(_, &stream)| used |= 1 << (usize::from(stream) / unknowns));
        });
        looked.map(|()| used)
    };
    let mut used_by_all = 0;
    for used in a.executor().run(a.bytes(), tasks(cells), used) {
        used_by_all |= used?;
    }
    let used = |offset: Offset| {
        let place = ALL.iter().position(|&other| other == offset);
        place.is_some_and(|place| used_by_all >> place & 1 == 1)
    };
    Ok(Stencil::of(&|offset| {
        offset == [0; 3] || used(offset) || used(opposite(offset))
    }))
}

/// Ranges of cells.
fn tasks(cells: usize) -> Vec<Range<usize>> {
    let bounds: Vec<usize> = (0..cells).step_by(ROWS).chain([cells]).collect();
    ranges(&bounds)
}

impl<T: Storage> StencilMatrix<T> {
    /// The matrix of a CSR matrix; none if it has other entries than those of a stencil.
    pub(super) fn with_stencil(
        a: &Csr<T>,
        grid: Grid,
        stencil: Stencil,
        unknowns: usize,
    ) -> Result<Option<Self>> {
        let Some(values) = lines_of(a, &Decoder::new(grid, unknowns), &stencil)? else {
            return Ok(None);
        };
        let host = a.executor().on_host();
        Self::with_unknowns(&host, grid, stencil, unknowns, values).map(Some)
    }

    /// The same matrix in CSR, without the zeros beside the diagonal.
    pub fn to_csr(&self) -> Csr<T> {
        let (grid, r) = (self.grid(), self.unknowns());
        let (zero, rows) = (T::default(), self.size().rows);
        let bounds: Vec<usize> = (0..rows).step_by(ROWS).chain([rows]).collect();
        let length = grid.length();
        let made = build(
            self.executor(),
            &bounds,
            self.bytes(),
            || (),
            |(), row, rows| {
                let (cell, i) = (row / r, row % r);
                let mut entries: Vec<(usize, T)> = Vec::with_capacity(27 * r);
                for stream in 0..self.stencil().points() * r {
                    let (point, j) = (stream / r, stream % r);
                    let offset = self.stencil().offsets()[point];
                    let stored = self.line_of([i, j], cell / length, point)[cell % length];
                    let is_diagonal = offset == [0; 3] && i == j;
                    let value = if is_diagonal {
                        self.whole(stored)
                    } else {
                        stored
                    };
                    let counts = value != zero || is_diagonal;
                    if counts && inside(grid, grid.cell(cell), offset) {
                        let other = cell.wrapping_add_signed(grid.distance(offset));
                        entries.push((other * r + j, value));
                    }
                }
                // Lines of one or two cells: the order of offsets is not that of columns.
                entries.sort_by_key(|entry| entry.0);
                entries
                    .iter()
                    .for_each(|&(column, value)| rows.push(column as u32, value));
                Ok(())
            },
        );
        made.expect("rows that need no more memory than the matrix")
            .into_csr(self.executor(), self.size())
    }
}

/// The values of a stencil matrix, line by line; none if there are entries elsewhere.
fn lines_of<T: Storage>(
    a: &Csr<T>,
    decoder: &Decoder,
    stencil: &Stencil,
) -> Result<Option<Vec<T>>> {
    let (grid, points, r) = (decoder.grid, stencil.points(), decoder.unknowns);
    let length = grid.length();
    let share = length * points * r * r;
    let mut firsts = vec![None; 27 * r];
    for (point, offset) in stencil.offsets().iter().enumerate() {
        let place = ALL.iter().position(|other| other == offset);
        let place = place.expect("one of all offsets");
        (0..r).for_each(|j| firsts[place * r + j] = Some((point * r + j) * length));
    }
    let mut values: Vec<T> = zeroed(a.executor(), grid.lines() * share)?;
    let per_task = ROWS.div_ceil(length);
    let starts = (0..grid.lines()).step_by(per_task);
    let lengths = starts
        .clone()
        .map(|start| per_task.min(grid.lines() - start) * share);
    let parts: Vec<(usize, &mut [T])> = starts.zip(cut(&mut values, lengths)).collect();
    let fits = a.executor().run(a.bytes(), parts, |(first, out)| {
        let cells = first * length..(first + out.len() / share) * length;
        let mut fits = true;
        let looked = decoder.each_run(a, cells, |run| {
            let line = ((run.line - first) * r + run.unknown) * points * r * length + run.x;
            for (entry, &stream) in run.streams.iter().enumerate() {
                match firsts.get(usize::from(stream)) {
                    Some(Some(first)) => {
                        let out = &mut out[line + first..][..run.count];
                        every(run.stride, &run.values[entry..], out);
                    }
                    _ => fits &= !run.is_used(entry),
                }
            }
        });
        looked.is_ok() && fits
    });
    Ok(fits.into_iter().all(|fits| fits).then_some(values))
}

/// Every `stride`th value.
fn every<T: Scalar>(stride: usize, values: &[T], out: &mut [T]) {
    assert!((out.len() - 1) * stride < values.len());
    for (x, out) in out.iter_mut().enumerate() {
        // SAFETY: the last one has been checked.
        *out = unsafe { *values.get_unchecked(x * stride) };
    }
}
