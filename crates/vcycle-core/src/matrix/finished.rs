//! Products and what becomes of them: what the operators of all formats have in common.

use crate::linop::check_apply;
use crate::operations::Finish;
use crate::prelude::*;

/// Fails, naming the operation, unless a product and what finishes it fit in sizes and place.
pub(super) fn check<X: Scalar, Y: Scalar>(
    operation: &'static str,
    (size, executor): (Size, &Executor),
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &Vector<Y>,
) -> Result<()> {
    check_apply(operation, size, executor, x, y)?;
    match finish {
        Finish::Apply | Finish::Combine { z: None, .. } => Ok(()),
        Finish::Combine { z: Some(z), .. } => check_apply(operation, size, executor, x, z),
        Finish::Relax(sweep) => sweep.check(size, x, y),
    }
}

/// Size, place and products of a [`LinOp`](crate::linop::LinOp), by `finished(x, finish, y, ws)` of the matrix; with sweeps if these
/// are asked for.
macro_rules! finished_products {
    ($x:ident, $y:ident) => {
        fn size(&self) -> $crate::size::Size {
            self.size()
        }

        fn executor(&self) -> &$crate::executor::Executor {
            self.executor()
        }

        fn apply(
            &self,
            x: &$crate::vector::Vector<$x>,
            y: &mut $crate::vector::Vector<$y>,
            ws: &$crate::workspace::Workspace,
        ) -> $crate::error::Result<()> {
            ws.check_end(self.executor().team())?;
            self.finished(x, &$crate::operations::Finish::Apply, y, ws)
        }

        fn apply_advanced(
            &self,
            alpha: $crate::vector::Coefficient<'_, $y>,
            x: &$crate::vector::Vector<$x>,
            beta: $crate::vector::Coefficient<'_, $y>,
            y: &mut $crate::vector::Vector<$y>,
            ws: &$crate::workspace::Workspace,
        ) -> $crate::error::Result<()> {
            ws.check_end(self.executor().team())?;
            let z = None;
            let finish = $crate::operations::Finish::Combine { alpha, beta, z };
            self.finished(x, &finish, y, ws)
        }

        fn residual(
            &self,
            b: &$crate::vector::Vector<$y>,
            x: &$crate::vector::Vector<$x>,
            r: &mut $crate::vector::Vector<$y>,
            ws: &$crate::workspace::Workspace,
        ) -> $crate::error::Result<()> {
            ws.check_end(self.executor().team())?;
            self.finished(x, &$crate::operations::Finish::residual(b), r, ws)
        }
    };
    ($x:ident, $y:ident, relax) => {
        $crate::matrix::finished::finished_products!($x, $y);

        fn relax(
            &self,
            sweep: $crate::arrays::Sweep<'_, $y>,
            x: &$crate::vector::Vector<$x>,
            y: &mut $crate::vector::Vector<$y>,
            ws: &$crate::workspace::Workspace,
        ) -> $crate::error::Result<()>
        where
            $y: $crate::scalar::Mixes<$y, $y>,
        {
            ws.check_end(self.executor().team())?;
            self.finished(x, &$crate::operations::Finish::Relax(sweep), y, ws)
        }
    };
}
pub(super) use finished_products;
