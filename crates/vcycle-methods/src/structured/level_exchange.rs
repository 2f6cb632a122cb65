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
use crate::matrix::{CellMoves, CellOrder, GridPart};
use crate::vector::Vector;

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
