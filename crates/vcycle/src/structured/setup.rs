//! From a matrix to the levels of structured multigrid.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::coarsen::coarsened;
use super::cycle::VCycle;
use super::level::{Level, Scales, Stored};
use super::scaling::{Strategy, Survey, round, scale, stored};
use super::smoothing::Smoothing;
use super::{StencilMatrix, Storage, StructMg, Transfer};
use crate::backend::cpu::stencil::Vectors;
use crate::backend::gpu::setup::Queue;
use crate::config::{Precision, Unit};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::LinOp;
use crate::multigrid::{DenseLu, LevelFacts, Report, StageTime};
use crate::scalar::{Kind, Mixes, bf16, f16};

/// From this part of entries that lose digits on, a level is kept in the precision of vectors.
const UNDERFLOW: f64 = 0.05;
/// How far below the range a matrix is scaled whose coarse levels are made of the scaled one: their
/// entries are larger.
const ROOM_FOR_SUMS: f64 = 1024.0;
/// Lines that tell how strongly the cells of a grid are coupled along each axis, at most.
const SAMPLE: usize = 4096;

/// A level before it is stored.
struct Made<'a> {
    a: Cow<'a, StencilMatrix<f64>>,
    transfers: Vec<Transfer<f64>>,
    seconds: f64,
}

/// The levels of a matrix, all in double precision, the last one without transfers; `rounded` changes a
/// matrix before the next one is made of it.
fn made_levels<'a>(
    parameters: &StructMg,
    mut a: Cow<'a, StencilMatrix<f64>>,
    rounded: Option<fn(&mut StencilMatrix<f64>)>,
    ws: &Workspace,
) -> Result<Vec<Made<'a>>> {
    let mut levels = Vec::new();
    loop {
        let begin = Instant::now();
        let _stage = ws.stage("galerkin products", 0);
        if let Some(rounded) = rounded {
            rounded(a.to_mut());
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
    let mut strengths = [0.0; 3];
    let sample = (0..grid.lines()).step_by(grid.lines().div_ceil(SAMPLE));
    let unknowns = |line| (0..a.unknowns()).map(move |unknown| (line, unknown));
    for (line, unknown) in sample.flat_map(unknowns) {
        let diagonal = a.line_of([unknown; 2], line, stencil.centre());
        for (axis, strength) in strengths.iter_mut().enumerate() {
            let mut sides = [-1, 1].map(|_| vec![0.0; grid.length()]);
            for (point, offset) in stencil.offsets().iter().enumerate() {
                let Some(side) = [-1, 1].iter().position(|&step| offset[axis] == step) else {
                    continue;
                };
                let entries = a.line_of([unknown; 2], line, point);
                let sums = sides[side].iter_mut().zip(entries);
                sums.for_each(|(sum, entry)| *sum += entry);
            }
            let [before, after] = sides;
            let both = before.into_iter().zip(after).zip(diagonal);
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

/// Makes all levels and stores them on an executor: arithmetic in `V`, matrices in `M` up to the level
/// from which on they are in `V`, too.
pub(super) fn set_up<M: Storage, V: Vectors + Storage + Mixes<V, V>>(
    parameters: &StructMg,
    mut a: Cow<'_, StencilMatrix<f64>>,
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<V>>
where
    StencilMatrix<M>: LinOp<V>,
    StencilMatrix<V>: LinOp<V>,
{
    let (unknowns, cells) = (a.unknowns(), a.grid().cells());
    a.check_diagonal("struct-mg")?;
    let first = parameters.scaling == Strategy::ScaleThenSetup && cells > parameters.coarsest_cells;
    let mut outer = match first && Survey::new(&a, M::KIND).leaves_range {
        true => Some(scale(a.to_mut(), M::KIND, ROOM_FOR_SUMS)?),
        false => None,
    };
    let rounded = first.then_some(round::<M> as fn(&mut StencilMatrix<f64>));
    let mut made = made_levels(parameters, a, rounded, ws)?;
    let _stage = ws.stage("storing levels", 0);
    let coarsest = made.pop().expect("there is one level at least");
    let mut report = Report::default();
    let mut levels: Vec<Box<dyn Level<V>>> = Vec::new();
    let mut narrow = true;
    for (number, made) in made.into_iter().enumerate() {
        let (products, begin) = (made.seconds, Instant::now());
        let mut a = made.a;
        let (made_so, survey) = in_range::<M>(parameters, &mut a)?;
        let scales = outer.take().or(made_so);
        narrow = narrow && !is_shifted(parameters, number, &survey);
        let scales = scales.map(|scales| Scales::new(executor, &scales, !first));
        let stored = match narrow {
            true => Some(stored::<M>(&a, number)?),
            false => None,
        };
        let stored = stored.filter(|stored| stored.check_diagonal("struct-mg").is_ok());
        narrow = stored.is_some();
        let parts = Parts {
            parameters,
            number,
            a: &a,
            transfers: &made.transfers,
            executor,
            ws,
        };
        let level: Box<dyn Level<V>> = match stored {
            Some(stored) => Box::new(parts.level::<M, V>(stored, scales)?),
            None => Box::new(parts.level::<V, V>(stored_safely(&a, number)?, scales)?),
        };
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
    fn level<M: Storage, V: Vectors + Mixes<V, V>>(
        &self,
        stored: StencilMatrix<M>,
        scales: Option<Scales<V>>,
    ) -> Result<Stored<M, V>> {
        let transfers = self.transfers.iter().map(|transfer| {
            let narrow = transfer.convert()?;
            narrow.into_executor(self.executor)
        });
        Ok(Stored {
            a: Arc::new(stored.into_executor(self.executor)?),
            transfers: transfers.collect::<Result<_>>()?,
            scales,
            smoothing: Smoothing::new(
                self.parameters.smoother,
                self.a,
                self.number,
                self.executor,
                self.ws,
            )?,
        })
    }
}

/// The coarsest matrix, solved with; on a device its inverse: a product has no order to keep.
fn factorised_densely<V: Mixes<V, V>>(
    a: &StencilMatrix<f64>,
    executor: &Executor,
) -> Result<Arc<dyn LinOp<V>>> {
    let a = a.to_csr();
    match Queue::of(executor) {
        Some(queue) => Ok(Arc::new(DenseLu::inverse::<V>(queue, &a)?)),
        None => Ok(Arc::new(DenseLu::new(&a))),
    }
}

/// Whether a level is to be stored in the precision of vectors.
fn is_shifted(parameters: &StructMg, number: usize, survey: &Survey) -> bool {
    match parameters.shift_level {
        Some(shift) => number >= shift,
        None => survey.underflow > UNDERFLOW,
    }
}

/// Brings a matrix into the range of `M` where it is not and may be; the numbers that did it, and what its
/// values are like then.
fn in_range<M: Storage>(
    parameters: &StructMg,
    a: &mut Cow<'_, StencilMatrix<f64>>,
) -> Result<(Option<Vec<f64>>, Survey)> {
    let survey = Survey::new(a, M::KIND);
    if parameters.scaling != Strategy::SetupThenScale || !survey.leaves_range {
        return Ok((None, survey));
    }
    let scales = scale(a.to_mut(), M::KIND, 2.0)?;
    Ok((Some(scales), Survey::new(a, M::KIND)))
}

/// The matrix in the precision of vectors; there is no wider one if it cannot be smoothed with.
fn stored_safely<V: Storage>(a: &StencilMatrix<f64>, number: usize) -> Result<StencilMatrix<V>> {
    let stored = stored::<V>(a, number)?;
    stored.check_diagonal("struct-mg")?;
    Ok(stored)
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

/// [`set_up_as`] in double precision. Being no generic function it is compiled here once, with all kernels,
/// and not again by every crate that asks for structured multigrid.
pub(super) fn set_up_double(
    storage: Unit,
    parameters: &StructMg,
    a: Cow<'_, StencilMatrix<f64>>,
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<f64>> {
    set_up_as(storage, parameters, a, executor, ws)
}

/// The same in single precision.
pub(super) fn set_up_single(
    storage: Unit,
    parameters: &StructMg,
    a: Cow<'_, StencilMatrix<f64>>,
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<f32>> {
    set_up_as(storage, parameters, a, executor, ws)
}

/// The precisions that structured multigrid can be stored in, with arithmetic in `V`.
fn set_up_as<V: Vectors + Storage + Mixes<V, V>>(
    storage: Unit,
    parameters: &StructMg,
    a: Cow<'_, StencilMatrix<f64>>,
    executor: &Executor,
    ws: &Workspace,
) -> Result<Ready<V>>
where
    StencilMatrix<f16>: LinOp<V>,
    StencilMatrix<bf16>: LinOp<V>,
    StencilMatrix<f32>: LinOp<V>,
    StencilMatrix<V>: LinOp<V>,
{
    match storage {
        Unit::Half => set_up::<f16, V>(parameters, a, executor, ws),
        Unit::Bfloat => set_up::<bf16, V>(parameters, a, executor, ws),
        Unit::Single => set_up::<f32, V>(parameters, a, executor, ws),
        Unit::Double => set_up::<V, V>(parameters, a, executor, ws),
    }
}
