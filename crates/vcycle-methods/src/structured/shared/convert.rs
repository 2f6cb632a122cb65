//! The stencil of rows that several ranks share.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::matrix::{Distributed, GridPart, zeroed};
use crate::structured::convert::{ALL, no_stencil, offset_place};
use crate::structured::detect::{FEW, MANY, Structure, of_first_rows};
use crate::structured::stencil::opposite;
use crate::structured::{Grid, Offset, Stencil, StencilMatrix};

/// What leads to no neighbour.
const NOWHERE: u8 = u8::MAX;

/// The near cells of a matrix on a grid, which may be known. None where it has at most `gather_cells`, or too few cells
/// for so many ranks: one rank is to have it.
pub(in crate::structured) fn stencil_of_rows(
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
        let rows = OwnRows::new(a, grid, unknowns);
        match a.team().agree(rows.and_then(|rows| rows.places())) {
            Ok((rows, places)) => return rows.near(&places, &Arc::new(part)).map(Some),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.expect("some rows have been looked at"))
}

/// The grid and the unknowns of a cell, as rank 0 finds them from the first rows.
fn found(a: &Distributed<f64>, known: Option<Grid>, rows: u64) -> Result<(Grid, usize)> {
    let (team, nonzeros) = (a.team(), a.total_nonzeros()?);
    let count = (a.rows().total() as usize, nonzeros as usize);
    let first = a.first_rows(rows)?;
    let found = first.map(|first| of_first_rows(&first, count, known));
    let found = team.agree(found.transpose())?;
    let own = match &found {
        Some(Structure { grid, unknowns, .. }) => {
            let [nx, ny, nz] = grid.size();
            [nx, ny, nz, *unknowns]
        }
        None => [0; 4],
    };
    let mut told = [0; 4];
    for (told, own) in told.iter_mut().zip(own) {
        *told = team.all_numbers(own as u64)?[0] as usize;
    }
    let [nx, ny, nz, unknowns] = told;
    Ok((Grid::new([nx, ny, nz])?, unknowns))
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

    /// Where every entry leads: the place of its offset among [`ALL`].
    fn places(self) -> Result<(Self, Vec<u8>)> {
        let (local, r, nx) = (self.a.local(), self.unknowns, self.grid.length());
        let (offsets, columns) = (local.offsets(), local.columns());
        let mut places: Vec<u8> = Vec::with_capacity(columns.len());
        for row in 0..self.count * r {
            let range = offsets[row]..offsets[row + 1];
            let x = (self.first + row / r) % nx;
            // Between the ends of a line rows are often those before, one cell further on.
            let is_inside = row >= r && x >= 2 && x + 1 < nx;
            let before = row.saturating_sub(r);
            let before = offsets[before]..offsets[before + 1];
            if is_inside && before.len() == range.len() {
                let mut pairs = columns[before.clone()].iter().zip(&columns[range.clone()]);
                if pairs.all(|(before, here)| self.is_further_on(*before, *here)) {
                    places.extend_from_within(before);
                    continue;
                }
            }
            for place in range {
                places.push(self.place_of(row, place)?);
            }
        }
        Ok((self, places))
    }

    /// Whether a column is that of the same unknown one cell behind another.
    fn is_further_on(&self, before: u32, here: u32) -> bool {
        let ([before, here], numbers) = ([before, here].map(|one| one as usize), self.a.columns());
        here == before + self.unknowns
            && numbers.global(here) == numbers.global(before) + self.unknowns as u64
    }

    fn place_of(&self, row: usize, place: usize) -> Result<u8> {
        let (r, local) = (self.unknowns, self.a.local());
        let column = self.a.columns().global(local.columns()[place] as usize) as usize;
        let cell = self.first + row / r;
        let [from, to] = [cell, column / r].map(|cell| self.grid.cell(cell));
        match offset_place(from, to) {
            Some(place) => Ok(place as u8),
            None if local.values()[place] == 0.0 => Ok(NOWHERE),
            None => Err(no_stencil(self.grid, (self.first * r + row, column))),
        }
    }

    /// The neighbours that cells of any rank have entries for.
    fn stencil(&self, places: &[u8]) -> Result<Stencil> {
        let values = self.a.local().values();
        let entries = places.iter().zip(values);
        let used = entries.filter(|(place, value)| **place != NOWHERE && **value != 0.0);
        let own = used.fold(0_u32, |used, (place, _)| used | 1 << place);
        let all = self.a.team().all_numbers(u64::from(own))?;
        let used = all.into_iter().fold(0, |all, own| all | own);
        let is_used = |offset: Offset| {
            let place = ALL.iter().position(|&other| other == offset);
            place.is_some_and(|place| used >> place & 1 == 1)
        };
        Ok(Stencil::of(&|offset| {
            offset == [0; 3] || is_used(offset) || is_used(opposite(offset))
        }))
    }

    /// The matrix of near cells.
    fn near(&self, places: &[u8], part: &Arc<GridPart>) -> Result<StencilMatrix<f64>> {
        let (stencil, r, near) = (self.stencil(places)?, self.unknowns, part.near());
        let executor = self.a.executor().alone();
        let streams = stencil.points() * r * r;
        let own = self.a.team().agree(self.streams(&stencil, places))?;
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
    fn streams(&self, stencil: &Stencil, places: &[u8]) -> Result<Vec<f64>> {
        let (local, r, points) = (self.a.local(), self.unknowns, stencil.points());
        let point = ALL.map(|offset| stencil.position(offset));
        let mut values = zeroed(local.executor(), points * r * r * self.count)?;
        for row in 0..self.count * r {
            let (cell, i) = (row / r, row % r);
            let range = local.offsets()[row]..local.offsets()[row + 1];
            for place in range.filter(|&place| places[place] != NOWHERE) {
                let Some(point) = point[usize::from(places[place])] else {
                    continue;
                };
                let column = self.a.columns().global(local.columns()[place] as usize) as usize;
                let stream = (i * points + point) * r + column % r;
                values[stream * self.count + cell] = local.values()[place];
            }
        }
        Ok(values)
    }
}
