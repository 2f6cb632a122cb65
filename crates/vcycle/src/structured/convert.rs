//! Stencil matrices from CSR matrices and back.

use std::ops::Range;

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

/// Finds the offset that leads from one row to another.
pub(super) struct Decoder {
    grid: Grid,
    distances: [isize; 27],
}

impl Decoder {
    pub(super) fn new(grid: Grid) -> Self {
        let distances = ALL.map(|offset| grid.distance(offset));
        Self { grid, distances }
    }

    /// The place in [`ALL`] of the offset from a cell to the one `distance` rows on; `hint` is where to
    /// look first.
    fn find(&self, cell: [usize; 3], distance: isize, hint: usize) -> Option<usize> {
        let leads = |&place: &usize| {
            self.distances[place] == distance && inside(self.grid, cell, ALL[place])
        };
        (hint..27).chain(0..hint).find(leads)
    }

    /// Calls `visit(row, place in ALL, value)` for entries of `rows` that are not zero.
    ///
    /// # Errors
    /// The position of the first entry that is no neighbour of its row.
    pub(super) fn each_entry<T: Scalar>(
        &self,
        a: &Csr<T>,
        rows: Range<usize>,
        mut visit: impl FnMut(usize, usize, T),
    ) -> Result<(), (usize, usize)> {
        let zero = T::default();
        for row in rows {
            let (cell, mut hint) = (self.grid.cell(row), 0);
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values).filter(|entry| *entry.1 != zero) {
                let distance = column as isize - row as isize;
                let found = self.find(cell, distance, hint);
                let place = found.ok_or((row, column as usize))?;
                hint = (place + 1) % 27;
                visit(row, place, value);
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
pub(super) fn stencil_on<T: Scalar>(a: &Csr<T>, grid: Grid) -> Result<Stencil, (usize, usize)> {
    let decoder = Decoder::new(grid);
    let used = |rows| {
        let mut used = 0_u32;
        let looked = decoder.each_entry(a, rows, |_, place, _| used |= 1 << place);
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

/// Ranges of rows.
fn tasks(rows: usize) -> Vec<Range<usize>> {
    let bounds: Vec<usize> = (0..rows).step_by(ROWS).chain([rows]).collect();
    ranges(&bounds)
}

impl<T: Storage> StencilMatrix<T> {
    /// The matrix of a CSR matrix whose grid is known. Stored zeros do not count.
    ///
    /// # Errors
    /// [`NotAStencil`](Error::NotAStencil) naming the first entry between cells that are no
    /// neighbours; a matrix with another number of rows; short memory.
    pub fn from_csr_on(a: &Csr<T>, grid: Grid) -> Result<Self> {
        crate::linop::check_size("stencil matrix", Size::square(grid.cells()), a.size())?;
        let stencil = stencil_on(a, grid).map_err(|entry| no_stencil(grid, entry))?;
        Self::with_stencil(a, grid, stencil)
    }

    /// The matrix of a CSR matrix whose entries are known to be those of a stencil.
    pub(super) fn with_stencil(a: &Csr<T>, grid: Grid, stencil: Stencil) -> Result<Self> {
        let values = lines_of(a, &Decoder::new(grid), &stencil)?;
        Self::new(a.executor(), grid, stencil, values)
    }

    /// The same matrix in CSR, without the zeros beside the diagonal.
    pub fn to_csr(&self) -> Csr<T> {
        let grid = self.grid();
        let zero = T::default();
        let bounds: Vec<usize> = (0..grid.cells())
            .step_by(ROWS)
            .chain([grid.cells()])
            .collect();
        let length = grid.length();
        let made = build(
            self.executor(),
            &bounds,
            self.bytes(),
            || (),
            |(), row, rows| {
                let mut entries: Vec<(usize, T)> = Vec::with_capacity(27);
                for (point, &offset) in self.stencil().offsets().iter().enumerate() {
                    let value = self.line(row / length, point)[row % length];
                    let stored = value != zero || offset == [0; 3];
                    if stored && inside(grid, grid.cell(row), offset) {
                        entries.push((row.wrapping_add_signed(grid.distance(offset)), value));
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
    let (grid, points) = (decoder.grid, stencil.points());
    let length = grid.length();
    let point_of = ALL.map(|offset| stencil.position(offset).unwrap_or(usize::MAX));
    let mut values: Vec<T> = zeroed(a.executor(), grid.cells() * points)?;
    let per_task = ROWS.div_ceil(length);
    let starts = (0..grid.lines()).step_by(per_task);
    let lengths = starts
        .clone()
        .map(|start| per_task.min(grid.lines() - start) * length * points);
    let parts: Vec<(usize, &mut [T])> = starts.zip(cut(&mut values, lengths)).collect();
    a.executor().run(a.bytes(), parts, |(first, out)| {
        let rows = first * length..first * length + out.len() / points;
        let written = decoder.each_entry(a, rows, |row, place, value| {
            let line = row / length - first;
            out[(line * points + point_of[place]) * length + row % length] = value;
        });
        written.expect("entries that were looked at before");
    });
    Ok(values)
}
