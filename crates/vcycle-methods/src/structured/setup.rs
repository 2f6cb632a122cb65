//! The set-up: makes the levels of structured multigrid from a matrix.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::coarsen::coarsened;
use super::cycle::VCycle;
use super::level::{Level, Scales, Stored};
use super::lines::add;
use super::scaling::{InRange, in_range, round, scaled, stored};
use super::smoothing::Smoothing;
use super::survey::Survey;
use super::{Smoother, StencilMatrix, Storage, StructMg, Transfer};
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::LinOp;
use crate::multigrid::{DenseLu, LevelFacts, LevelPrecisions, LevelScaling, Report, StageTime};
use crate::precision::{Precision, Unit};
use crate::scalar::{Kind, Mixes, bf16, f16};

/// From this part of entries that lose digits on, a level is kept in the precision of vectors.
const UNDERFLOW: f64 = 0.05;
/// How far below the range a matrix is scaled whose coarse levels are made of the scaled one: their
/// entries are larger.
const ROOM_FOR_SUMS: f64 = 1024.0;
/// Lines that tell how strongly the cells of a grid are coupled along each axis, about.
const SAMPLE: usize = 1024;

/// A level before it is stored.
struct Made<'a> {
    a: Cow<'a, StencilMatrix<f64>>,
    transfers: Vec<Transfer<f64>>,
    seconds: f64,
}

/// The levels of a matrix, all in double precision, the last one without transfers; matrices are rounded to a
/// type, where it is given, before the next one is made of them.
fn made_levels<'a>(
    parameters: &StructMg,
    mut a: Cow<'a, StencilMatrix<f64>>,
    rounded: Option<Kind>,
    ws: &Workspace,
) -> Result<Vec<Made<'a>>> {
    let mut levels = Vec::new();
    loop {
        let begin = Instant::now();
        let _stage = ws.stage("galerkin products", 0);
        if let Some(kind) = rounded {
            round(a.to_mut(), kind);
        }
        let axes = match a.grid().cells() <= parameters.coarsest_cells.max(1) {
            true => Vec::new(),
            false => strong_axes(&a, parameters.semicoarsening),
        };
        let (transfers, coarse) = match axes.is_empty() {
            true => (Vec::new(), None),
            false => coarsened(&a, &axes).map(|(transfers, coarse)| (transfers, Some(coarse)))?,
        };
        let seconds = begin.elapsed().as_secs_f64();
        levels.push(Made {
            a,
            transfers,
            seconds,
        });
        match coarse {
            Some(coarse) => a = Cow::Owned(coarse),
            None => return Ok(levels),
        }
    }
}

/// The axes to halve, z first: those along which cells are coupled at least `share` times as strongly as
/// along the strongest.
fn strong_axes(a: &StencilMatrix<f64>, share: f64) -> Vec<usize> {
    let strengths = couplings(a);
    let strongest = strengths.iter().copied().fold(0.0, f64::max);
    let size = a.grid().size();
    let strong = |axis: &usize| size[*axis] > 1 && strengths[*axis] >= share * strongest;
    let axes: Vec<usize> = (0..3).rev().filter(strong).collect();
    match axes.is_empty() {
        false => axes,
        // Only axes of one cell are strong: the others are all there is.
        true => (0..3).rev().filter(|&axis| size[axis] > 1).collect(),
    }
}

/// How strongly cells are coupled with those beside them along each axis, relative to the diagonal, on
/// average.
fn couplings(a: &StencilMatrix<f64>) -> [f64; 3] {
    let (grid, stencil) = (a.grid(), a.stencil());
    let (mut strengths, mut sides) = ([0.0; 3], [(); 2].map(|()| vec![0.0; grid.length()]));
    // An odd step does not come back to the same place of every plane.
    let sample = (0..grid.lines()).step_by(grid.lines().div_ceil(SAMPLE) | 1);
    let unknowns = |line| (0..a.unknowns()).map(move |unknown| (line, unknown));
    for (line, unknown) in sample.flat_map(unknowns) {
        let diagonal = a.line_of([unknown; 2], line, stencil.centre());
        for (axis, strength) in strengths.iter_mut().enumerate() {
            sides.iter_mut().for_each(|side| side.fill(0.0));
            for (point, offset) in stencil.offsets().iter().enumerate() {
                let Some(side) = [-1, 1].iter().position(|&step| offset[axis] == step) else {
                    continue;
                };
                add(a.line_of([unknown; 2], line, point), &mut sides[side]);
            }
            let [before, after] = &sides;
            let both = before.iter().zip(after).zip(diagonal);
            let cells = both.filter(|(_, diagonal)| **diagonal != 0.0);
            *strength += cells
                .map(|((before, after), diagonal)| (before.abs() + after.abs()) / diagonal.abs())
                .sum::<f64>();
        }
    }
    strengths
}

/// The cycle and what can be told about it.
pub(super) struct Ready<V: Vectors> {
    pub(super) cycle: VCycle<V>,
    pub(super) report: Report,
}

/// Makes all levels and stores them on an executor: arithmetic in `V`, matrices as the precisions say up to the
/// level from which on they are in `V`, too.
fn set_up<V: Vectors + Storage + Mixes<V, V>>(
    parameters: &StructMg,
    precisions: &LevelPrecisions,
    (mut a, survey): (Cow<'_, StencilMatrix<f64>>, Survey),
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<V>>
where
    StencilMatrix<V>: LinOp<V>,
{
    let (unknowns, cells) = (a.unknowns(), a.grid().cells());
    a.check_diagonal("struct-mg")?;
    let first =
        parameters.scaling == LevelScaling::ScaleThenSetup && cells > parameters.coarsest_cells;
    let finest = kind(precisions.at(0).matrix);
    let (mut survey, mut outer) = (Some(survey.beside(&a, finest)), None);
    if first && survey.take().is_some_and(|survey| survey.leaves_range) {
        let made = in_range::<f64>(&a, finest, ROOM_FOR_SUMS, 0)?;
        (a, outer) = (Cow::Owned(made.a), Some(made.scales));
    }
    let mut made = made_levels(parameters, a, first.then_some(finest), ws)?;
    let _stage = ws.stage("storing levels", 0);
    let coarsest = made.pop().expect("there is one level at least");
    let mut report = Report::default();
    let mut levels: Vec<Box<dyn Level<V>>> = Vec::new();
    let mut narrow = true;
    for (number, made) in made.into_iter().enumerate() {
        let (products, begin) = (made.seconds, Instant::now());
        let unit = precisions.at(number).matrix;
        let known = survey
            .take()
            .unwrap_or_else(|| Survey::new(&made.a, kind(unit)));
        let parts = Parts {
            parameters,
            number,
            a: &made.a,
            transfers: &made.transfers,
            executor,
            ws,
        };
        let level = parts.stored_in(unit, known, outer.take(), &mut narrow)?;
        let seconds = [products, begin.elapsed().as_secs_f64()];
        report
            .levels
            .push(facts(level.as_ref(), parameters, seconds));
        levels.push(level);
    }
    report.coarsest = "dense";
    report.levels.push(coarsest_facts::<V>(&coarsest));
    let cycle = VCycle {
        executor: executor.clone(),
        rows: cells * unknowns,
        unknowns,
        levels,
        coarsest: factorised_densely(&coarsest.a, executor)?,
        sweeps: [parameters.pre_sweeps, parameters.post_sweeps],
    };
    Ok(Ready { cycle, report })
}

/// What a level is made of besides its matrix as it is stored.
struct Parts<'p> {
    parameters: &'p StructMg,
    number: usize,
    a: &'p StencilMatrix<f64>,
    transfers: &'p [Transfer<f64>],
    executor: &'p Executor,
    ws: &'p Workspace,
}

impl Parts<'_> {
    /// [`stored`](Self::stored) in a precision; what is wider than `V` is in `V`.
    fn stored_in<V: Vectors + Storage + Mixes<V, V>>(
        &self,
        unit: Unit,
        survey: Survey,
        outer: Option<Vec<f64>>,
        narrow: &mut bool,
    ) -> Result<Box<dyn Level<V>>>
    where
        StencilMatrix<V>: LinOp<V>,
    {
        match unit {
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
        outer: Option<Vec<f64>>,
        narrow: &mut bool,
    ) -> Result<Box<dyn Level<V>>> {
        let scaling = self.parameters.scaling;
        let is_scaled = match scaling {
            LevelScaling::Auto => survey.leaves_range,
            LevelScaling::Equilibrate => M::KIND != Kind::F64,
            LevelScaling::ScaleThenSetup | LevelScaling::None => false,
        };
        let made = match is_scaled {
            true => Some(in_range::<M>(self.a, M::KIND, 2.0, self.number)?),
            false => None,
        };
        let (made, by, survey) = match made {
            Some(InRange { a, scales, survey }) => (Some(a), Some(scales), survey),
            None => (None, None, survey),
        };
        let given = by.as_deref();
        let kept = *narrow && !is_shifted(self.parameters, self.number, &survey);
        let made = match (kept, made) {
            (true, None) => Some(stored::<M>(self.a, self.number, &survey)?),
            (true, made) => made,
            (false, _) => None,
        };
        let made = made.filter(|made| made.check_diagonal("struct-mg").is_ok());
        *narrow = made.is_some();
        let all = outer.as_deref().or(given);
        let is_recovered = scaling != LevelScaling::ScaleThenSetup;
        let kept = all.map(|by| Scales::new(self.executor, by, is_recovered));
        Ok(match made {
            Some(made) => Box::new(self.level::<M, V>(made, kept, given)?),
            None => {
                let made = match given {
                    Some(by) => scaled::<V>(self.a, by, self.number)?,
                    None => stored::<V>(self.a, self.number, &survey)?,
                };
                // There is no wider type if it cannot be smoothed with.
                made.check_diagonal("struct-mg")?;
                Box::new(self.level::<V, V>(made, kept, given)?)
            }
        })
    }

    fn level<M: Storage, V: Vectors + Mixes<V, V>>(
        &self,
        stored: StencilMatrix<M>,
        scales: Option<Scales<V>>,
        by: Option<&[f64]>,
    ) -> Result<Stored<M, V>> {
        let transfers = self.transfers.iter().map(|transfer| {
            let narrow = transfer.convert()?;
            narrow.into_executor(self.executor)
        });
        let smoother = self.parameters.smoother;
        let a = match by.filter(|_| smoother != Smoother::GaussSeidel) {
            Some(by) => Cow::Owned(scaled(self.a, by, self.number)?),
            None => Cow::Borrowed(self.a),
        };
        Ok(Stored {
            a: Arc::new(stored.into_executor(self.executor)?),
            transfers: transfers.collect::<Result<_>>()?,
            scales,
            smoothing: Smoothing::new(smoother, &a, self.number, self.executor, self.ws)?,
        })
    }
}

/// The coarsest matrix, solved with; on a device its inverse: a product has no order to keep.
fn factorised_densely<V: Mixes<V, V>>(
    a: &StencilMatrix<f64>,
    executor: &Executor,
) -> Result<Arc<dyn LinOp<V>>> {
    let a = a.to_csr();
    match DenseLu::inverse::<V>(executor, &a)? {
        Some(inverse) => Ok(Arc::new(inverse)),
        None => Ok(Arc::new(DenseLu::new(&a))),
    }
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

fn facts<V: Vectors>(level: &dyn Level<V>, parameters: &StructMg, seconds: [f64; 2]) -> LevelFacts {
    let (matrix, other) = level.bytes();
    let [products, storing] = seconds;
    let precision = Precision {
        working: unit(V::KIND),
        matrix: unit(level.storage()),
    };
    LevelFacts {
        rows: level.grid().cells() * level.unknowns(),
        nonzeros: level.entries(),
        transfer_nonzeros: other / level.storage().bytes(),
        precision,
        smoother: format!(
            "{} {}+{} {}",
            parameters.smoother,
            parameters.pre_sweeps,
            parameters.post_sweeps,
            level.grid()
        ),
        scaled: level.scales().is_some(),
        bytes: matrix + other,
        setup: vec![
            StageTime {
                name: "galerkin products",
                seconds: products,
            },
            StageTime {
                name: "storing",
                seconds: storing,
            },
        ],
    }
}

fn coarsest_facts<V: Vectors>(level: &Made<'_>) -> LevelFacts {
    let rows = level.a.size().rows;
    let precision = Precision {
        working: unit(V::KIND),
        matrix: Unit::Double,
    };
    LevelFacts {
        rows,
        nonzeros: level.a.entries(),
        transfer_nonzeros: 0,
        precision,
        smoother: format!("dense {}", level.a.grid()),
        scaled: false,
        bytes: rows * rows * size_of::<f64>(),
        setup: vec![StageTime {
            name: "galerkin products",
            seconds: level.seconds,
        }],
    }
}

/// [`set_up`] in double precision. Being no generic function it is compiled here once, with all kernels,
/// and not again by every crate that asks for structured multigrid.
pub(super) fn set_up_double(
    parameters: &StructMg,
    precisions: &LevelPrecisions,
    a: (Cow<'_, StencilMatrix<f64>>, Survey),
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<f64>> {
    set_up(parameters, precisions, a, executor, ws)
}

/// The same in single precision.
pub(super) fn set_up_single(
    parameters: &StructMg,
    precisions: &LevelPrecisions,
    a: (Cow<'_, StencilMatrix<f64>>, Survey),
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<f32>> {
    set_up(parameters, precisions, a, executor, ws)
}
