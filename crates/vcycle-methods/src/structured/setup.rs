//! The set-up: makes the levels of structured multigrid from a matrix.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::axes::strong_axes;
use super::coarsen::{coarsened, coarsened_by_ranks};
use super::cycles::{AnyDown, AnyLevel, Down};
use super::fields::InRows;
use super::level_parts::{LevelParts, Made, kind};
use super::scaling::{in_range, round};
use super::survey::Survey;
use super::{StencilMatrix, StructMg};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::LinOp;
use crate::matrix::GridPart;
use crate::multigrid::{Cycle, DenseLu, LevelFacts, LevelScaling, Report, StageTime};
use crate::precision::{Precision, Unit};
use crate::scalar::{Kind, Mixes};

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
    let shape = (parameters.cycle, rank);
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
        levels: mut made,
        gathered,
    } = made_levels(parameters, a, first.then_some(finest), axes, (executor, ws))?;
    let _stage = ws.stage("storing levels", 0);
    let is_last = made.last().is_some_and(|last| last.transfers.is_empty());
    let coarsest = is_last.then(|| made.pop()).flatten();
    let axes = made.iter().map(|level| level.axes.clone()).collect();
    let (mut report, mut levels, mut narrow) = (Report::default(), Vec::new(), true);
    for (number, made) in made.into_iter().enumerate() {
        let parts = LevelParts {
            parameters,
            on: parameters.on_level(number, made.a.rows_of_all())?,
            number,
            made: &made,
            executor,
            ws,
        };
        let (level, facts) = parts.any_level(survey.take(), outer.take(), &mut narrow)?;
        report.levels.push(facts);
        levels.push(level);
    }
    let mut cycle = None;
    if let Some(coarsest) = coarsest {
        let last = parameters.on_level(levels.len(), coarsest.a.size().rows)?;
        report.coarsest = "dense";
        report
            .levels
            .push(coarsest_facts(&coarsest, last.precision.working));
        cycle = Some(solved(&coarsest.a, last.precision.working, executor)?);
    }
    let finest = levels.first().and_then(AnyLevel::unscaled);
    let mut levels: Vec<_> = levels.into_iter().enumerate().collect();
    if let Some((above, part)) = gathered {
        let own = levels.split_off(above);
        let on = parameters.on_level(above, part.grid().cells() * unknowns)?;
        let inner = cycle.map(|cycle| under(cycle, own, shape)).transpose()?;
        let kind = (parameters.cycle, on.precision.working);
        cycle = Some(AnyDown::gathered(inner, (&part, unknowns), kind, executor)?);
    }
    let cycle = cycle.expect("every rank has the coarsest level, or sends its part of it");
    Ok(Ready {
        cycle: under(cycle, levels, shape)?,
        report,
        finest,
        axes,
    })
}

/// A cycle with levels on top of it, each with its number.
fn under(
    mut cycle: AnyDown,
    levels: Vec<(usize, AnyLevel)>,
    shape: (Cycle, Option<&Executor>),
) -> Result<AnyDown> {
    for (number, level) in levels.into_iter().rev() {
        cycle = cycle.below(level, shape, number)?;
    }
    Ok(cycle)
}

/// The coarsest matrix, solved with vectors in a precision.
fn solved(a: &StencilMatrix<f64>, working: Unit, executor: &Executor) -> Result<AnyDown> {
    Ok(match working {
        Unit::Double => AnyDown::Double(Down::coarsest(factorised_densely(a, executor)?)),
        _ => AnyDown::Single(Down::coarsest(factorised_densely(a, executor)?)),
    })
}

/// The coarsest matrix, solved with; on a device its inverse: a product has no order to keep.
fn factorised_densely<V: Mixes<V, V>>(
    a: &StencilMatrix<f64>,
    executor: &Executor,
) -> Result<Arc<dyn LinOp<V>>> {
    let (unknowns, a) = (a.unknowns(), a.copy_to(&a.executor().on_host())?.to_csr());
    let inner: Arc<dyn LinOp<V>> = match DenseLu::inverse::<V>(executor, &a)? {
        Some(inverse) => Arc::new(inverse),
        None => Arc::new(DenseLu::new(&a)),
    };
    Ok(Arc::new(InRows { unknowns, inner }))
}

fn coarsest_facts(level: &Made<'_>, working: Unit) -> LevelFacts {
    let rows = level.a.size().rows;
    let precision = Precision {
        working,
        matrix: Unit::Double,
    };
    LevelFacts {
        rows,
        nonzeros: level.a.entries(),
        transfer_nonzeros: 0,
        precision,
        format: "dense".to_owned(),
        smoother: format!("dense {}", level.a.grid()),
        scaled: false,
        bytes: rows * rows * size_of::<f64>(),
        part: None,
        setup: vec![StageTime {
            name: "galerkin products",
            seconds: level.seconds,
        }],
    }
}
