//! Structured multigrid of a matrix whose rows several ranks share, and the stencil of these rows.

use std::borrow::Cow;

use super::convert::{no_stencil, stencil_with};
use super::decode::{ALL, Decoder};
use super::detect::{FEW, MANY, has_room, of_first_rows};
use super::mg::GridSetup;
use super::parameters::ON_HOST;
use super::{Generated, Grid, Stencil, StencilMatrix, StencilSmoother, StructMg, Structure};
use crate::matrix::{Gathered, GridPart, zeroed};
use crate::operations::on_host;
use crate::prelude::*;

/// Devices gather levels of so many times more cells: what they compute takes less time there, messages take more.
const ON_DEVICES: usize = 20;

impl StructMg {
    /// The preconditioner of a matrix whose rows several ranks share. Its [near cells](Self::stencil_of_ranks) may be known, and
    /// an earlier set-up for the same stencil.
    pub(super) fn of_ranks<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        near: Option<StencilMatrix<f64>>,
        earlier: Option<&GridSetup>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        let team = a.team();
        let near = match (near, earlier) {
            (_, Some(earlier)) if earlier.part.is_none() => None,
            (Some(near), _) => Some(near),
            (None, None) => self.stencil_of_ranks(a)?,
            (None, Some(earlier)) => {
                let part = earlier.part.as_ref();
                let near = part.map(|part| stencil_on(a, part, earlier.unknowns));
                near.transpose()?
            }
        };
        let Some(near) = near else {
            let made = a.gathered()?.map(|whole| {
                let whole: Arc<dyn LinOp<T>> = Arc::new(whole.convert::<T>()?);
                match earlier {
                    Some(earlier) => earlier.update_values(&whole, ws),
                    None => self.generate_with_report(&whole, ws),
                }
            });
            return Ok(self.made_on_root(a, team.agree(made.transpose())?));
        };
        if let Some(earlier) = earlier {
            team.agree(earlier.check(&near))?;
        }
        let near = Cow::Owned(self.placed(a, near)?);
        let axes = earlier.map(|earlier| &earlier.axes[..]);
        let _stage = earlier.map(|_| ws.stage("struct-mg update", 0));
        self.of_stencil(near, Some(a), axes, &a.executor().gathering(), ws)
    }

    /// What rank 0 has made for all, and no other rank.
    fn made_on_root<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        made: Option<Generated<T>>,
    ) -> Generated<T> {
        let inner = made.as_ref().map(|made| Arc::clone(&made.operator));
        let operator = Gathered::operator(a.executor(), a.rows(), inner);
        match made {
            Some(made) => Generated {
                operator,
                matrix: None,
                ..made
            },
            None => Generated {
                operator,
                matrix: None,
                report: Default::default(),
                parameters: self.clone(),
                setup: GridSetup::none(self),
            },
        }
    }

    /// The cells of this rank and those around them of a matrix whose rows several ranks share. None where one rank is to have
    /// the whole grid. All ranks call it together.
    #[doc(hidden)]
    pub fn stencil_of_ranks(&self, a: &Distributed<f64>) -> Result<Option<StencilMatrix<f64>>> {
        a.team().agree(self.check_ranks())?;
        stencil_of_rows(a, self.grid, self.gathered_cells(a.executor()))
    }

    /// The near cells where levels are made of them: on the device of a rank that has kernels for all of that, where all ranks
    /// have room for theirs.
    fn placed(&self, a: &Distributed<f64>, near: StencilMatrix<f64>) -> Result<StencilMatrix<f64>> {
        let there = a.executor().gathering();
        if !there.is_device() {
            return Ok(near);
        }
        let is_there = self.sets_up_on(&there) && has_room(&there, near.bytes());
        if a.team().any(!is_there)? {
            on_host(a.executor(), ON_HOST);
            return Ok(near);
        }
        a.team().agree(near.into_executor(&there))
    }

    /// Over ranks: a level of at most so many cells is that of one rank.
    pub(super) fn gathered_cells(&self, executor: &Executor) -> usize {
        match executor.is_device() {
            true => self.gather_cells.saturating_mul(ON_DEVICES),
            false => self.gather_cells,
        }
    }

    /// Fails, saying what to use, for what is not made for ranks.
    fn check_ranks(&self) -> Result<()> {
        let refuse = |component: String, instead: &str| {
            Err(Error::Unsupported {
                component,
                operation: format!("grids that several ranks share; use {instead}"),
            })
        };
        let on_levels = self.levels.iter().filter_map(|one| one.smoother);
        let follows_rows =
            |one: &StencilSmoother| matches!(one, StencilSmoother::Dilu | StencilSmoother::Ilu0);
        if let Some(smoother) = on_levels.chain([self.smoother]).find(follows_rows) {
            let instead = "`gs`, `jacobi` or `chebyshev`";
            return refuse(format!("the smoother `{smoother}`"), instead);
        }
        Ok(())
    }
}

/// The near cells of a matrix on a grid, which may be known. None where it has at most `gather_cells`, or too few cells
/// for so many ranks: one rank is to have it.
fn stencil_of_rows(
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
fn stencil_on(
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
