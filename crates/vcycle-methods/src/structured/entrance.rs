//! The entry into the cycle: vectors of a solver are ordered cell by cell and not scaled.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use super::columns::by_column;
use super::fields::as_fields;
use super::orders::Orders;
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::reference::stencil::Start;
use crate::scalar::{Mixes, Scalar};
use crate::vector::Vector;

/// A cycle in the unknowns of a level, for vectors of `T` as solvers have them; on a device these are of `V`.
#[derive(Debug)]
pub(super) struct Entrance<V: Vectors, T> {
    cycle: Arc<dyn LinOp<V>>,
    unknowns: usize,
    /// Scales of the level: vectors are multiplied by them on entry and on return.
    scales: Option<Arc<Vector<V>>>,
    outside: PhantomData<fn(T) -> T>,
}

impl<V: Vectors + Mixes<V, V>, T: Scalar> Entrance<V, T> {
    pub(super) fn new(
        cycle: Arc<dyn LinOp<V>>,
        unknowns: usize,
        scales: Option<Arc<Vector<V>>>,
    ) -> Self {
        Self {
            cycle,
            unknowns,
            scales,
            outside: PhantomData,
        }
    }

    /// The cycle for vectors that are unknown by unknown, but not scaled.
    fn of_fields(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let Some(scales) = &self.scales else {
            return self.cycle.apply(b, x, ws);
        };
        let mut right = ws.vector_like::<V, V>(b)?;
        let mut solution = ws.vector_like::<V, V>(x)?;
        right.scale_rows(scales, false, b)?;
        self.cycle.apply(&right, &mut solution, ws)?;
        x.scale_rows(scales, false, &solution)
    }

    /// The cycle for vectors of the host.
    fn on_host(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let executor = self.cycle.executor();
        let mut right = ws.vector::<V>(executor, b.rows(), 1)?;
        let mut solution = ws.vector::<V>(executor, b.rows(), 1)?;
        let order = Orders {
            executor,
            unknowns: self.unknowns,
            scales: self.scales.as_deref().map(Vector::host).transpose()?,
        };
        order.enter(b.host()?, right.host_mut()?);
        self.cycle.apply(&right, &mut solution, ws)?;
        order.leave(solution.host()?, x.host_mut()?);
        Ok(())
    }
}

impl<V: Vectors + Mixes<V, V>, T: Scalar> LinOp<T> for Entrance<V, T> {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let executor = self.cycle.executor();
        check_apply("struct-mg", self.cycle.size(), executor, b, x)?;
        let as_is = self.unknowns == 1 && self.scales.is_none();
        by_column(b, x, ws, |b, x| {
            if (as_is || executor.is_device())
                && let Some((b, x)) = same::<V, T>(b, x)
            {
                return as_fields(self.unknowns, b, (x, Start::Zero), ws, |b, x| {
                    self.of_fields(b, x, ws)
                });
            }
            self.on_host(b, x, ws)
        })
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        self.cycle.footprint()
    }
}

/// Vectors of `T` as those of `V`, if that is what they are.
fn same<'a, V: Scalar, T: Scalar>(
    b: &'a Vector<T>,
    x: &'a mut Vector<T>,
) -> Option<(&'a Vector<V>, &'a mut Vector<V>)> {
    let (b, x): (&dyn Any, &mut dyn Any) = (b, x);
    Some((b.downcast_ref()?, x.downcast_mut()?))
}
