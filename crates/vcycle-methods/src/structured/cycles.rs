//! Stores levels in double and single precision, and makes the cycle through all of them.

use std::any::Any;

use super::entrance::Entrance;
use super::exchange::MovedOperator;
use super::fields::InRows;
use super::island_ranks::Ranks;
use super::level::GridLevel;
use super::level_parts::{LevelParts, Made};
use super::parameters::OnLevel;
use super::survey::Survey;
use super::{StencilMatrix, Storage, StructMg};
use crate::cpu::stencil::Vectors;
use crate::matrix::{CellOrder, GridPart};
use crate::multigrid::{Cycle, Cycles, DenseLu, Report, seen_as};
use crate::precision::Unit;
use crate::prelude::*;

/// The cycles from a level down.
pub(super) struct Down<V: Scalar> {
    cycles: Cycles<V>,
    /// Scales between vectors and the level's own unknowns.
    scales: Option<Arc<Vector<V>>>,
}

impl<V: Scalar> Down<V> {
    /// The same for vectors of another precision; shared where it is the same one.
    fn seen_as<W: Scalar>(&self) -> Result<Down<W>> {
        Ok(Down {
            cycles: self.cycles.seen_as()?,
            scales: self.scales.as_ref().map(converted).transpose()?,
        })
    }
}

impl<V: Vectors + Mixes<V, V>> Down<V> {
    /// The cycles for vectors that are not scaled: what the level above visits, a V-cycle, and full multigrid.
    fn unscaled(self, cycle: Cycle) -> Result<Cycles<V>> {
        let Self { cycles, scales } = self;
        let Some(scales) = scales else {
            return Ok(cycles);
        };
        let unscaled = |inner| -> Arc<dyn LinOp<V>> {
            let scales = Some(Arc::clone(&scales));
            Arc::new(Entrance::<V, V>::new(inner, 1, scales))
        };
        let visited = cycles.visited(cycle)?;
        Ok(Cycles::ending(
            unscaled(visited),
            unscaled(cycles.v),
            unscaled(cycles.full),
        ))
    }
}

fn converted<S: Scalar, V: Scalar>(scales: &Arc<Vector<S>>) -> Result<Arc<Vector<V>>> {
    let any: &dyn Any = scales;
    if let Some(same) = any.downcast_ref::<Arc<Vector<V>>>() {
        return Ok(Arc::clone(same));
    }
    let mut converted = Vector::<V>::zeros(scales.executor(), scales.rows(), 1)?;
    converted.copy_from(scales)?;
    Ok(Arc::new(converted))
}

/// All cycles, by the precision of the vectors of the finest level.
pub(super) enum AnyDown {
    Double(Down<f64>),
    Single(Down<f32>),
}

impl AnyDown {
    /// The cycle for vectors of `T` as solvers have them, with so many unknowns a cell: those of own rows where ranks share
    /// the grid.
    pub(super) fn outside<T: Scalar>(
        self,
        ranks: Option<Ranks<'_>>,
        unknowns: usize,
    ) -> Result<Arc<dyn LinOp<T>>> {
        match self {
            Self::Double(down) => outside(down, ranks, unknowns),
            Self::Single(down) => outside(down, ranks, unknowns),
        }
    }
}

/// Levels that are stored from the finest one down; cycles are made of them from the coarsest one up.
pub(super) struct Levels<'a> {
    pub(super) parameters: &'a StructMg,
    /// Those that are not stored yet, the last one without transfers.
    pub(super) made: std::vec::IntoIter<Made<'a>>,
    /// Where ranks share levels: how they share that behind them, which rank 0 has, with all below.
    pub(super) gathered: Option<(usize, Arc<GridPart>)>,
    pub(super) unknowns: usize,
    pub(super) executor: &'a Executor,
    /// The executor of a rank that shares levels.
    pub(super) rank: Option<&'a Executor>,
    pub(super) ws: &'a Workspace,
    /// Of the finest level, and by what that is scaled already.
    pub(super) known: (Option<Survey>, Option<Buffer<f64>>),
    /// Whether all levels up to now are stored as narrow as they are to be.
    pub(super) narrow: bool,
    pub(super) report: Report,
    /// The matrix of the finest level and what it is stored in, if it is not scaled.
    pub(super) finest: Option<(Kind, Arc<dyn LinOp<f64>>)>,
}

impl Levels<'_> {
    /// The cycles of all levels.
    pub(super) fn cycles(&mut self) -> Result<AnyDown> {
        Ok(match self.on(0)?.precision.working {
            Unit::Double => AnyDown::Double(self.down(0)?),
            _ => AnyDown::Single(self.down(0)?),
        })
    }

    /// What holds for the next level that is stored.
    fn on(&self, number: usize) -> Result<OnLevel> {
        let cells = match (self.made.as_slice().first(), &self.gathered) {
            (Some(made), _) => made.a.grid_of_all().cells(),
            (None, Some((_, part))) => part.grid().cells(),
            (None, None) => {
                unreachable!("every rank has the coarsest level, or sends its part of it")
            }
        };
        self.parameters.on_level(number, cells * self.unknowns)
    }

    /// The cycles from a level down.
    fn down<V: Vectors + Storage + Mixes<V, V>>(&mut self, number: usize) -> Result<Down<V>> {
        match self.gathered.clone() {
            Some((above, part)) if above == number => {
                let leads = !self.made.as_slice().is_empty();
                let inner = leads.then(|| self.down_here(number)).transpose()?;
                self.wrapped(inner, &part)
            }
            _ => self.down_here(number),
        }
    }

    /// The same of a level that is here.
    fn down_here<V: Vectors + Storage + Mixes<V, V>>(&mut self, number: usize) -> Result<Down<V>> {
        let on = self.on(number)?;
        let made = self.made.next().expect("a level that is here");
        if made.transfers.is_empty() {
            self.report.coarsest = "dense";
            self.report
                .levels
                .push(made.coarsest_facts(on.precision.working));
            return Ok(Down {
                cycles: Cycles::coarsest(factorised_densely(&made.a, self.executor)?),
                scales: None,
            });
        }
        let (survey, outer) = std::mem::take(&mut self.known);
        let parts = LevelParts {
            parameters: self.parameters,
            on,
            number,
            made: &made,
            executor: self.executor,
            ws: self.ws,
        };
        let (level, facts) = parts.level::<V>(survey, outer, &mut self.narrow)?;
        // Only what is stored is needed from here on.
        drop(made);
        self.report.levels.push(facts);
        if number == 0 && level.scales.is_none() {
            self.finest = Some((level.storage, Arc::clone(&level.matrix)));
        }
        let below = match self.on(number + 1)?.precision.working {
            Unit::Double => self.down::<f64>(number + 1)?.seen_as()?,
            _ => self.down::<f32>(number + 1)?.seen_as()?,
        };
        self.over(level, below, number)
    }

    /// The cycles with one more level on top.
    fn over<V: Vectors + Mixes<V, V>>(
        &self,
        level: GridLevel<V>,
        below: Down<V>,
        number: usize,
    ) -> Result<Down<V>> {
        let cycle = self.parameters.cycle;
        let below = below.unscaled(cycle)?;
        let mut cycles = Cycles::over(&below, level.operations, cycle, number)?;
        if let (Cycle::K, Some(rank), Some((exchange, product))) = (cycle, self.rank, level.shared)
        {
            let (part, unknowns) = (&exchange.part, exchange.unknowns);
            let shaped = Arc::clone(&cycles.shaped);
            let krylov = MovedOperator::krylov(rank, part, unknowns, product, shaped)?;
            cycles.krylov = Some(krylov);
        }
        let scales = level.scales;
        Ok(Down { cycles, scales })
    }

    /// The cycles of rank 0, which are none on the others, from a level down that it has gathered.
    fn wrapped<V: Vectors + Mixes<V, V>>(
        &self,
        inner: Option<Down<V>>,
        part: &GridPart,
    ) -> Result<Down<V>> {
        let cycle = self.parameters.cycle;
        let inner = inner.map(|inner| inner.unscaled(cycle)).transpose()?;
        let inner = inner.as_ref();
        let wrapped = |operator| -> Arc<dyn LinOp<V>> {
            let (executor, unknowns) = (self.executor, self.unknowns);
            Arc::new(MovedOperator::gathered(executor, part, unknowns, operator))
        };
        let shaped = inner.map(|inner| inner.visited(cycle)).transpose()?;
        Ok(Down {
            cycles: Cycles::ending(
                wrapped(shaped),
                wrapped(inner.map(|inner| Arc::clone(&inner.v))),
                wrapped(inner.map(|inner| Arc::clone(&inner.full))),
            ),
            scales: None,
        })
    }
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

fn outside<V: Vectors + Mixes<V, V>, T: Scalar>(
    down: Down<V>,
    ranks: Option<Ranks<'_>>,
    unknowns: usize,
) -> Result<Arc<dyn LinOp<T>>> {
    let (cycle, scales) = (down.cycles.shaped, down.scales);
    if let Some((rows, part)) = ranks {
        let near: Arc<dyn LinOp<V>> = Arc::new(Entrance::<V, V>::new(cycle, 1, scales));
        let near = (near, CellOrder::Fields);
        let cycle = MovedOperator::for_rows(rows, part, unknowns, near, "struct-mg");
        return Ok(Arc::new(cycle));
    }
    match cycle.executor().is_device() {
        true => seen_as::<V, T>(Arc::new(Entrance::<V, V>::new(cycle, unknowns, scales))),
        false => Ok(Arc::new(Entrance::<V, T>::new(cycle, unknowns, scales))),
    }
}
