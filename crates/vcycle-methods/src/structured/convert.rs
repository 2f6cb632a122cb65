//! Stencil matrices from CSR matrices and back, and cell by cell.

use super::decode::{ALL, Decoder, ROWS};
use super::lines::made_of_lines;
use super::stencil::opposite;
use super::{Grid, Offset, Stencil, StencilMatrix, Storage, Structure};
use crate::executor::cut;
use crate::matrix::{build, zeroed};
use crate::prelude::*;

/// Cells that tell most grids apart.
pub(super) const TRIAL: usize = 64 * 1024;

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
    Ok(stencil_with(decoder.places_used(a, 0..cells)?))
}

/// The stencil of the places of [`ALL`] that have a bit, and of those opposite.
pub(super) fn stencil_with(places: u32) -> Stencil {
    let is_used = |offset: Offset| {
        let place = ALL.iter().position(|&other| other == offset);
        place.is_some_and(|place| places >> place & 1 == 1)
    };
    Stencil::of(&|offset| offset == [0; 3] || is_used(offset) || is_used(opposite(offset)))
}

impl<T: Storage> StencilMatrix<T> {
    /// The matrix of a CSR matrix; none if it has other entries than those of a stencil.
    pub(super) fn with_stencil(a: &Csr<T>, found: Structure) -> Result<Option<Self>> {
        let Structure {
            grid,
            stencil,
            unknowns,
        } = found;
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
                    if counts && grid.shifted(grid.cell(cell), offset).is_some() {
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
    decoder: &Decoder<'_>,
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
                    Some(Some(first)) => run.copy(entry, &mut out[line + first..]),
                    _ => fits &= !run.is_used(entry),
                }
            }
        });
        looked.is_ok() && fits
    });
    Ok(fits.into_iter().all(|fits| fits).then_some(values))
}

impl StencilMatrix<f64> {
    /// A matrix made cell by cell: `make(cell, entries)` fills in the entries of the cell's rows, which
    /// are zeros before, at `(i * points + point) * unknowns + j`. Those of neighbours outside the grid
    /// are left out.
    ///
    /// ```
    /// use vcycle::{executor::Executor, structured::{Grid, Stencil, StencilMatrix}};
    /// let grid = Grid::new([4, 1, 1])?;
    /// let a = StencilMatrix::from_cells(&Executor::cpu(), grid, Stencil::full(1), 1, |_, entries| {
    ///     entries.copy_from_slice(&[-1.0, 2.0, -1.0]);
    /// })?;
    /// assert_eq!(a.to_csr().row(3), (&[2, 3][..], &[-1.0, 2.0][..]));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn from_cells(
        executor: &Executor,
        grid: Grid,
        stencil: Stencil,
        unknowns: usize,
        make: impl Fn([usize; 3], &mut [f64]) + Sync + Send,
    ) -> Result<Self> {
        let (points, [nx, ny, _]) = (stencil.points(), grid.size());
        let numbers = points * unknowns * unknowns;
        let values = made_of_lines(executor, grid, numbers, |line, out| {
            let mut entries = vec![0.0; numbers];
            for x in 0..nx {
                entries.fill(0.0);
                make([x, line % ny, line / ny], &mut entries);
                for (stream, &entry) in entries.iter().enumerate() {
                    let offset = stencil.offsets()[stream / unknowns % points];
                    if grid.shifted([x, line % ny, line / ny], offset).is_some() {
                        out[stream * nx + x] = entry;
                    }
                }
            }
        })?;
        Self::with_unknowns(executor, grid, stencil, unknowns, values)
    }
}
