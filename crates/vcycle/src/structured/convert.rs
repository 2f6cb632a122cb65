//! Stencil matrices from CSR matrices and back.

use std::ops::Range;

use super::matrix::MOST_UNKNOWNS;
use super::stencil::opposite;
use super::{Grid, Offset, Stencil, StencilMatrix, Storage};
use crate::error::{Error, Result};
use crate::executor::cut;
use crate::linop::Size;
use crate::matrix::{Csr, build, ranges, zeroed};
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

/// A row of a CSR matrix on a grid.
pub(super) struct Row<'a, T> {
    line: usize,
    x: usize,
    unknown: usize,
    /// Where every entry leads: the place of its offset in [`ALL`], times the unknowns, plus the unknown of
    /// its column.
    streams: &'a [u8],
    values: &'a [T],
}

impl<T: Scalar> Row<'_, T> {
    /// Where the entries lead that are not zero, and what they are.
    fn entries(&self) -> impl Iterator<Item = (usize, T)> {
        let all = self.streams.iter().zip(self.values);
        let all = all.filter(|(_, value)| **value != T::default());
        all.map(|(&stream, &value)| (usize::from(stream), value))
    }
}

/// What zeros lead to that are at no neighbour.
const NOWHERE: u8 = u8::MAX;

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
    fn there(&self, cell: [usize; 3]) -> u32 {
        let bits = (0..27).map(|place| u32::from(inside(self.grid, cell, ALL[place])) << place);
        bits.sum()
    }

    /// Calls `visit` for the rows of `cells`.
    ///
    /// # Errors
    /// The position of the first entry that is no neighbour of its row.
    pub(super) fn each_row<T: Scalar>(
        &self,
        a: &Csr<T>,
        cells: Range<usize>,
        mut visit: impl FnMut(Row<'_, T>),
    ) -> Result<(), (usize, usize)> {
        let r = self.unknowns;
        let [nx, ny, _] = self.grid.size();
        let mut streams = vec![Vec::new(); r];
        for cell in cells.clone() {
            let [x, y, z] = self.grid.cell(cell);
            // Cells between the ends of a line have the same neighbours.
            let between = cell > cells.start && x > 1 && x + 1 < nx;
            for (unknown, streams) in streams.iter_mut().enumerate() {
                let row = cell * r + unknown;
                if !between || !are_shifted(a.row(row - r).0, a.row(row).0, r) {
                    self.look_up(a, [x, y, z], unknown, streams)?;
                } else if streams.contains(&NOWHERE) {
                    self.check_nowhere(a, row, streams)?;
                }
                visit(Row {
                    line: y + ny * z,
                    x,
                    unknown,
                    streams,
                    values: a.row(row).1,
                });
            }
        }
        Ok(())
    }

    /// Finds out where the entries of a row lead.
    fn look_up<T: Scalar>(
        &self,
        a: &Csr<T>,
        cell: [usize; 3],
        unknown: usize,
        streams: &mut Vec<u8>,
    ) -> Result<(), (usize, usize)> {
        let [nx, ny, _] = self.grid.size();
        let (there, number) = (self.there(cell), cell[0] + nx * (cell[1] + ny * cell[2]));
        let row = number * self.unknowns + unknown;
        streams.clear();
        streams.extend(a.row(row).0.iter().map(|&column| {
            let column = column as usize;
            let distance = (column / self.unknowns).wrapping_sub(number).cast_signed();
            let leads =
                |&place: &usize| self.distances[place] == distance && there >> place & 1 == 1;
            let place = (0..27).find(leads);
            place.map_or(NOWHERE, |place| {
                (place * self.unknowns + column % self.unknowns) as u8
            })
        }));
        self.check_nowhere(a, row, streams)
    }

    /// Fails if an entry that leads nowhere is not zero.
    fn check_nowhere<T: Scalar>(
        &self,
        a: &Csr<T>,
        row: usize,
        streams: &[u8],
    ) -> Result<(), (usize, usize)> {
        let (columns, values) = a.row(row);
        let lost = |&place: &usize| streams[place] == NOWHERE && values[place] != T::default();
        match (0..streams.len()).find(lost) {
            None => Ok(()),
            Some(place) => Err((row, columns[place] as usize)),
        }
    }
}

/// Whether the columns of a row are those of another, `by` further on.
fn are_shifted(before: &[u32], here: &[u32], by: usize) -> bool {
    let by = by as u32;
    before.len() == here.len()
        && before
            .iter()
            .zip(here)
            .all(|(before, here)| before.wrapping_add(by) == *here)
}

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
        let looked = decoder.each_row(a, cells, |row| {
            let entries = row.entries();
            used |= entries.fold(0, |used, (stream, _)| used | 1 << (stream / unknowns));
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
    Ok(Stencil::of(|offset| {
        offset == [0; 3] || used(offset) || used(opposite(offset))
    }))
}

/// Ranges of cells.
fn tasks(cells: usize) -> Vec<Range<usize>> {
    let bounds: Vec<usize> = (0..cells).step_by(ROWS).chain([cells]).collect();
    ranges(&bounds)
}

impl<T: Storage> StencilMatrix<T> {
    /// The matrix of a CSR matrix whose grid is known; it has as many unknowns a cell as there are rows
    /// for each. Stored zeros do not count. Of a matrix on a device it is one of the host.
    ///
    /// # Errors
    /// [`NotAStencil`](Error::NotAStencil) naming the first entry between cells that are no
    /// neighbours; a matrix whose rows are no multiple of the cells; short memory.
    pub fn from_csr_on(a: &Csr<T>, grid: Grid) -> Result<Self> {
        let unknowns = (a.size().rows / grid.cells()).clamp(1, MOST_UNKNOWNS);
        let expected = Size::square(grid.cells() * unknowns);
        crate::linop::check_size("stencil matrix", expected, a.size())?;
        let of_cells = |cells: usize| {
            stencil_on(a, grid, unknowns, cells).map_err(|entry| no_stencil(grid, entry))
        };
        match Self::with_stencil(a, grid, of_cells(grid.cells().min(TRIAL))?, unknowns)? {
            Some(made) => Ok(made),
            None => {
                let made = Self::with_stencil(a, grid, of_cells(grid.cells())?, unknowns)?;
                Ok(made.expect("entries that were looked at before"))
            }
        }
    }

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
                    let value = self.line_of([i, j], cell / length, point)[cell % length];
                    let stored = value != zero || (offset == [0; 3] && i == j);
                    if stored && inside(grid, grid.cell(cell), offset) {
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
        let looked = decoder.each_row(a, cells, |row| {
            let line = ((row.line - first) * r + row.unknown) * points * r * length + row.x;
            for (stream, value) in row.entries() {
                match firsts[stream] {
                    Some(first) => out[line + first] = value,
                    None => fits = false,
                }
            }
        });
        looked.is_ok() && fits
    });
    Ok(fits.into_iter().all(|fits| fits).then_some(values))
}
