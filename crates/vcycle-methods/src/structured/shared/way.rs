//! What ranks tell each other on a level, and the way to the next one.

use std::sync::Arc;

use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Scratch, Workspace};
use crate::linop::{Footprint, LinOp, Size};
use crate::matrix::{CellMoves, GridPart};
use crate::vector::Vector;

/// The way from the near cells of a level to those of the next, which are not the same as the coarse ones among them.
#[derive(Debug)]
pub(in crate::structured) struct GridWay {
    part: Arc<GridPart>,
    unknowns: usize,
    down: CellMoves,
    up: CellMoves,
    /// Coarse cells among the near ones.
    between: usize,
}

impl GridWay {
    pub(in crate::structured) fn new(
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
    pub(in crate::structured) fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// How ranks share the level.
    pub(in crate::structured) fn part(&self) -> &Arc<GridPart> {
        &self.part
    }

    /// Tells other ranks what own cells have become.
    pub(in crate::structured) fn tell<V: Vectors>(
        &self,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.part.refresh_vector(self.unknowns, x, ws)
    }

    /// A vector of the coarse cells among the near ones.
    pub(in crate::structured) fn between<'w, V: Vectors>(
        &self,
        executor: &Executor,
        ws: &'w Workspace,
    ) -> Result<Scratch<'w, Vector<V>>> {
        ws.vector::<V>(executor, self.unknowns * self.between, 1)
    }

    /// From these to the near cells of the next level.
    pub(in crate::structured) fn down<V: Vectors>(
        &self,
        from: &Vector<V>,
        to: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.down.move_vector(self.unknowns, from, to, ws)
    }

    /// The other way round.
    pub(in crate::structured) fn up<V: Vectors>(
        &self,
        from: &Vector<V>,
        to: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.up.move_vector(self.unknowns, from, to, ws)
    }
}

/// The matrix of a level for vectors of near cells; what it makes of own ones is told to the other ranks.
#[derive(Debug)]
pub(in crate::structured) struct InNear<V: Vectors> {
    pub(in crate::structured) inner: Arc<dyn LinOp<V>>,
    pub(in crate::structured) way: Arc<GridWay>,
}

impl<V: Vectors> LinOp<V> for InNear<V> {
    fn size(&self) -> Size {
        self.inner.size()
    }

    fn executor(&self) -> &Executor {
        self.inner.executor()
    }

    fn apply(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        self.inner.apply(x, y, ws)?;
        self.way.tell(y, ws)
    }

    fn residual(
        &self,
        b: &Vector<V>,
        x: &Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.inner.residual(b, x, r, ws)?;
        self.way.tell(r, ws)
    }

    fn footprint(&self) -> Footprint {
        self.inner.footprint()
    }
}
