//! K-cycles on levels that ranks share: sums go over the own cells of all of them.

use std::sync::Arc;

use super::way::GridWay;
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::matrix::CellMoves;
use crate::multigrid::krylov;
use crate::vector::Vector;

/// What a level visits in a K-cycle, for vectors of near cells: a Krylov method of this rank on vectors of own ones. `product` is
/// that of the level, `cycle` the cycle from there on, both for near cells.
pub(in crate::structured) fn shared_krylov<V: Vectors>(
    rank: &Executor,
    way: &GridWay,
    product: Arc<dyn LinOp<V>>,
    cycle: Arc<dyn LinOp<V>>,
) -> Result<Arc<dyn LinOp<V>>> {
    let cells = Arc::new(LevelCells::new(rank, product.executor(), way));
    let on_own = |inner| -> Arc<dyn LinOp<V>> {
        let cells = Arc::clone(&cells);
        Arc::new(OnOwn { cells, inner })
    };
    let inner = krylov(&on_own(product), on_own(cycle))?;
    Ok(Arc::new(OnNear { cells, inner }))
}

/// Vectors of the own cells of a level, and of the near ones.
#[derive(Debug)]
struct LevelCells {
    rank: Executor,
    alone: Executor,
    unknowns: usize,
    own_rows: usize,
    near_rows: usize,
    tell: CellMoves,
    keep: CellMoves,
}

impl LevelCells {
    fn new(rank: &Executor, alone: &Executor, way: &GridWay) -> Self {
        let (part, unknowns) = (way.part(), way.unknowns());
        Self {
            rank: rank.clone(),
            alone: alone.clone(),
            unknowns,
            own_rows: unknowns * part.own().cells(),
            near_rows: unknowns * part.near().cells(),
            tell: part.from_own(),
            keep: part.to_own(),
        }
    }
}

/// An operator on vectors of near cells, for those of own ones.
#[derive(Debug)]
struct OnOwn<V: Vectors> {
    cells: Arc<LevelCells>,
    inner: Arc<dyn LinOp<V>>,
}

impl<V: Vectors> LinOp<V> for OnOwn<V> {
    fn size(&self) -> Size {
        Size::square(self.cells.own_rows)
    }

    fn executor(&self) -> &Executor {
        &self.cells.rank
    }

    fn apply(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        check_apply("own cells", self.size(), self.executor(), x, y)?;
        let (cells, r) = (&self.cells, self.cells.unknowns);
        let mut near = ws.vector::<V>(&cells.alone, cells.near_rows, 1)?;
        let mut made = ws.vector::<V>(&cells.alone, cells.near_rows, 1)?;
        cells.tell.move_vector(r, x, &mut near, ws)?;
        self.inner.apply(&near, &mut made, ws)?;
        cells.keep.move_vector(r, &made, y, ws)
    }

    fn footprint(&self) -> Footprint {
        self.inner.footprint()
    }
}

/// An operator on vectors of own cells, for those of near ones.
#[derive(Debug)]
struct OnNear<V: Vectors> {
    cells: Arc<LevelCells>,
    inner: Arc<dyn LinOp<V>>,
}

impl<V: Vectors> LinOp<V> for OnNear<V> {
    fn size(&self) -> Size {
        Size::square(self.cells.near_rows)
    }

    fn executor(&self) -> &Executor {
        &self.cells.alone
    }

    fn apply(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        check_apply("near cells", self.size(), self.executor(), b, x)?;
        let (cells, r) = (&self.cells, self.cells.unknowns);
        let mut own = ws.vector::<V>(&cells.rank, cells.own_rows, 1)?;
        let mut made = ws.vector::<V>(&cells.rank, cells.own_rows, 1)?;
        cells.keep.move_vector(r, b, &mut own, ws)?;
        self.inner.apply(&own, &mut made, ws)?;
        cells.tell.move_vector(r, &made, x, ws)
    }

    fn footprint(&self) -> Footprint {
        self.inner.footprint()
    }
}
