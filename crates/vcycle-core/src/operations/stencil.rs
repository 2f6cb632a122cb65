//! Products and sweeps with stencil matrices.

use crate::arrays::{Coefficient, Vector};
use crate::cpu;
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::grid::Grid;
use crate::launch::rows::Finish;
use crate::launch::setup::stencil::OwnCells;
use crate::launch::stencil::{self as device, Part, StencilOperand};
use crate::reference;
use crate::reference::stencil::{Form, Order, Start, StencilArrays};
use crate::scalar::{Real, Scalar};
use crate::workspace::Workspace;

/// A stencil matrix wherever it is; vectors are unknown by unknown.
pub struct StencilEntries<'a, M> {
    /// The cells.
    pub grid: Grid,
    /// The neighbours of a cell.
    pub offsets: &'a [[i8; 3]],
    /// Numbers of a cell.
    pub unknowns: usize,
    /// What diagonal entries are beside what is stored of them.
    pub base: f64,
    /// Line by line the entries of one offset.
    pub values: &'a Buffer<M>,
    /// The cells that are counted.
    pub own: OwnCells,
}

impl<M> Clone for StencilEntries<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M> Copy for StencilEntries<'_, M> {}

impl<'a, M: Scalar> StencilEntries<'a, M> {
    fn executor(&self) -> &'a Executor {
        self.values.executor()
    }

    /// For kernels of the host.
    ///
    /// # Panics
    /// When a device fails that has the values.
    pub fn arrays(&self) -> StencilArrays<'a, M> {
        StencilArrays {
            grid: self.grid,
            offsets: self.offsets,
            unknowns: self.unknowns,
            base: self.base,
            values: self.values.on_host(),
        }
    }

    fn on_device(&self) -> Result<StencilOperand<'a>> {
        Ok(StencilOperand {
            grid: self.grid,
            offsets: self.offsets,
            unknowns: self.unknowns,
            base: self.base as f32,
            kind: M::KIND,
            values: self.values.device()?,
        })
    }

    /// The product with one column, and what becomes of it.
    pub fn product<V: Vectors>(
        &self,
        finish: &Finish<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
    ) -> Result<()> {
        if let Executor::Gpu(gpu) = self.executor() {
            return device::product(gpu, self.on_device()?, Part::All, finish, x, y);
        }
        let (a, form, x, y) = (self.arrays(), form(finish)?, x.host()?, y.host_mut()?);
        match self.executor() {
            Executor::Cpu(threads) => cpu::stencil::product(threads, a, form, x, y),
            _ => reference::stencil::product(a, form, x, y),
        }
        Ok(())
    }

    /// The product of one column with the numbers of each cell side by side, and its dot product with the column
    /// if that is wanted, in one pass; none where the executor cannot.
    pub fn product_of_rows<V: Vectors>(
        &self,
        wants_dot: bool,
        x: &Vector<V>,
        y: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<Option<V>> {
        let has_kernels = cpu::stencil::has_kernels::<M, V>();
        let (Executor::Cpu(threads), 1, true) = (self.executor(), x.cols(), has_kernels) else {
            return Ok(None);
        };
        let length = cpu::stencil::rows_scratch(self.grid, self.unknowns);
        let mut scratch = ws.vector::<V>(self.executor(), length, 1)?;
        let (x, y, scratch) = (x.host()?, y.host_mut()?, scratch.host_mut()?);
        let a = self.arrays();
        let dot = cpu::stencil::product_of_rows(threads, a, wants_dot, x, y, scratch);
        Ok(Some(dot))
    }

    /// A sweep of Gauss-Seidel.
    pub fn gauss_seidel<V: Vectors>(
        &self,
        (order, start): (Order, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        match self.executor() {
            Executor::Gpu(gpu) => {
                device::gauss_seidel(gpu, self.on_device()?, (order, start), b, x)?;
            }
            Executor::Reference => {
                let (b, x) = (b.host()?, x.host_mut()?);
                reference::stencil::gauss_seidel(self.arrays(), (order, start), b, x);
            }
            Executor::Cpu(threads) => {
                let length = cpu::stencil::scratch_length(self.grid, self.unknowns);
                let mut scratch = ws.vector::<V>(self.executor(), length, 1)?;
                let (a, scratch) = (self.arrays(), scratch.host_mut()?);
                let (b, x) = (b.host()?, x.host_mut()?);
                cpu::stencil::gauss_seidel(threads, a, (order, start), b, x, scratch);
            }
        }
        Ok(())
    }

    /// The residual of what one sweep forward makes of zeros: a row is right when its turn comes, so what is left
    /// are the changes of neighbours after that. Says whether the executor makes use of it.
    pub fn residual_after_sweep<V: Vectors>(
        &self,
        x: &Vector<V>,
        r: &mut Vector<V>,
    ) -> Result<bool> {
        let Executor::Gpu(gpu) = self.executor() else {
            return Ok(false);
        };
        let less = Finish::Combine {
            alpha: Coefficient::real(-1.0),
            beta: Coefficient::zero(),
            z: None,
        };
        device::product(gpu, self.on_device()?, Part::Later, &less, x, r)?;
        Ok(true)
    }
}

/// As the kernels of the host are told.
fn form<'a, V: Real>(finish: &Finish<'a, V>) -> Result<Form<'a, V>> {
    Ok(match finish {
        Finish::Apply => Form::Product,
        Finish::Combine { alpha, beta, z } => match z {
            None => Form::Advanced {
                alpha: alpha.evaluate(0)?,
                beta: beta.evaluate(0)?,
            },
            Some(b) => Form::Residual { b: b.host()? },
        },
        Finish::Relax(sweep) => Form::Relaxed {
            b: sweep.b.host()?,
            d: sweep.d.host()?,
            alpha: V::from_f64(sweep.alpha),
            beta: V::from_f64(sweep.beta),
            gamma: V::from_f64(sweep.gamma),
        },
    })
}
