//! Stores one level of structured multigrid in its precision.

use std::borrow::Cow;
use std::time::Instant;

use super::exchange::LevelExchange;
use super::fields::InFields;
use super::level::{GridLevel, Scales, Stored};
use super::parameters::OnLevel;
use super::scaling::{InRange, in_range, scaled, stored};
use super::smoothing::StencilSmoothing;
use super::survey::Survey;
use super::{StencilMatrix, StencilSmoother, Storage, StructMg, Transfer};
use crate::cpu::stencil::Vectors;
use crate::multigrid::{LevelFacts, LevelPart, LevelScaling, StageTime};
use crate::precision::{Precision, Unit};
use crate::prelude::*;

/// From this part of entries that lose digits on, a level is kept in the precision of vectors.
const UNDERFLOW: f64 = 0.05;

/// A level before it is stored.
pub(super) struct Made<'a> {
    pub(super) a: Cow<'a, StencilMatrix<f64>>,
    /// Along which the next grid is coarser.
    pub(super) axes: Vec<usize>,
    pub(super) transfers: Vec<Transfer<f64>>,
    /// What ranks exchange, where they share it and the next one.
    pub(super) exchange: Option<Arc<LevelExchange>>,
    pub(super) seconds: f64,
}

impl Made<'_> {
    /// Of the coarsest level.
    pub(super) fn coarsest_facts(&self, working: Unit) -> LevelFacts {
        let rows = self.a.size().rows;
        LevelFacts {
            rows,
            nonzeros: self.a.entries(),
            transfer_nonzeros: 0,
            precision: Precision {
                working,
                matrix: Unit::Double,
            },
            format: "dense".to_owned(),
            smoother: format!("dense {}", self.a.grid()),
            scaled: false,
            bytes: rows * rows * size_of::<f64>(),
            part: None,
            setup: vec![self.products_time()],
        }
    }

    fn products_time(&self) -> StageTime {
        StageTime {
            name: "galerkin products",
            seconds: self.seconds,
        }
    }
}

/// What a level is made of besides its matrix as it is stored.
pub(super) struct LevelParts<'p> {
    pub(super) parameters: &'p StructMg,
    pub(super) on: OnLevel,
    pub(super) number: usize,
    pub(super) made: &'p Made<'p>,
    pub(super) executor: &'p Executor,
    pub(super) ws: &'p Workspace,
}

impl LevelParts<'_> {
    /// The level and its facts.
    pub(super) fn level<V: Vectors + Storage + Mixes<V, V>>(
        &self,
        survey: Option<Survey>,
        outer: Option<Buffer<f64>>,
        narrow: &mut bool,
    ) -> Result<(GridLevel<V>, LevelFacts)> {
        let begin = Instant::now();
        let matrix = self.on.precision.matrix;
        let survey = match survey {
            Some(survey) => survey,
            None => Survey::new(&self.made.a, kind(matrix))?,
        };
        let level = match matrix {
            Unit::Half => self.stored::<f16, V>(survey, outer, narrow),
            Unit::Bfloat => self.stored::<bf16, V>(survey, outer, narrow),
            Unit::Single => self.stored::<f32, V>(survey, outer, narrow),
            Unit::Double => self.stored::<V, V>(survey, outer, narrow),
        }?;
        let facts = self.facts(&level, begin.elapsed().as_secs_f64());
        Ok((level, facts))
    }

    /// The level, in `M` if it is to be and can be so, and all before it were; `outer` are numbers that its matrix
    /// is scaled by already.
    fn stored<M: Storage, V: Vectors + Storage + Mixes<V, V>>(
        &self,
        survey: Survey,
        outer: Option<Buffer<f64>>,
        narrow: &mut bool,
    ) -> Result<GridLevel<V>> {
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
        match made {
            Some(made) => self.of_stored::<M, V>(made, kept, given),
            None => {
                let made = match given {
                    Some(by) => scaled::<V>(a, by, self.number)?,
                    None => stored::<V>(a, self.number, &survey)?,
                };
                // There is no wider type if it cannot be smoothed with.
                made.agree(made.check_diagonal("struct-mg"))?;
                self.of_stored::<V, V>(made, kept, given)
            }
        }
    }

    fn of_stored<M: Storage, V: Vectors + Mixes<V, V>>(
        &self,
        stored: StencilMatrix<M>,
        scales: Option<Scales<V>>,
        by: Option<&Buffer<f64>>,
    ) -> Result<GridLevel<V>> {
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
        let exchange = self.made.exchange.clone();
        let product = |exchange: Option<&Arc<LevelExchange>>| -> Arc<dyn LinOp<V>> {
            let (a, exchange) = (Arc::clone(&stored), exchange.cloned());
            Arc::new(InFields { a, exchange })
        };
        let (near, place) = (product(None), (self.executor, self.ws));
        let level = Stored {
            smoothing: StencilSmoothing::new(smoother, &a, self.number, &near, place)?,
            product: product(exchange.as_ref()),
            exchange,
            a: stored,
            transfers: transfers.collect::<Result<_>>()?,
            scales,
            sweeps: self.on.sweeps,
        };
        Ok(level.erased(near))
    }

    fn facts<V: Vectors>(&self, level: &GridLevel<V>, storing: f64) -> LevelFacts {
        let (matrix, other) = level.bytes;
        let OnLevel {
            smoother,
            sweeps: [before, after],
            ..
        } = self.on;
        LevelFacts {
            rows: self.made.a.rows_of_all(),
            nonzeros: self.made.a.grid_of_all().cells() * self.made.a.numbers_of_a_cell(),
            transfer_nonzeros: other / level.storage.bytes(),
            precision: Precision {
                working: Unit::of(V::KIND),
                matrix: Unit::of(level.storage),
            },
            format: "stencil".to_owned(),
            smoother: format!("{smoother} {before}+{after} {}", self.made.a.grid_of_all()),
            scaled: level.scales.is_some(),
            bytes: matrix + other,
            part: self.made.exchange.as_ref().map(|it| self.part(it)),
            setup: vec![
                self.made.products_time(),
                StageTime {
                    name: "storing",
                    seconds: storing,
                },
            ],
        }
    }

    /// What this rank has of the level.
    fn part(&self, exchange: &LevelExchange) -> LevelPart {
        let (a, (neighbours, sent)) = (&self.made.a, exchange.part.traffic());
        let cells = exchange.part.own().cells();
        LevelPart {
            rows: cells * a.unknowns(),
            nonzeros: cells * a.numbers_of_a_cell(),
            neighbours,
            sent: sent * a.unknowns(),
        }
    }
}

/// Whether a level is to be stored in the precision of vectors.
fn is_shifted(parameters: &StructMg, number: usize, survey: &Survey) -> bool {
    match parameters.shift_level {
        Some(shift) => number >= shift,
        None => survey.underflow() > UNDERFLOW,
    }
}

pub(super) fn kind(unit: Unit) -> Kind {
    unit.kind(false).expect("real numbers of any unit")
}
