//! The set-up: makes the levels of structured multigrid from a matrix.

use std::borrow::Cow;
use std::time::Instant;

use super::coarsen::{coarsened, coarsened_by_ranks};
use super::cycles::{AnyDown, Levels};
use super::features::strong_axes;
use super::level_parts::{Made, kind};
use super::scaling::{in_range, round};
use super::survey::Survey;
use super::{StencilMatrix, StructMg};
use crate::matrix::GridPart;
use crate::multigrid::{LevelScaling, Report};
use crate::prelude::*;

/// How far below the range a matrix is scaled whose coarse levels are made of the scaled one: their
/// entries are larger.
const ROOM_FOR_SUMS: f64 = 1024.0;

/// All levels, before they are stored.
struct MadeLevels<'a> {
    levels: Vec<Made<'a>>,
    /// Where ranks share levels: how they share that behind them, which rank 0 has, with all below.
    gathered: Option<(usize, Arc<GridPart>)>,
}

/// The levels of a matrix, all in double precision, the last one without transfers; matrices are rounded to a
/// type, where it is given, before the next one is made of them. The axes to halve may be known. Ranks other than the
/// first have none from the level on that is gathered.
fn made_levels<'a>(
    parameters: &StructMg,
    mut a: Cow<'a, StencilMatrix<f64>>,
    rounded: Option<Kind>,
    known: Option<&[Vec<usize>]>,
    (executor, ws): (&Executor, &Workspace),
) -> Result<MadeLevels<'a>> {
    let gathered_cells = parameters.gathered_cells(executor);
    let (mut levels, mut above): (Vec<Made<'a>>, _) = (Vec::new(), None);
    loop {
        ws.check_end(a.part().map(|part| part.team()))?;
        let begin = Instant::now();
        let _stage = ws.stage("galerkin products", 0);
        if let Some(kind) = rounded {
            round(a.to_mut(), kind);
        }
        let axes = match known {
            Some(known) => known.get(levels.len()).cloned().unwrap_or_default(),
            None if a.grid_of_all().cells() <= parameters.coarsest_cells.max(1) => Vec::new(),
            None => strong_axes(&a, parameters.semicoarsening)?,
        };
        let mut next = None;
        if let Some(part) = a.part().cloned() {
            if a.grid_of_all().cells() > gathered_cells && !axes.is_empty() {
                next = coarsened_by_ranks(&a, &part, &axes)?;
            }
            if next.is_none() {
                let whole = a.gathered(&part)?;
                above = Some((levels.len(), part));
                match whole {
                    Some(whole) => a = Cow::Owned(whole),
                    None => break,
                }
            }
        }
        let (transfers, coarse, exchange) = match next {
            Some((transfers, coarse, exchange)) => (transfers, Some(coarse), Some(exchange)),
            None if axes.is_empty() => (Vec::new(), None, None),
            None => {
                let (transfers, coarse) = coarsened(&a, &axes)?;
                (transfers, Some(coarse), None)
            }
        };
        let as_asked = |coarse| parameters.coarse_stencil.of(coarse, a.stencil());
        let coarse = coarse.map(as_asked).transpose()?;
        let seconds = begin.elapsed().as_secs_f64();
        levels.push(Made {
            a,
            axes,
            transfers,
            exchange,
            seconds,
        });
        match coarse {
            Some(coarse) => a = Cow::Owned(coarse),
            None => break,
        }
    }
    Ok(MadeLevels {
        levels,
        gathered: above,
    })
}

/// The cycle and its report.
pub(super) struct Ready {
    pub(super) cycle: AnyDown,
    pub(super) report: Report,
    /// The matrix of the finest level and what it is stored in, if it is not scaled.
    pub(super) finest: Option<(Kind, Arc<dyn LinOp<f64>>)>,
    /// The axes along which each level but the coarsest is halved.
    pub(super) axes: Vec<Vec<usize>>,
}

/// Makes all levels, along axes that may be known, and stores them on an executor, that of a `rank` alone where several share
/// the grid: matrices as the precisions say up
/// to the level from which on they are in the precision of vectors, too.
pub(super) fn set_up(
    parameters: &StructMg,
    axes: Option<&[Vec<usize>]>,
    (mut a, survey): (Cow<'_, StencilMatrix<f64>>, Survey),
    (executor, rank): (&Executor, Option<&Executor>),
    ws: &Workspace,
) -> Result<Ready> {
    let (unknowns, cells) = (a.unknowns(), a.grid_of_all().cells());
    a.agree(a.check_diagonal("struct-mg"))?;
    let first =
        parameters.scaling == LevelScaling::ScaleThenSetup && cells > parameters.coarsest_cells;
    let finest = kind(parameters.on_level(0, cells * unknowns)?.precision.matrix);
    let (mut survey, mut outer) = (Some(survey.beside(&a, finest)?), None);
    if first && survey.take().is_some_and(|survey| survey.leaves_range) {
        let made = in_range::<f64>(&a, finest, ROOM_FOR_SUMS, 0)?;
        (a, outer) = (Cow::Owned(made.a), Some(made.scales));
    }
    let MadeLevels {
        levels: made,
        gathered,
    } = made_levels(parameters, a, first.then_some(finest), axes, (executor, ws))?;
    let _stage = ws.stage("storing levels", 0);
    let halved = made.iter().filter(|level| !level.transfers.is_empty());
    let axes = halved.map(|level| level.axes.clone()).collect();
    let mut levels = Levels {
        parameters,
        made: made.into_iter(),
        gathered,
        unknowns,
        executor,
        rank,
        ws,
        known: (survey, outer),
        narrow: true,
        report: Report::default(),
        finest: None,
    };
    Ok(Ready {
        cycle: levels.cycles()?,
        report: levels.report,
        finest: levels.finest,
        axes,
    })
}
