//! Products with a stencil matrix.

use std::borrow::Cow;

use super::columns::by_column;
use super::fields::as_fields;
use super::{StencilMatrix, Storage};
use crate::backend::cpu::stencil::Vectors;
use crate::backend::reference::stencil::{Form, Start};
use crate::backend::{cpu, reference};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, Sweep, check_apply};
use crate::matrix::Csr;
use crate::scalar::Real;
use crate::vector::{Coefficient, Vector};

impl<M: Storage> StencilMatrix<M> {
    /// One column by a form; vectors are unknown by unknown.
    pub(super) fn column<V: Vectors>(&self, form: Form<'_, V>, x: &[V], y: &mut [V]) {
        match self.executor() {
            Executor::Cpu(threads) => cpu::stencil::product(threads, self.arrays(), form, x, y),
            _ => reference::stencil::product(self.arrays(), form, x, y),
        }
    }

    /// Whether one product is all a kernel has to do: one vector, in the order that it wants.
    fn is_plain<V: Vectors>(&self, x: &Vector<V>) -> bool {
        x.cols() == 1 && self.unknowns() == 1
    }

    fn product<V: Vectors>(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        by_column(x, y, ws, |x, y| {
            as_fields(self.unknowns(), x, (y, Start::Zero), ws, |x, y| {
                self.column(Form::Product, x.host()?, y.host_mut()?);
                Ok(())
            })
        })
    }
}

macro_rules! operator {
    ($($vector:ty),*) => {$(
        impl<M: Storage> LinOp<$vector> for StencilMatrix<M> {
            fn size(&self) -> Size {
                self.size()
            }

            fn executor(&self) -> &Executor {
                self.executor()
            }

            fn apply(
                &self,
                x: &Vector<$vector>,
                y: &mut Vector<$vector>,
                ws: &Workspace,
            ) -> Result<()> {
                check_apply("stencil product", self.size(), self.executor(), x, y)?;
                self.product(x, y, ws)
            }

            fn apply_advanced(
                &self,
                alpha: Coefficient<'_, $vector>,
                x: &Vector<$vector>,
                beta: Coefficient<'_, $vector>,
                y: &mut Vector<$vector>,
                ws: &Workspace,
            ) -> Result<()> {
                check_apply("stencil product", self.size(), self.executor(), x, y)?;
                if !self.is_plain(x) {
                    let mut product = ws.vector_like::<$vector, $vector>(y)?;
                    self.product(x, &mut product, ws)?;
                    return y.axpby(alpha, &product, beta);
                }
                let (alpha, beta) = (alpha.evaluate(0)?, beta.evaluate(0)?);
                self.column(Form::Advanced { alpha, beta }, x.host()?, y.host_mut()?);
                Ok(())
            }

            fn residual(
                &self,
                b: &Vector<$vector>,
                x: &Vector<$vector>,
                r: &mut Vector<$vector>,
                ws: &Workspace,
            ) -> Result<()> {
                check_apply("stencil residual", self.size(), self.executor(), x, r)?;
                check_apply("stencil residual", self.size(), self.executor(), x, b)?;
                if !self.is_plain(x) {
                    r.copy_from(b)?;
                    let (less, one) = (Coefficient::real(-1.0), Coefficient::one());
                    return self.apply_advanced(less, x, one, r, ws);
                }
                self.column(Form::Residual { b: b.host()? }, x.host()?, r.host_mut()?);
                Ok(())
            }

            fn relax(
                &self,
                sweep: Sweep<'_, $vector>,
                x: &Vector<$vector>,
                y: &mut Vector<$vector>,
                ws: &Workspace,
            ) -> Result<()> {
                if !self.is_plain(x) {
                    return sweep.compose(self, x, y, ws);
                }
                sweep.check(self.size(), x, y)?;
                self.column(relaxed(&sweep)?, x.host()?, y.host_mut()?);
                Ok(())
            }

            fn csr(&self) -> Option<Cow<'_, Csr<$vector>>> {
                self.to_csr().convert().ok().map(Cow::Owned)
            }

            fn footprint(&self) -> Footprint {
                Footprint {
                    held: self.bytes(),
                    moved: self.bytes(),
                }
            }
        }
    )*};
}

operator!(f64, f32);

fn relaxed<'a, V: Real>(sweep: &Sweep<'a, V>) -> Result<Form<'a, V>> {
    Ok(Form::Relaxed {
        b: sweep.b.host()?,
        d: sweep.d.host()?,
        alpha: V::from_f64(sweep.alpha),
        beta: V::from_f64(sweep.beta),
        gamma: V::from_f64(sweep.gamma),
    })
}
