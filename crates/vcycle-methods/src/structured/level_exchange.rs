//! What ranks exchange on a level of a grid that they share, and between it and the next one.
//!
//! A rank has a box of cells and knows the cells around it: its *near* cells are a grid of their own, on which everything
//! runs as it does without ranks, on the host of the rank or on its device. After each sweep, and after restriction, ranks
//! exchange the values of own cells that are near to others, in the precision of the level. Own cells get the same bits as
//! without ranks. What depends on all cells (largest values, couplings along axes) is reduced over all ranks.
//!
//! The first level of at most [`gather_cells`](super::StructMg::gather_cells) cells, or of which a rank would have none on
//! the next grid, is that of rank 0, with all below it.

use std::sync::Arc;

use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Scratch, Workspace};
use crate::linop::{Footprint, LinOp, Size};
use crate::matrix::{CellMoves, CellOrder, GridPart};
use crate::vector::Vector;

/// Exchanges on a level, and moves between the near cells of the next one and the coarse cells among the near ones of this.
#[derive(Debug)]
pub(super) struct LevelExchange {
    part: Arc<GridPart>,
    unknowns: usize,
    down: CellMoves,
    up: CellMoves,
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

    /// Unknowns of a cell.
    pub(super) fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// How ranks share the level.
    pub(super) fn part(&self) -> &Arc<GridPart> {
        &self.part
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

    /// From these to the near cells of the next level.
    pub(super) fn down<V: Vectors>(
        &self,
        from: &Vector<V>,
        to: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let order = CellOrder::Fields;
        self.down
            .move_vector(self.unknowns, (from, order), (to, order), ws)
    }

    /// The other way round.
    pub(super) fn up<V: Vectors>(
        &self,
        from: &Vector<V>,
        to: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let order = CellOrder::Fields;
        self.up
            .move_vector(self.unknowns, (from, order), (to, order), ws)
    }
}

/// The matrix of a level for vectors of near cells; its results are exchanged.
#[derive(Debug)]
pub(super) struct Refreshed<V: Vectors> {
    pub(super) inner: Arc<dyn LinOp<V>>,
    pub(super) exchange: Arc<LevelExchange>,
}

impl<V: Vectors> LinOp<V> for Refreshed<V> {
    fn size(&self) -> Size {
        self.inner.size()
    }

    fn executor(&self) -> &Executor {
        self.inner.executor()
    }

    fn apply(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        self.inner.apply(x, y, ws)?;
        self.exchange.refresh(y, ws)
    }

    fn residual(
        &self,
        b: &Vector<V>,
        x: &Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.inner.residual(b, x, r, ws)?;
        self.exchange.refresh(r, ws)
    }

    fn footprint(&self) -> Footprint {
        self.inner.footprint()
    }
}
