//! Levels that one rank has.

use std::sync::Arc;

use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Buffer, Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::matrix::{CellMoves, GridPart};
use crate::structured::StencilMatrix;
use crate::vector::Vector;

/// The matrix of the whole grid, on rank 0; none on the others.
pub(in crate::structured) fn gathered(
    a: &StencilMatrix<f64>,
    part: &GridPart,
) -> Result<Option<StencilMatrix<f64>>> {
    let (leads, per_cell) = (part.team().rank() == 0, a.numbers_of_a_cell());
    let cells = if leads { part.grid().cells() } else { 0 };
    let room = Buffer::filled(a.executor(), cells * per_cell, 0.0);
    let mut values = part.team().agree(room)?;
    let moves = part.to_first();
    moves.move_values([1, per_cell], a.buffer(), &mut values)?;
    let (stencil, unknowns) = (a.stencil().clone(), a.unknowns());
    Ok(leads.then(|| StencilMatrix::of_buffer(part.grid(), stencil, unknowns, values)))
}

/// An operator of rank 0 on vectors of a whole grid, for vectors of the near cells of all ranks.
#[derive(Debug)]
pub(in crate::structured) struct GatheredGrid<V: Vectors> {
    executor: Executor,
    part: Arc<GridPart>,
    unknowns: usize,
    there: CellMoves,
    back: CellMoves,
    inner: Option<Arc<dyn LinOp<V>>>,
}

impl<V: Vectors> GatheredGrid<V> {
    pub(in crate::structured) fn new(
        executor: &Executor,
        part: &Arc<GridPart>,
        unknowns: usize,
        inner: Option<Arc<dyn LinOp<V>>>,
    ) -> Self {
        Self {
            executor: executor.clone(),
            part: Arc::clone(part),
            unknowns,
            there: part.to_first(),
            back: part.from_first(),
            inner,
        }
    }
}

impl<V: Vectors> LinOp<V> for GatheredGrid<V> {
    fn size(&self) -> Size {
        Size::square(self.unknowns * self.part.near().cells())
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        check_apply("gathered grid", self.size(), &self.executor, b, x)?;
        let rows = self.inner.as_ref().map_or(0, |inner| inner.size().rows);
        let mut all = ws.vector::<V>(&self.executor, rows, 1)?;
        let mut solved = ws.vector::<V>(&self.executor, rows, 1)?;
        self.there.move_vector(self.unknowns, b, &mut all, ws)?;
        if let Some(inner) = &self.inner {
            inner.apply(&all, &mut solved, ws)?;
        }
        self.back.move_vector(self.unknowns, &solved, x, ws)
    }

    fn label(&self) -> &'static str {
        "gathered"
    }

    fn footprint(&self) -> Footprint {
        let inner = self.inner.as_ref();
        inner.map_or(Footprint::default(), |inner| inner.footprint())
    }
}
