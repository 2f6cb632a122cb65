//! Products of own rows with a stencil.

use std::sync::Arc;

use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::matrix::{CellMoves, CellOrder, Distributed, GridPart};
use crate::structured::columns::by_column;
use crate::vector::Vector;

/// A stencil on near cells as the matrix of own rows.
#[derive(Debug)]
pub(in crate::structured) struct SharedProduct {
    /// This rank.
    executor: Executor,
    rows: usize,
    unknowns: usize,
    near: Arc<dyn LinOp<f64>>,
    enter: CellMoves,
    leave: CellMoves,
}

impl SharedProduct {
    /// Of a stencil whose vectors are cell by cell.
    pub(in crate::structured) fn new(
        a: &Distributed<f64>,
        part: &GridPart,
        unknowns: usize,
        near: Arc<dyn LinOp<f64>>,
    ) -> Self {
        let cells = a.rows().divided(unknowns);
        Self {
            executor: a.executor().clone(),
            rows: a.size().rows,
            unknowns,
            near,
            enter: part.from_rows(&cells),
            leave: part.to_rows(&cells),
        }
    }

    /// Moves vectors that are cell by cell.
    fn moved(
        &self,
        moves: &CellMoves,
        from: &Vector<f64>,
        to: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()> {
        let (r, rows) = (self.unknowns, CellOrder::Rows);
        if to.executor().is_device() {
            return moves.move_there(r, (from, rows), (to, rows), ws);
        }
        let to = to.host_mut()?;
        moves.move_to([1, r], from.host()?, |_, cell, new| {
            to[cell * r..cell * r + new.len()].copy_from_slice(new);
        })
    }
}

impl LinOp<f64> for SharedProduct {
    fn size(&self) -> Size {
        Size::square(self.rows)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        check_apply("stencil product", self.size(), &self.executor, x, y)?;
        let (alone, rows) = (self.near.executor(), self.near.size().rows);
        by_column(x, y, ws, |x, y| {
            let mut near = ws.vector::<f64>(alone, rows, 1)?;
            let mut product = ws.vector::<f64>(alone, rows, 1)?;
            self.moved(&self.enter, x, &mut near, ws)?;
            self.near.apply(&near, &mut product, ws)?;
            self.moved(&self.leave, &product, y, ws)
        })
    }

    fn label(&self) -> &'static str {
        "a stencil matrix"
    }

    fn footprint(&self) -> Footprint {
        self.near.footprint()
    }
}
