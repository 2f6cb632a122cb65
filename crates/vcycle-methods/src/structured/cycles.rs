//! Levels in double and single precision, and the cycle through all of them.

use std::any::Any;
use std::sync::Arc;

use super::entrance::Entrance;
use super::level::GridLevel;
use super::moved_operator::MovedOperator;
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::Executor;
use crate::linop::LinOp;
use crate::matrix::{CellOrder, Distributed, GridPart};
use crate::multigrid::{Cycle, Cycles, Operations, seen_as};
use crate::precision::Unit;
use crate::scalar::{Kind, Mixes, Scalar};
use crate::vector::Vector;

/// A matrix whose rows ranks share, and how they share its grid.
pub(super) type Ranks<'r> = (&'r Distributed<f64>, &'r GridPart);

/// A level, by the precision of its vectors.
pub(super) enum AnyLevel {
    Double(Box<dyn GridLevel<f64>>),
    Single(Box<dyn GridLevel<f32>>),
}

impl AnyLevel {
    /// The matrix and what it is stored in, if it is not scaled.
    pub(super) fn unscaled(&self) -> Option<(Kind, Arc<dyn LinOp<f64>>)> {
        match self {
            Self::Double(level) => unscaled(level.as_ref()),
            Self::Single(level) => unscaled(level.as_ref()),
        }
    }
}

fn unscaled<V: Vectors>(level: &dyn GridLevel<V>) -> Option<(Kind, Arc<dyn LinOp<f64>>)> {
    match level.scales() {
        None => Some((level.storage(), level.stored_matrix())),
        Some(_) => None,
    }
}

/// The cycles from a level down, by the precision of its vectors.
pub(super) enum AnyDown {
    Double(Down<f64>),
    Single(Down<f32>),
}

/// The cycles from a level down.
pub(super) struct Down<V: Scalar> {
    cycles: Cycles<V>,
    /// Scales between vectors and the level's own unknowns.
    scales: Option<Arc<Vector<V>>>,
}

impl<V: Scalar> Down<V> {
    /// A solver is all there is.
    pub(super) fn coarsest(solver: Arc<dyn LinOp<V>>) -> Self {
        Self {
            cycles: Cycles::coarsest(solver),
            scales: None,
        }
    }

    /// The same for vectors of another precision; shared where it is the same one.
    fn seen_as<W: Scalar>(&self) -> Result<Down<W>> {
        Ok(Down {
            cycles: self.cycles.seen_as()?,
            scales: self.scales.as_ref().map(converted).transpose()?,
        })
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

impl AnyDown {
    fn seen_as<V: Scalar>(&self) -> Result<Down<V>> {
        match self {
            Self::Double(down) => down.seen_as(),
            Self::Single(down) => down.seen_as(),
        }
    }

    /// The cycles of rank 0, which are none on the others, from a level down that it has gathered.
    pub(super) fn gathered(
        inner: Option<Self>,
        (part, unknowns): (&Arc<GridPart>, usize),
        (cycle, working): (Cycle, Unit),
        executor: &Executor,
    ) -> Result<Self> {
        let (shape, place) = ((part, unknowns), (cycle, executor));
        Ok(match working {
            Unit::Double => Self::Double(gathered(inner, shape, place)?),
            _ => Self::Single(gathered(inner, shape, place)?),
        })
    }

    /// The same with one more level on top; `rank` is the executor of a rank that shares it.
    pub(super) fn below(
        &self,
        level: AnyLevel,
        (cycle, rank): (Cycle, Option<&Executor>),
        number: usize,
    ) -> Result<Self> {
        let shape = (cycle, rank);
        Ok(match level {
            AnyLevel::Double(level) => Self::Double(over(level, self.seen_as()?, shape, number)?),
            AnyLevel::Single(level) => Self::Single(over(level, self.seen_as()?, shape, number)?),
        })
    }

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

fn gathered<V: Vectors + Mixes<V, V>>(
    inner: Option<AnyDown>,
    (part, unknowns): (&Arc<GridPart>, usize),
    (cycle, executor): (Cycle, &Executor),
) -> Result<Down<V>> {
    let inner: Option<Down<V>> = inner.map(|inner| inner.seen_as()).transpose()?;
    let wrapped = |operator: Option<Arc<dyn LinOp<V>>>| -> Arc<dyn LinOp<V>> {
        let unscaled = operator.map(|cycle| -> Arc<dyn LinOp<V>> {
            let scales = inner.as_ref().and_then(|inner| inner.scales.clone());
            Arc::new(Entrance::<V, V>::new(cycle, 1, scales))
        });
        Arc::new(MovedOperator::gathered(executor, part, unknowns, unscaled))
    };
    let cycles = inner.as_ref().map(|inner| &inner.cycles);
    let shaped = cycles.map(|cycles| cycles.visited(cycle)).transpose()?;
    Ok(Down {
        cycles: Cycles::ending(
            wrapped(shaped),
            wrapped(cycles.map(|cycles| Arc::clone(&cycles.v))),
            wrapped(cycles.map(|cycles| Arc::clone(&cycles.full))),
        ),
        scales: None,
    })
}

fn over<V: Vectors>(
    mut level: Box<dyn GridLevel<V>>,
    below: Down<V>,
    (cycle, rank): (Cycle, Option<&Executor>),
    number: usize,
) -> Result<Down<V>> {
    level.set_next_scales(below.scales);
    let (scales, shared) = (level.scales().cloned(), level.shared());
    let operations: Box<dyn Operations<V>> = level;
    let mut cycles = Cycles::over(&below.cycles, Arc::from(operations), cycle, number)?;
    if let (Cycle::K, Some(rank), Some((exchange, product))) = (cycle, rank, shared) {
        let (part, unknowns) = (&exchange.part, exchange.unknowns);
        let shaped = Arc::clone(&cycles.shaped);
        let krylov = MovedOperator::krylov(rank, part, unknowns, product, shaped)?;
        cycles.krylov = Some(krylov);
    }
    Ok(Down { cycles, scales })
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
