//! The stencil of rows that several ranks share.

use std::sync::Arc;

use super::convert::{no_stencil, stencil_with};
use super::decode::{ALL, Decoder};
use super::detect::{FEW, MANY, of_first_rows};
use super::{Grid, Stencil, StencilMatrix, Structure};
use crate::error::{Error, Result};
use crate::matrix::{Distributed, GridPart, zeroed};

/// The near cells of a matrix on a grid, which may be known. None where it has at most `gather_cells`, or too few cells
/// for so many ranks: one rank is to have it.
pub(super) fn stencil_of_rows(
    a: &Distributed<f64>,
    known: Option<Grid>,
    gather_cells: usize,
) -> Result<Option<StencilMatrix<f64>>> {
    let mut failed = None;
    for rows in [FEW, MANY] {
        let (grid, unknowns) = found(a, known, rows as u64)?;
        let cells = a.rows().divided(unknowns);
        if grid.cells() <= gather_cells {
            return Ok(None);
        }
        let Some(part) = GridPart::shared(a.team(), grid, &cells) else {
            return Ok(None);
        };
        match stencil_on(a, &Arc::new(part), unknowns) {
            Ok(near) => return Ok(Some(near)),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.expect("some rows have been looked at"))
}

/// The near cells of a matrix whose grid and parts are known.
pub(super) fn stencil_on(
    a: &Distributed<f64>,
    part: &Arc<GridPart>,
    unknowns: usize,
) -> Result<StencilMatrix<f64>> {
    let rows = OwnRows::new(a, part.grid(), unknowns);
    let rows = rows.and_then(|rows| rows.places());
    let (rows, places) = a.team().agree(rows)?;
    rows.near(places, part)
}

/// The grid and the unknowns of a cell, as rank 0 finds them from the first rows.
fn found(a: &Distributed<f64>, known: Option<Grid>, rows: u64) -> Result<(Grid, usize)> {
    let (team, nonzeros) = (a.team(), a.total_nonzeros()?);
    let count = (a.rows().total() as usize, nonzeros as usize);
    let first = a.first_rows(rows)?;
    let found = first.map(|first| of_first_rows(&first, count, known));
    let found = team.agree(found.transpose())?;
    let own = found.map_or([0; 4], |Structure { grid, unknowns, .. }| {
        let [nx, ny, nz] = grid.size();
        [nx, ny, nz, unknowns]
    });
    let own = own.map(|number| number as u64).to_vec();
    let all = team.all_to_all_numbers(vec![own; team.size()])?;
    let number = |place: usize| all[0][place] as usize;
    Ok((Grid::new([0, 1, 2].map(number))?, number(3)))
}

/// Own rows on a grid.
struct OwnRows<'a> {
    a: &'a Distributed<f64>,
    grid: Grid,
    unknowns: usize,
    /// The first own cell, and how many there are.
    first: usize,
    count: usize,
}

impl<'a> OwnRows<'a> {
    fn new(a: &'a Distributed<f64>, grid: Grid, unknowns: usize) -> Result<Self> {
        let own = a.columns().own_rows();
        let [first, end] = [own.start, own.end].map(|row| row as usize);
        if first % unknowns > 0 || end % unknowns > 0 {
            let reason = format!(
                "struct-mg: the {unknowns} unknowns of a cell have to be on one rank; say how many they are (block-size)"
            );
            return Err(Error::Team(reason));
        }
        Ok(Self {
            a,
            grid,
            unknowns,
            first: first / unknowns,
            count: (end - first) / unknowns,
        })
    }

    fn decoder(&self) -> Decoder<'_> {
        Decoder::new(self.grid, self.unknowns).of_rank(self.a.columns())
    }

    /// The places of [`ALL`] that entries are at, a bit each.
    fn places(self) -> Result<(Self, u32)> {
        let cells = self.first..self.first + self.count;
        let places = self.decoder().places_used(self.a.local(), cells);
        match places {
            Ok(places) => Ok((self, places)),
            Err(entry) => Err(no_stencil(self.grid, entry)),
        }
    }

    /// The neighbours that cells of any rank have entries for.
    fn stencil(&self, own: u32) -> Result<Stencil> {
        let all = self.a.team().all_numbers(u64::from(own))?;
        let used = all.into_iter().fold(0, |all, own| all | own);
        Ok(stencil_with(used as u32))
    }

    /// The matrix of near cells.
    fn near(&self, places: u32, part: &Arc<GridPart>) -> Result<StencilMatrix<f64>> {
        let (stencil, r, near) = (self.stencil(places)?, self.unknowns, part.near());
        let executor = self.a.executor().alone();
        let streams = stencil.points() * r * r;
        let own = self.a.team().agree(self.streams(&stencil))?;
        let made = zeroed(&executor, streams * near.cells());
        let mut values: Vec<f64> = self.a.team().agree(made)?;
        let length = near.length();
        let moves = part.from_rows(&self.a.rows().divided(r));
        moves.move_to([streams, 1], &own, |stream, mut cell, mut new| {
            while !new.is_empty() {
                let (line, x) = (cell / length, cell % length);
                let (now, later) = new.split_at(new.len().min(length - x));
                let first = (line * streams + stream) * length + x;
                values[first..first + now.len()].copy_from_slice(now);
                (cell, new) = (cell + now.len(), later);
            }
        })?;
        let made = StencilMatrix::with_unknowns(&executor, near, stencil, r, values)?;
        Ok(made.with_part(Some(part)))
    }

    /// The entries of own cells, stream by stream: those of an unknown with an unknown at an offset.
    fn streams(&self, stencil: &Stencil) -> Result<Vec<f64>> {
        let (local, r, points) = (self.a.local(), self.unknowns, stencil.points());
        let point = ALL.map(|offset| stencil.position(offset));
        let mut values = zeroed(local.executor(), points * r * r * self.count)?;
        let cells = self.first..self.first + self.count;
        let looked = self.decoder().each_run(local, cells, |run| {
            for (entry, &stream) in run.streams.iter().enumerate() {
                let (place, column) = (usize::from(stream) / r, usize::from(stream) % r);
                if let Some(Some(point)) = point.get(place) {
                    let stream = (run.unknown * points + point) * r + column;
                    let first = stream * self.count + run.cell - self.first;
                    run.copy(entry, &mut values[first..]);
                }
            }
        });
        looked.map_err(|entry| no_stencil(self.grid, entry))?;
        Ok(values)
    }
}
