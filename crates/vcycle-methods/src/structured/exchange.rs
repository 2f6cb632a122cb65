//! What ranks exchange on a level of a grid that they share, and between it and the next one.
//!
//! A rank has a box of cells and knows the cells around it: its *near* cells are a grid of their own, on which everything
//! runs as it does without ranks, on the host of the rank or on its device. After each sweep, and after restriction, ranks
//! exchange the values of own cells that are near to others, in the precision of the level. Own cells get the same bits as
//! without ranks. What depends on all cells (largest values, couplings along axes) is reduced over all ranks.
//!
//! The first level of at most [`gather_cells`](super::StructMg::gather_cells) cells, or of which a rank would have none on
//! the next grid, is that of rank 0, with all below it.

use std::marker::PhantomData;

use super::columns::by_column;
use crate::cpu::stencil::Vectors;
use crate::linop::check_apply;
use crate::matrix::{CellMoves, CellOrder, GridPart};
use crate::multigrid::krylov;
use crate::prelude::*;

/// Exchanges on a level, and moves between the near cells of the next one and the coarse cells among the near ones of this.
#[derive(Debug)]
pub(super) struct LevelExchange {
    /// How ranks share the level.
    pub(super) part: Arc<GridPart>,
    /// Unknowns of a cell.
    pub(super) unknowns: usize,
    /// From the coarse cells among the near ones to the near cells of the next level, and the other way round.
    pub(super) down: CellMoves,
    pub(super) up: CellMoves,
    /// Coarse cells among the near ones.
    between: usize,
}

impl LevelExchange {
    pub(super) fn new(
        part: &Arc<GridPart>,
        axes: &[usize],
        coarse: &GridPart,
        unknowns: usize,
    ) -> Self {
        Self {
            part: Arc::clone(part),
            unknowns,
            down: part.to_coarse(axes, coarse),
            up: part.from_coarse(axes, coarse),
            between: part.near_box().halved(axes).cells(),
        }
    }

    /// Takes the values of near cells from the ranks that have them.
    pub(super) fn refresh<V: Vectors>(&self, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        self.part.refresh_vector(self.unknowns, x, ws)
    }

    /// A vector of the coarse cells among the near ones.
    pub(super) fn between<'w, V: Vectors>(
        &self,
        executor: &Executor,
        ws: &'w Workspace,
    ) -> Result<Scratch<'w, Vector<V>>> {
        ws.vector::<V>(executor, self.unknowns * self.between, 1)
    }

    /// Moves numbers down to the next level, or up from it.
    pub(super) fn moved<V: Vectors>(
        &self,
        moves: &CellMoves,
        from: &Vector<V>,
        to: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let order = CellOrder::Fields;
        moves.move_vector(self.unknowns, (from, order), (to, order), ws)
    }
}

/// An operator on vectors of some cells, for vectors of others: their numbers are moved there, and the result is moved back.
#[derive(Debug)]
pub(super) struct MovedOperator<V: Scalar, T> {
    label: &'static str,
    /// Of the vectors it is applied to.
    executor: Executor,
    rows: usize,
    /// The order of numbers in these, and in those of the operator inside.
    orders: [CellOrder; 2],
    unknowns: usize,
    /// From the vectors outside to those inside, and back.
    moves: [Arc<CellMoves>; 2],
    /// None on ranks that have no cells inside.
    inner: Option<Arc<dyn LinOp<V>>>,
    outside: PhantomData<fn(T) -> T>,
}

impl<V: Vectors, T> MovedOperator<V, T> {
    /// An operator on vectors of near cells for own rows, whose numbers are cell by cell; those inside have some order.
    pub(super) fn for_rows(
        a: &Distributed<f64>,
        part: &GridPart,
        unknowns: usize,
        (near, order): (Arc<dyn LinOp<V>>, CellOrder),
        label: &'static str,
    ) -> Self {
        let cells = a.rows().divided(unknowns);
        Self {
            label,
            executor: a.executor().clone(),
            rows: a.size().rows,
            orders: [CellOrder::Rows, order],
            unknowns,
            moves: [part.from_rows(&cells), part.to_rows(&cells)].map(Arc::new),
            inner: Some(near),
            outside: PhantomData,
        }
    }

    /// An operator for vectors that are unknown by unknown outside and inside.
    fn of_fields(
        (executor, cells, unknowns): (&Executor, usize, usize),
        moves: [Arc<CellMoves>; 2],
        inner: Option<Arc<dyn LinOp<V>>>,
    ) -> Self {
        Self {
            label: "struct-mg",
            executor: executor.clone(),
            rows: cells * unknowns,
            orders: [CellOrder::Fields; 2],
            unknowns,
            moves,
            inner,
            outside: PhantomData,
        }
    }
}

impl<V: Vectors> MovedOperator<V, V> {
    /// An operator of rank 0 on vectors of a whole grid, for vectors of the near cells of all ranks.
    pub(super) fn gathered(
        executor: &Executor,
        part: &GridPart,
        unknowns: usize,
        inner: Option<Arc<dyn LinOp<V>>>,
    ) -> Self {
        let moves = [part.to_first(), part.from_first()].map(Arc::new);
        Self::of_fields((executor, part.near().cells(), unknowns), moves, inner)
    }

    /// What a level visits in a K-cycle, for vectors of near cells: a Krylov method of this rank on vectors of own ones, whose
    /// sums go over all ranks. `product` is that of the level, `cycle` the cycle from there on, both for near cells.
    pub(super) fn krylov(
        rank: &Executor,
        part: &GridPart,
        unknowns: usize,
        product: Arc<dyn LinOp<V>>,
        cycle: Arc<dyn LinOp<V>>,
    ) -> Result<Arc<dyn LinOp<V>>> {
        let [enter, leave] = [part.from_own(), part.to_own()].map(Arc::new);
        let near = (&product.executor().clone(), part.near().cells(), unknowns);
        let on_own = |inner| -> Arc<dyn LinOp<V>> {
            let moves = [Arc::clone(&enter), Arc::clone(&leave)];
            let own = (rank, part.own().cells(), unknowns);
            Arc::new(Self::of_fields(own, moves, Some(inner)))
        };
        let inner = krylov(&on_own(product), on_own(cycle))?;
        Ok(Arc::new(Self::of_fields(near, [leave, enter], Some(inner))))
    }
}

impl<V: Vectors, T: Scalar> LinOp<T> for MovedOperator<V, T> {
    fn size(&self) -> Size {
        Size::square(self.rows)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply(self.label, self.size(), &self.executor, b, x)?;
        let (place, rows) = match &self.inner {
            Some(inner) => (inner.executor(), inner.size().rows),
            None => (&self.executor, 0),
        };
        let ([outside, inside], [enter, leave]) = (self.orders, &self.moves);
        by_column(b, x, ws, |b, x| {
            let mut right = ws.vector::<V>(place, rows, 1)?;
            let mut solution = ws.vector::<V>(place, rows, 1)?;
            enter.move_vector(self.unknowns, (b, outside), (&mut right, inside), ws)?;
            if let Some(inner) = &self.inner {
                inner.apply(&right, &mut solution, ws)?;
            }
            leave.move_vector(self.unknowns, (&solution, inside), (x, outside), ws)
        })
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn footprint(&self) -> Footprint {
        let inner = self.inner.as_ref();
        inner.map_or(Footprint::default(), |inner| inner.footprint())
    }
}
