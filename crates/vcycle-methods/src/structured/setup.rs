//! The set-up: makes the levels of structured multigrid from a matrix.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::axes::strong_axes;
use super::coarsen::coarsened;
use super::cycles::{AnyDown, AnyLevel, Down};
use super::fields::{InFields, InRows};
use super::level::{GridLevel, Scales, Stored};
use super::level_options::OnLevel;
use super::scaling::{InRange, in_range, round, scaled, stored};
use super::shared::{GridWay, InNear, coarsened_by_ranks, gathered};
use super::smoothing::StencilSmoothing;
use super::survey::Survey;
use super::{StencilMatrix, StencilSmoother, Storage, StructMg, Transfer};
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Buffer, Executor, Workspace};
use crate::linop::LinOp;
use crate::matrix::GridPart;
use crate::multigrid::{Cycle, DenseLu, LevelFacts, LevelPart, LevelScaling, Report, StageTime};
use crate::precision::{Precision, Unit};
use crate::scalar::{Kind, Mixes, bf16, f16};

/// From this part of entries that lose digits on, a level is kept in the precision of vectors.
const UNDERFLOW: f64 = 0.05;
/// How far below the range a matrix is scaled whose coarse levels are made of the scaled one: their
/// entries are larger.
const ROOM_FOR_SUMS: f64 = 1024.0;

/// A level before it is stored.
struct Made<'a> {
    a: Cow<'a, StencilMatrix<f64>>,
    /// Along which the next grid is coarser.
    axes: Vec<usize>,
    transfers: Vec<Transfer<f64>>,
    /// The way to the next one, where ranks share both.
    way: Option<Arc<GridWay>>,
    seconds: f64,
}

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
                let whole = gathered(&a, &part)?;
                above = Some((levels.len(), part));
                match whole {
                    Some(whole) => a = Cow::Owned(whole),
                    None => break,
                }
            }
        }
        let (transfers, coarse, way) = match next {
            Some((transfers, coarse, way)) => (transfers, Some(coarse), Some(way)),
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
            way,
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

/// The cycle and what can be told about it.
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
    let cycle = cycle.expect("every rank has the coarsest level, or tells its part of it");
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

/// What a level is made of besides its matrix as it is stored.
struct LevelParts<'p> {
    parameters: &'p StructMg,
    on: OnLevel,
    number: usize,
    made: &'p Made<'p>,
    executor: &'p Executor,
    ws: &'p Workspace,
}

impl LevelParts<'_> {
    /// The level and what can be told about it.
    fn any_level(
        &self,
        survey: Option<Survey>,
        outer: Option<Buffer<f64>>,
        narrow: &mut bool,
    ) -> Result<(AnyLevel, LevelFacts)> {
        let begin = Instant::now();
        let kind = kind(self.on.precision.matrix);
        let survey = match survey {
            Some(survey) => survey,
            None => Survey::new(&self.made.a, kind)?,
        };
        Ok(match self.on.precision.working {
            Unit::Double => {
                let level = self.stored_in::<f64>(survey, outer, narrow)?;
                let facts = self.facts(level.as_ref(), begin.elapsed().as_secs_f64());
                (AnyLevel::Double(level), facts)
            }
            _ => {
                let level = self.stored_in::<f32>(survey, outer, narrow)?;
                let facts = self.facts(level.as_ref(), begin.elapsed().as_secs_f64());
                (AnyLevel::Single(level), facts)
            }
        })
    }

    /// [`stored`](Self::stored) in its precision.
    fn stored_in<V: Vectors + Storage + Mixes<V, V>>(
        &self,
        survey: Survey,
        outer: Option<Buffer<f64>>,
        narrow: &mut bool,
    ) -> Result<Box<dyn GridLevel<V>>> {
        match self.on.precision.matrix {
            Unit::Half => self.stored::<f16, V>(survey, outer, narrow),
            Unit::Bfloat => self.stored::<bf16, V>(survey, outer, narrow),
            Unit::Single => self.stored::<f32, V>(survey, outer, narrow),
            Unit::Double => self.stored::<V, V>(survey, outer, narrow),
        }
    }

    /// The level, in `M` if it is to be and can be so, and all before it were; `outer` are numbers that its matrix
    /// is scaled by already.
    fn stored<M: Storage, V: Vectors + Storage + Mixes<V, V>>(
        &self,
        survey: Survey,
        outer: Option<Buffer<f64>>,
        narrow: &mut bool,
    ) -> Result<Box<dyn GridLevel<V>>> {
        let (a, scaling) = (&*self.made.a, self.parameters.scaling);
        let is_scaled = match scaling {
            LevelScaling::Auto => survey.leaves_range,
            LevelScaling::Equilibrate => M::KIND != Kind::F64,
            LevelScaling::ScaleThenSetup | LevelScaling::None => false,
        };
        let made = match is_scaled {
            true => Some(in_range::<M>(a, M::KIND, 2.0, self.number)?),
            false => None,
        };
        let (made, by, survey) = match made {
            Some(InRange { a, scales, survey }) => (Some(a), Some(scales), survey),
            None => (None, None, survey),
        };
        let given = by.as_ref();
        let kept = *narrow && !is_shifted(self.parameters, self.number, &survey);
        let made = match (kept, made) {
            (true, None) => Some(stored::<M>(a, self.number, &survey)?),
            (true, made) => made,
            (false, _) => None,
        };
        let is_lost = |made: &StencilMatrix<M>| made.check_diagonal("struct-mg").is_err();
        let is_lost = a.any(made.as_ref().is_some_and(is_lost))?;
        let made = made.filter(|_| !is_lost);
        *narrow = made.is_some();
        let all = outer.as_ref().or(given);
        let is_recovered = scaling != LevelScaling::ScaleThenSetup;
        let kept = all.map(|by| Scales::new(self.executor, by, is_recovered));
        let kept = kept.transpose()?;
        Ok(match made {
            Some(made) => Box::new(self.level::<M, V>(made, kept, given)?),
            None => {
                let made = match given {
                    Some(by) => scaled::<V>(a, by, self.number)?,
                    None => stored::<V>(a, self.number, &survey)?,
                };
                // There is no wider type if it cannot be smoothed with.
                made.agree(made.check_diagonal("struct-mg"))?;
                Box::new(self.level::<V, V>(made, kept, given)?)
            }
        })
    }

    fn level<M: Storage, V: Vectors + Mixes<V, V>>(
        &self,
        stored: StencilMatrix<M>,
        scales: Option<Scales<V>>,
        by: Option<&Buffer<f64>>,
    ) -> Result<Stored<M, V>> {
        let transfers = self.made.transfers.iter().map(|transfer| {
            let narrow = transfer.convert()?;
            narrow.into_executor(self.executor)
        });
        let smoother = self.on.smoother;
        let unscaled = &*self.made.a;
        let a = match by.filter(|_| smoother != StencilSmoother::GaussSeidel) {
            Some(by) => Cow::Owned(scaled(unscaled, by, self.number)?),
            None => Cow::Borrowed(unscaled),
        };
        let stored = Arc::new(stored.into_executor(self.executor)?);
        let way = self.made.way.clone();
        let product: Arc<dyn LinOp<V>> = Arc::new(InFields(Arc::clone(&stored)));
        Ok(Stored {
            product: match &way {
                None => product,
                Some(way) => Arc::new(InNear {
                    inner: product,
                    way: Arc::clone(way),
                }),
            },
            way,
            a: stored,
            transfers: transfers.collect::<Result<_>>()?,
            scales,
            next: None,
            smoothing: StencilSmoothing::new(smoother, &a, self.number, self.executor, self.ws)?,
            sweeps: self.on.sweeps,
        })
    }

    fn facts<V: Vectors>(&self, level: &dyn GridLevel<V>, storing: f64) -> LevelFacts {
        let (matrix, other) = level.bytes();
        let OnLevel {
            smoother,
            sweeps: [before, after],
            ..
        } = self.on;
        LevelFacts {
            rows: self.made.a.rows_of_all(),
            nonzeros: self.made.a.grid_of_all().cells() * self.made.a.numbers_of_a_cell(),
            transfer_nonzeros: other / level.storage().bytes(),
            precision: Precision {
                working: unit(V::KIND),
                matrix: unit(level.storage()),
            },
            format: "stencil".to_owned(),
            smoother: format!("{smoother} {before}+{after} {}", self.made.a.grid_of_all()),
            scaled: level.scales().is_some(),
            bytes: matrix + other,
            part: self.made.way.as_ref().map(|way| self.part(way)),
            setup: vec![
                StageTime {
                    name: "galerkin products",
                    seconds: self.made.seconds,
                },
                StageTime {
                    name: "storing",
                    seconds: storing,
                },
            ],
        }
    }
}

impl LevelParts<'_> {
    /// What this rank has of the level.
    fn part(&self, way: &GridWay) -> LevelPart {
        let (a, (neighbours, sent)) = (&self.made.a, way.part().traffic());
        let cells = way.part().own().cells();
        LevelPart {
            rows: cells * a.unknowns(),
            nonzeros: cells * a.numbers_of_a_cell(),
            neighbours,
            sent: sent * a.unknowns(),
        }
    }
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

/// Whether a level is to be stored in the precision of vectors.
fn is_shifted(parameters: &StructMg, number: usize, survey: &Survey) -> bool {
    match parameters.shift_level {
        Some(shift) => number >= shift,
        None => survey.underflow() > UNDERFLOW,
    }
}

fn kind(unit: Unit) -> Kind {
    unit.kind(false).expect("real numbers of any unit")
}

fn unit(kind: Kind) -> Unit {
    match kind {
        Kind::F16 => Unit::Half,
        Kind::Bf16 => Unit::Bfloat,
        Kind::F32 => Unit::Single,
        _ => Unit::Double,
    }
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
