//! The way from the rows that a rank has to the cells near it, and back.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::matrix::{CellMoves, CellOrder, Distributed, GridPart};
use crate::scalar::{Mixes, Scalar};
use crate::structured::columns::by_column;
use crate::structured::entrance::Entrance;
use crate::structured::outer::Orders;
use crate::vector::Vector;

/// A cycle on near cells as a preconditioner for own rows.
#[derive(Debug)]
pub(in crate::structured) struct SharedOuter<V: Vectors, T> {
    /// This rank.
    executor: Executor,
    rows: usize,
    near_rows: usize,
    unknowns: usize,
    cycle: Entrance<V>,
    enter: CellMoves,
    leave: CellMoves,
    outside: PhantomData<fn(T) -> T>,
}

impl<V: Vectors, T> SharedOuter<V, T> {
    /// The cycle takes vectors that are unknown by unknown.
    pub(in crate::structured) fn new(
        a: &Distributed<f64>,
        part: &Arc<GridPart>,
        unknowns: usize,
        cycle: Entrance<V>,
    ) -> Self {
        let cells = a.rows().divided(unknowns);
        Self {
            executor: a.executor().clone(),
            rows: a.size().rows,
            near_rows: unknowns * part.near().cells(),
            enter: part.from_rows(&cells),
            leave: part.to_rows(&cells),
            unknowns,
            cycle,
            outside: PhantomData,
        }
    }
}

impl<V: Vectors + Mixes<V, V>, T: Scalar> LinOp<T> for SharedOuter<V, T> {
    fn size(&self) -> Size {
        Size::square(self.rows)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", self.size(), &self.executor, b, x)?;
        let alone = self.cycle.executor();
        let orders = Orders {
            executor: alone,
            unknowns: self.unknowns,
            scales: None,
        };
        by_column(b, x, ws, |b, x| {
            let mut right = ws.vector::<V>(alone, self.near_rows, 1)?;
            let mut solution = ws.vector::<V>(alone, self.near_rows, 1)?;
            if alone.is_device() {
                let (r, [rows, fields]) = (self.unknowns, [CellOrder::Rows, CellOrder::Fields]);
                self.enter
                    .move_there(r, (b, rows), (&mut right, fields), ws)?;
                self.cycle.apply(&right, &mut solution, ws)?;
                return self.leave.move_there(r, (&solution, fields), (x, rows), ws);
            }
            let mut own = ws.vector::<V>(alone, self.rows, 1)?;
            orders.enter(b.host()?, own.host_mut()?);
            self.enter
                .move_vector(self.unknowns, &own, &mut right, ws)?;
            self.cycle.apply(&right, &mut solution, ws)?;
            self.leave
                .move_vector(self.unknowns, &solution, &mut own, ws)?;
            orders.leave(own.host()?, x.host_mut()?);
            Ok(())
        })
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        self.cycle.footprint()
    }
}
