//! Products with a stencil matrix.

use std::borrow::Cow;

use super::columns::by_column;
use super::fields::as_fields;
use super::{StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::linop::{Sweep, check_apply};
use crate::operations::Finish;
use crate::operations::reductions::take_sums;
use crate::prelude::*;
use crate::reference::stencil::Start;

impl<M: Storage> StencilMatrix<M> {
    /// One column and what becomes of it; vectors are unknown by unknown.
    pub(super) fn column<V: Vectors>(
        &self,
        finish: &Finish<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
    ) -> Result<()> {
        self.operand().product(finish, x, y)
    }

    /// Whether one product is all a kernel has to do: one vector, in the order that it wants.
    fn is_plain<V: Vectors>(&self, x: &Vector<V>) -> bool {
        x.cols() == 1 && self.unknowns() == 1
    }

    fn product<V: Vectors>(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        ws.check_end(self.part().map(|part| part.team()))?;
        if self.operand().product_of_rows(false, x, y, ws)?.is_some() {
            return Ok(());
        }
        by_column(x, y, ws, |x, y| {
            as_fields(self.unknowns(), x, (y, Start::Zero), ws, |x, y| {
                self.column(&Finish::Apply, x, y)
            })
        })
    }
}

impl<M: Storage, V: Vectors + Mixes<V, V>> LinOp<V> for StencilMatrix<M> {
    fn size(&self) -> Size {
        self.size()
    }

    fn executor(&self) -> &Executor {
        self.executor()
    }

    fn apply(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        check_apply("stencil product", self.size(), self.executor(), x, y)?;
        self.product(x, y, ws)
    }

    fn apply_dot(
        &self,
        x: &Vector<V>,
        y: &mut Vector<V>,
        dots: &mut Scalars<V>,
        ws: &Workspace,
    ) -> Result<bool> {
        check_apply("stencil product", self.size(), self.executor(), x, y)?;
        match self.operand().product_of_rows(true, x, y, ws)? {
            Some(dot) => take_sums(&[dot], dots).map(|()| true),
            None => self.product(x, y, ws).map(|()| false),
        }
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, V>,
        x: &Vector<V>,
        beta: Coefficient<'_, V>,
        y: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("stencil product", self.size(), self.executor(), x, y)?;
        if !self.is_plain(x) {
            let mut product = ws.vector_like::<V, V>(y)?;
            self.product(x, &mut product, ws)?;
            return y.axpby(alpha, &product, beta);
        }
        let z = None;
        self.column(&Finish::Combine { alpha, beta, z }, x, y)
    }

    fn residual(
        &self,
        b: &Vector<V>,
        x: &Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        ws.check_end(self.part().map(|part| part.team()))?;
        check_apply("stencil residual", self.size(), self.executor(), x, r)?;
        check_apply("stencil residual", self.size(), self.executor(), x, b)?;
        if !self.is_plain(x) {
            r.copy_from(b)?;
            let (less, one) = (Coefficient::real(-1.0), Coefficient::one());
            return self.apply_advanced(less, x, one, r, ws);
        }
        self.column(&Finish::residual(b), x, r)
    }

    fn relax(
        &self,
        sweep: Sweep<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        ws.check_end(self.part().map(|part| part.team()))?;
        if !self.is_plain(x) {
            let residual = |r: &mut Vector<V>| self.residual(sweep.b, x, r, ws);
            return sweep.compose(self.size(), &residual, x, y, ws);
        }
        sweep.check(self.size(), x, y)?;
        self.column(&Finish::Relax(sweep), x, y)
    }

    fn csr(&self) -> Option<Cow<'_, Csr<V>>> {
        self.to_csr().convert().ok().map(Cow::Owned)
    }

    fn label(&self) -> &'static str {
        "a stencil matrix"
    }

    fn footprint(&self) -> Footprint {
        Footprint::of_bytes(self.bytes())
    }
}
