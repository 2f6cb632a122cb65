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

/// Finds the offset that leads from the cell of one row to that of another.
pub(super) struct Decoder {
    grid: Grid,
    unknowns: usize,
    distances: [isize; 27],
}

/// An entry of a CSR matrix on a grid.
pub(super) struct Found<T> {
    line: usize,
    x: usize,
    /// The unknowns of row and column.
    unknowns: [usize; 2],
    /// The place of the offset in [`ALL`].
    place: usize,
    value: T,
}

impl Decoder {
    pub(super) fn new(grid: Grid, unknowns: usize) -> Self {
        let distances = ALL.map(|offset| grid.distance(offset));
        Self {
            grid,
            unknowns,
            distances,
        }
    }

    /// The place in [`ALL`] of the offset from a cell to the one `distance` cells on; a bit for each place
    /// says which ones lead to cells, and `hint` is where to look first.
    #[inline]
    fn find(&self, there: u32, distance: isize, hint: usize) -> Option<usize> {
        let leads = |&place: &usize| self.distances[place] == distance && there >> place & 1 == 1;
        Some(hint)
            .filter(leads)
            .or_else(|| (hint..27).chain(0..hint).find(leads))
    }

    /// Which places of [`ALL`] lead from a cell to another.
    fn there(&self, cell: [usize; 3]) -> u32 {
        let bits = (0..27).map(|place| u32::from(inside(self.grid, cell, ALL[place])) << place);
        bits.sum()
    }

    /// Calls `visit` for entries of the rows of `cells` that are not zero.
    ///
    /// # Errors
    /// The position of the first entry that is no neighbour of its row.
    pub(super) fn each_entry<T: Scalar>(
        &self,
        a: &Csr<T>,
        cells: Range<usize>,
        mut visit: impl FnMut(Found<T>),
    ) -> Result<(), (usize, usize)> {
        let (zero, r) = (T::default(), self.unknowns);
        let [nx, ny, _] = self.grid.size();
        let (mut known, mut hints) = (([usize::MAX; 3], 0), [0; 27 * MOST_UNKNOWNS]);
        for cell in cells {
            let [x, y, z] = self.grid.cell(cell);
            // All cells between the ends of a line have the same neighbours.
            let like = if (1..nx - 1).contains(&x) {
                [1, y, z]
            } else {
                [x, y, z]
            };
            if known.0 != like {
                known = (like, self.there(like));
            }
            for row in cell * r..(cell + 1) * r {
                let (columns, values) = a.row(row);
                let entries = columns.iter().zip(values).enumerate();
                for (number, (&column, &value)) in entries.filter(|entry| *entry.1.1 != zero) {
                    let column = column as usize;
                    // What it was in the row before.
                    let hint = &mut hints[number.min(27 * MOST_UNKNOWNS - 1)];
                    let there = if r == 1 { column } else { column / r };
                    let distance = there as isize - cell as isize;
                    let place = self.find(known.1, distance, *hint).ok_or((row, column))?;
                    *hint = place;
                    visit(Found {
                        line: y + ny * z,
                        x,
                        unknowns: [row - cell * r, column - there * r],
                        place,
                        value,
                    });
                }
            }
        }
        Ok(())
    }
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

/// The neighbours that entries of a matrix on a grid are at.
///
/// # Errors
/// The position of the first entry that is at none.
pub(super) fn stencil_on<T: Scalar>(
    a: &Csr<T>,
    grid: Grid,
    unknowns: usize,
) -> Result<Stencil, (usize, usize)> {
    let decoder = Decoder::new(grid, unknowns);
    let used = |cells| {
        let mut used = 0_u32;
        let looked = decoder.each_entry(a, cells, |found| used |= 1 << found.place);
        looked.map(|()| used)
    };
    let mut used_by_all = 0;
    for used in a.executor().run(a.bytes(), tasks(grid.cells()), used) {
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
        let stencil = stencil_on(a, grid, unknowns).map_err(|entry| no_stencil(grid, entry))?;
        Self::with_stencil(a, grid, stencil, unknowns)
    }

    /// The matrix of a CSR matrix whose entries are known to be those of a stencil.
    pub(super) fn with_stencil(
        a: &Csr<T>,
        grid: Grid,
        stencil: Stencil,
        unknowns: usize,
    ) -> Result<Self> {
        let values = lines_of(a, &Decoder::new(grid, unknowns), &stencil)?;
        Self::with_unknowns(&a.executor().on_host(), grid, stencil, unknowns, values)
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

/// The values of a stencil matrix, line by line.
fn lines_of<T: Storage>(a: &Csr<T>, decoder: &Decoder, stencil: &Stencil) -> Result<Vec<T>> {
    let (grid, points, r) = (decoder.grid, stencil.points(), decoder.unknowns);
    let length = grid.length();
    let share = length * points * r * r;
    let point_of = ALL.map(|offset| stencil.position(offset).unwrap_or(usize::MAX));
    let mut values: Vec<T> = zeroed(a.executor(), grid.lines() * share)?;
    let per_task = ROWS.div_ceil(length);
    let starts = (0..grid.lines()).step_by(per_task);
    let lengths = starts
        .clone()
        .map(|start| per_task.min(grid.lines() - start) * share);
    let parts: Vec<(usize, &mut [T])> = starts.zip(cut(&mut values, lengths)).collect();
    a.executor().run(a.bytes(), parts, |(first, out)| {
        let cells = first * length..(first + out.len() / share) * length;
        let written = decoder.each_entry(a, cells, |found| {
            let (line, [i, j]) = (found.line - first, found.unknowns);
            let stream = ((line * r + i) * points + point_of[found.place]) * r + j;
            out[stream * length + found.x] = found.value;
        });
        written.expect("entries that were looked at before");
    });
    Ok(values)
}
