//! Finding the grid that a matrix comes from.

use std::collections::BTreeSet;

use super::convert::{TRIAL, no_stencil, stencil_on};
use super::matrix::MOST_UNKNOWNS;
use super::{Grid, Stencil, StencilMatrix, Storage, Structure};
use crate::linop::check_size;
use crate::operations::stencil_setup::of_rows;
use crate::prelude::*;

/// Distances from the diagonal that a stencil of 27 points has at most.
const DISTANCES: usize = 13;
/// Rows of a matrix on a device that are looked at first: they are copied in no time, and tell most matrices that are
/// no stencil.
pub(super) const FEW: usize = 4 * 1024;
/// Rows of a matrix on a device that are looked at where those do not tell.
pub(super) const MANY: usize = TRIAL * MOST_UNKNOWNS;

impl<T: Storage> StencilMatrix<T> {
    /// The matrix of a CSR matrix whose grid is found out: rows have to be numbered with the unknowns of
    /// a cell fastest, then x, then y, then z. Stored zeros do not count.
    ///
    /// # Errors
    /// [`NotAStencil`](Error::NotAStencil) naming an entry that no grid explains, and the grid that
    /// explains most rows before it; a matrix that is not square; short memory.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        Self::found(a, None)
    }

    /// The matrix of a CSR matrix whose grid is known; it has as many unknowns a cell as there are rows
    /// for each. Stored zeros do not count. Of a matrix on a device it is one of the host.
    ///
    /// # Errors
    /// [`NotAStencil`](Error::NotAStencil) naming the first entry between cells that are no
    /// neighbours; a matrix whose rows are no multiple of the cells; short memory.
    pub fn from_csr_on(a: &Csr<T>, grid: Grid) -> Result<Self> {
        Self::found(a, Some(grid))
    }

    fn found(a: &Csr<T>, grid: Option<Grid>) -> Result<Self> {
        for cells in [TRIAL, usize::MAX] {
            let found = Seen::of(a, a)?.structure(grid, cells)?;
            if let Some(made) = Self::with_stencil(a, found)? {
                return Ok(made);
            }
        }
        unreachable!("all entries have been looked at");
    }
}

impl StencilMatrix<f64> {
    /// The matrix of a CSR matrix of a device, made there; its grid is found from the first rows, unless it is given.
    /// None where other rows have other entries, or memory is short.
    pub(super) fn of_device(a: &Csr<f64>, grid: Option<Grid>) -> Result<Option<Self>> {
        for rows in [FEW, MANY] {
            let first = first_rows(a, rows)?;
            let seen = Seen::of(&first, a)?;
            let made = match seen.structure(grid, TRIAL) {
                Ok(structure) => Self::with_structure(a, structure)?,
                Err(_) if rows < MANY && grid.is_none() && seen.may_have_a_grid() => None,
                Err(error) => return Err(error),
            };
            if made.is_some() {
                return Ok(made);
            }
        }
        Ok(None)
    }

    /// The matrix of a CSR matrix of a device, made there. None where some rows have other entries, or memory is short.
    fn with_structure(a: &Csr<f64>, structure: Structure) -> Result<Option<Self>> {
        let Structure {
            grid,
            stencil,
            unknowns,
        } = structure;
        let entries = grid.cells() * stencil.points() * unknowns * unknowns;
        // The matrix itself is not there yet.
        if !has_room(a.executor(), 3 * size_of::<f64>() * entries / 2) {
            return Ok(None);
        }
        let values = of_rows(a, grid, stencil.offsets(), unknowns)?.flatten();
        Ok(values.map(|values| Self::of_buffer(grid, stencil, unknowns, values)))
    }
}

/// Whether a device can set up a stencil matrix of so many bytes: it becomes one that is not smaller along the first axis,
/// and is stored once more.
pub(super) fn has_room(executor: &Executor, bytes: usize) -> bool {
    executor.check_room(2 * bytes).is_ok()
}

/// The first rows of a matrix of a device, on the host.
fn first_rows(a: &Csr<f64>, most: usize) -> Result<Csr<f64>> {
    let (rows, (offsets, columns)) = (a.size().rows.min(most), a.pattern().buffers());
    let offsets = offsets.first(rows + 1)?;
    let entries = offsets[rows];
    let (columns, values) = (columns.first(entries)?, a.values_buffer().first(entries)?);
    let size = Size::new(rows, a.size().cols);
    let host = a.executor().on_host();
    Ok(Csr::from_canonical(&host, size, offsets, columns, values))
}

/// The stencil that the first `cells` have on a grid that is known.
fn on_grid<T: Scalar>(seen: Seen<'_, T>, grid: Grid, cells: usize) -> Result<Structure> {
    let unknowns = (seen.rows / grid.cells()).clamp(1, MOST_UNKNOWNS);
    let expected = Size::square(grid.cells() * unknowns);
    check_size("stencil matrix", expected, Size::square(seen.rows))?;
    let cells = grid.cells().min(cells).min(seen.cells(unknowns));
    let stencil = stencil_on(seen.first, grid, unknowns, cells);
    let stencil = stencil.map_err(|entry| no_stencil(grid, entry))?;
    Ok(Structure {
        grid,
        stencil,
        unknowns,
    })
}

/// What a square matrix of so many rows and entries is like, as far as its first rows tell.
pub(super) fn of_first_rows(
    first: &Csr<f64>,
    (rows, nonzeros): (usize, usize),
    grid: Option<Grid>,
) -> Result<Structure> {
    let seen = Seen {
        first,
        rows,
        nonzeros,
    };
    seen.structure(grid, TRIAL)
}

/// The grid on which all entries of a matrix are between neighbours, and which neighbours they are.
///
/// ```
/// use vcycle::{executor::Executor, gallery, structured::find_stencil};
/// let a = gallery::build("poisson27:6x5x4", &Executor::cpu())?.matrix;
/// let found = find_stencil(&a)?;
/// assert_eq!((found.grid.size(), found.stencil.points(), found.unknowns), ([6, 5, 4], 27, 1));
/// # Ok::<(), vcycle::Error>(())
/// ```
pub fn find_stencil<T: Scalar>(a: &Csr<T>) -> Result<Structure> {
    search(Seen::of(a, a)?, usize::MAX)
}

/// A square matrix of which the first rows are at hand.
#[derive(Clone, Copy)]
struct Seen<'a, T> {
    first: &'a Csr<T>,
    rows: usize,
    nonzeros: usize,
}

impl<'a, T: Scalar> Seen<'a, T> {
    /// The first rows of a matrix.
    fn of(first: &'a Csr<T>, a: &Csr<T>) -> Result<Self> {
        let Size { rows, cols } = a.size();
        if rows != cols {
            return Err(Error::NotSquare {
                component: "stencil matrix",
                size: a.size(),
            });
        }
        Ok(Self {
            first,
            rows,
            nonzeros: a.nonzeros(),
        })
    }

    /// What it is like on a grid, which may be known, as far as the first `cells` tell.
    fn structure(self, grid: Option<Grid>, cells: usize) -> Result<Structure> {
        match grid {
            None => search(self, cells),
            Some(grid) => on_grid(self, grid, cells),
        }
    }

    /// Cells that are at hand.
    fn cells(&self, unknowns: usize) -> usize {
        self.first.size().rows / unknowns
    }

    /// Whether the entries may be between neighbours on some grid, as far as can be seen.
    fn may_have_a_grid(&self) -> bool {
        let mut unknowns = (1..=MOST_UNKNOWNS).filter(|&unknowns| divides(unknowns, self.rows));
        unknowns.any(|unknowns| distances(self.first, unknowns).len() <= DISTANCES)
    }
}

/// The same, looking at the first `cells` only.
fn search<T: Scalar>(seen: Seen<'_, T>, cells: usize) -> Result<Structure> {
    let (a, rows, nonzeros) = (seen.first, seen.rows, seen.nonzeros);
    let mut furthest: Option<(Grid, (usize, usize))> = None;
    for unknowns in (1..=MOST_UNKNOWNS).filter(|&unknowns| divides(unknowns, rows)) {
        for grid in candidates(rows / unknowns, &distances(a, unknowns)) {
            let cells = cells.min(seen.cells(unknowns));
            match (try_grid(a, grid, unknowns, cells), furthest) {
                (Ok(stencil), _) if is_full(nonzeros, grid, &stencil, unknowns) => {
                    return Ok(Structure {
                        grid,
                        stencil,
                        unknowns,
                    });
                }
                (Ok(_), _) => {}
                (Err(entry), Some((_, before))) if entry.0 <= before.0 => {}
                (Err(entry), _) => furthest = Some((grid, entry)),
            }
        }
    }
    Err(match furthest {
        Some((grid, entry)) => no_stencil(grid, entry),
        None => Error::structure("stencil matrix", "a matrix without rows has no grid"),
    })
}

/// Whether blocks of several unknowns are not mostly empty: those of one unknown a cell are, taken
/// together.
fn is_full(nonzeros: usize, grid: Grid, stencil: &Stencil, unknowns: usize) -> bool {
    let entries = grid.cells() * stencil.points() * unknowns * unknowns;
    unknowns == 1 || 4 * nonzeros >= entries
}

/// The stencil of the first `cells` of a grid, or the first entry that breaks it; some are enough to refuse
/// most grids.
fn try_grid<T: Scalar>(
    a: &Csr<T>,
    grid: Grid,
    unknowns: usize,
    cells: usize,
) -> Result<Stencil, (usize, usize)> {
    let cells = cells.min(grid.cells());
    let few = stencil_on(a, grid, unknowns, cells.min(TRIAL))?;
    match cells <= TRIAL {
        true => Ok(few),
        false => stencil_on(a, grid, unknowns, cells),
    }
}

/// How many cells the entries of the first rows are away; of those more than a stencil has, one is kept.
fn distances<T: Scalar>(a: &Csr<T>, unknowns: usize) -> BTreeSet<usize> {
    let zero = T::default();
    let mut found = BTreeSet::new();
    for row in 0..a.size().rows.min(TRIAL) {
        let (columns, values) = a.row(row);
        let entries = columns.iter().zip(values).filter(|entry| *entry.1 != zero);
        for (&column, _) in entries {
            let distance = (row / unknowns).abs_diff(column as usize / unknowns);
            if distance > 0 && found.len() <= DISTANCES {
                found.insert(distance);
            }
        }
    }
    found
}

/// Grids with this many cells on which a neighbour can be at the distances, longest lines first.
fn candidates(cells: usize, distances: &BTreeSet<usize>) -> Vec<Grid> {
    let mut grids = BTreeSet::new();
    for nx in around(distances)
        .chain([cells])
        .filter(|&nx| divides(nx, cells))
    {
        let rest = cells / nx;
        let per_line = distances
            .iter()
            .flat_map(|&distance| [distance / nx, distance.div_ceil(nx)]);
        let steps: BTreeSet<usize> = per_line.collect();
        for ny in around(&steps).chain([rest]).filter(|&ny| divides(ny, rest)) {
            grids.insert([nx, ny, rest / ny]);
        }
    }
    grids
        .into_iter()
        .rev()
        .filter_map(|size| Grid::new(size).ok())
        .collect()
}

/// The numbers and those one less or more.
fn around(numbers: &BTreeSet<usize>) -> impl Iterator<Item = usize> + '_ {
    numbers
        .iter()
        .flat_map(|&number| number.saturating_sub(1)..=number.saturating_add(1))
}

fn divides(part: usize, whole: usize) -> bool {
    part > 0 && whole.is_multiple_of(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    fn found(spec: &str) -> (String, String) {
        let a = gallery::build(spec, &Executor::reference()).unwrap().matrix;
        let stencil = StencilMatrix::from_csr(&a).unwrap();
        assert_eq!(stencil.to_csr().columns(), a.columns(), "{spec}");
        assert_eq!(stencil.to_csr().values(), a.values(), "{spec}");
        (stencil.grid().to_string(), stencil.stencil().to_string())
    }

    #[test]
    fn the_grids_of_the_gallery_are_found() {
        for (spec, grid, stencil) in [
            ("poisson5:9x4", "9x4", "2d5"),
            ("poisson9:5x8", "5x8", "2d9"),
            ("poisson7:5x4x3", "5x4x3", "3d7"),
            ("poisson27:3", "3x3x3", "3d27"),
            ("poisson27:2x3x4", "2x3x4", "3d27"),
            ("poisson7:7x1x1", "7x1", "1d3"),
            ("poisson7:1", "1x1", "1d1"),
            ("jump7:6x5x4,100", "6x5x4", "3d7"),
            ("convdiff7:6x5x4,10", "6x5x4", "3d7"),
        ] {
            let expected = (grid.to_owned(), stencil.to_owned());
            assert_eq!(found(spec), expected, "{spec}");
        }
        // Flat along other axes.
        for spec in ["poisson7:1x5x6", "poisson7:5x1x6", "poisson7:1x1x6"] {
            found(spec);
        }
    }

    #[test]
    fn several_unknowns_are_found() {
        let host = Executor::reference();
        let a = gallery::build("elasticity:3x2x2", &host).unwrap().matrix;
        let found = find_stencil(&a).unwrap();
        assert_eq!((found.grid.size(), found.unknowns), ([3, 3, 3], 3));
        assert_eq!(found.stencil.points(), 27);
    }

    #[test]
    fn the_entry_that_breaks_the_stencil_is_named() {
        let host = Executor::reference();
        let a = gallery::build("poisson5:6x5", &host).unwrap().matrix;
        let mut triplets: Vec<(usize, usize)> = Vec::new();
        for row in 0..30 {
            triplets.extend(a.row(row).0.iter().map(|&column| (row, column as usize)));
        }
        // From the end of a line to the beginning of the next: the distance is that of a neighbour.
        triplets.push((17, 18));
        triplets.sort_unstable();
        let offsets = (0..=30)
            .map(|row| triplets.partition_point(|entry| entry.0 < row))
            .collect();
        let columns = triplets.iter().map(|entry| entry.1 as u32).collect();
        let broken =
            Csr::from_canonical(&host, a.size(), offsets, columns, vec![1.0; triplets.len()]);
        match StencilMatrix::from_csr(&broken) {
            Err(Error::NotAStencil {
                row: 17,
                column: 18,
                grid,
            }) => assert_eq!(grid, "6x5"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn matrices_without_a_grid_are_refused() {
        let host = Executor::reference();
        let a = gallery::build("lshape:o1,l2", &host).unwrap().matrix;
        assert_refused!(StencilMatrix::from_csr(&a), NotAStencil { .. });
    }
}
