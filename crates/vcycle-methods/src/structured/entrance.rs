//! The entry into the cycle: vectors of a solver are ordered cell by cell and not scaled.

use std::sync::Arc;

use super::columns::by_column;
use super::fields::as_fields;
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::reference::stencil::Start;
use crate::scalar::Mixes;
use crate::vector::Vector;

/// A cycle in the unknowns of the finest level, for vectors as solvers have them.
#[derive(Debug)]
pub(super) struct Entrance<V: Vectors> {
    pub(super) cycle: Arc<dyn LinOp<V>>,
    pub(super) unknowns: usize,
    /// Scales of the finest level: vectors are multiplied by them on entry and on return.
    pub(super) scales: Option<Arc<Vector<V>>>,
}

impl<V: Vectors + Mixes<V, V>> Entrance<V> {
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
}

impl<V: Vectors + Mixes<V, V>> LinOp<V> for Entrance<V> {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", self.size(), self.executor(), b, x)?;
        by_column(b, x, ws, |b, x| {
            as_fields(self.unknowns, b, (x, Start::Zero), ws, |b, x| {
                self.of_fields(b, x, ws)
            })
        })
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        self.cycle.footprint()
    }
}
