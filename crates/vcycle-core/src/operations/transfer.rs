//! Transfers between grids.

use std::ops::Range;

use super::stencil::StencilEntries;
use crate::cpu;
use crate::cpu::Threads;
use crate::cpu::stencil::{Axes, Correction, Residual, Vectors};
use crate::gpu::{BLOCK, flag, kernels::transfer as kernels};
use crate::grid::Grid;
use crate::launch::prelude::*;
use crate::reference::stencil::{Direction, TransferArrays};

/// Interpolation along one axis, wherever its weights are.
#[derive(Clone, Copy)]
pub struct TransferWeights<'a, W> {
    /// The finer grid.
    pub fine: Grid,
    /// The axis along which it is halved.
    pub axis: usize,
    /// Numbers of a cell.
    pub unknowns: usize,
    /// Unknown by unknown.
    pub weights: &'a Buffer<W>,
}

impl<'a, W: Scalar> TransferWeights<'a, W> {
    /// For kernels of the host.
    pub fn arrays(&self) -> TransferArrays<'a, W> {
        TransferArrays {
            fine: self.fine,
            axis: self.axis,
            weights: self.weights.on_host(),
        }
    }

    /// Each unknown: its weights, its fine numbers and its coarse ones.
    fn parts(
        &self,
    ) -> impl Iterator<Item = (TransferArrays<'a, W>, Range<usize>, Range<usize>)> + 'a {
        let whole = self.arrays();
        let (fine, coarse) = (self.fine.cells(), self.fine.halved(self.axis).cells());
        (0..self.unknowns).map(move |unknown| {
            let weights = &whole.weights[2 * unknown * coarse..][..2 * coarse];
            let place = |cells: usize| unknown * cells..(unknown + 1) * cells;
            let arrays = TransferArrays { weights, ..whole };
            (arrays, place(fine), place(coarse))
        })
    }

    /// `coarse = P^T (q fine)`, `q` one number a row or ones.
    pub fn restrict<V: Vectors>(
        &self,
        q: Option<&Vector<V>>,
        fine: &Vector<V>,
        coarse: &mut Vector<V>,
    ) -> Result<()> {
        if restrict_at_once([*self].into_iter(), q, fine, coarse)? {
            return Ok(());
        }
        let q = q.map(Vector::host).transpose()?;
        let (fine, coarse) = (fine.host()?, coarse.host_mut()?);
        for (arrays, from, to) in self.parts() {
            let q = q.map(|q| &q[from.clone()]);
            let (fine, coarse) = (&fine[from], &mut coarse[to]);
            dispatch!(
                self.weights.executor(),
                stencil::restrict(arrays, q, fine, coarse)
            );
        }
        Ok(())
    }

    /// `fine = q P coarse`, or added to `fine`.
    pub fn prolong<V: Vectors>(
        &self,
        q: Option<&Vector<V>>,
        coarse: &Vector<V>,
        fine: &mut Vector<V>,
        add: bool,
    ) -> Result<()> {
        if prolong_at_once([*self].into_iter(), q, coarse, (&mut *fine, add))? {
            return Ok(());
        }
        let q = q.map(Vector::host).transpose()?;
        let (coarse, fine) = (coarse.host()?, fine.host_mut()?);
        for (arrays, to, from) in self.parts() {
            let q = q.map(|q| &q[to.clone()]);
            let (coarse, fine) = (&coarse[from], &mut fine[to]);
            dispatch!(
                self.weights.executor(),
                stencil::prolong(arrays, q, coarse, fine, add)
            );
        }
        Ok(())
    }
}

/// Interpolation along some axes on a device: x first, then y, then z.
struct DeviceTransfer<'a, W> {
    fine: Grid,
    /// The weights along each axis that is halved.
    weights: [Option<&'a Buffer<W>>; 3],
}

/// What `TRANSFER` of the kernels stands for.
type TransferParts<W, V> = (u32, u32, u32, u32, Read<W>, Read<W>, Read<W>, Read<V>);

impl<'a, W: Scalar> DeviceTransfer<'a, W> {
    fn new(transfers: impl Iterator<Item = TransferWeights<'a, W>>) -> Self {
        let (mut first, mut weights) = (None, [None; 3]);
        for transfer in transfers {
            first.get_or_insert(transfer.fine);
            weights[transfer.axis] = Some(transfer.weights);
        }
        let fine = first.expect("there is a transfer");
        Self { fine, weights }
    }

    fn defines<V: Scalar>(&self, gpu: &Gpu) -> Result<[Define; 5]> {
        gpu.real(W::KIND)?;
        gpu.real(V::KIND)?;
        let [x, y, z] = self.weights.map(|weights| weights.is_some());
        let pairs = x && self.fine.length().is_multiple_of(2);
        Ok([
            ("ACC", V::NAME),
            ("HALF_X", flag(x)),
            ("HALF_Y", flag(y)),
            ("HALF_Z", flag(z)),
            ("PAIRS", flag(pairs)),
        ])
    }

    fn parts<V: Scalar>(&self, cells: usize, q: Option<&Vector<V>>) -> Result<TransferParts<W, V>> {
        let [nx, ny, nz] = self.fine.size().map(|extent| extent as u32);
        let [x, y, z] = self.weights;
        let (x, y, z) = (x.pass()?, y.pass()?, z.pass()?);
        Ok((nx, ny, nz, cells as u32, x, y, z, q.pass()?))
    }
}

/// Restricts along several axes, the finest grid first; says whether the executor does that at once.
pub fn restrict_at_once<'a, W: Scalar, V: Vectors>(
    transfers: impl Iterator<Item = TransferWeights<'a, W>>,
    q: Option<&Vector<V>>,
    fine: &Vector<V>,
    coarse: &mut Vector<V>,
) -> Result<bool> {
    let Executor::Gpu(gpu) = fine.executor() else {
        return Ok(false);
    };
    let (transfer, cells) = (DeviceTransfer::new(transfers), coarse.rows());
    kernels::transfer_restrict::<W, V>(transfer.parts(cells, q)?, fine, coarse)?
        .with(&transfer.defines::<V>(gpu)?)
        .run(gpu, cells.div_ceil(BLOCK as usize))?;
    Ok(true)
}

/// Prolongs along several axes, the finest grid first; says whether the executor does that at once.
pub fn prolong_at_once<'a, W: Scalar, V: Vectors>(
    transfers: impl Iterator<Item = TransferWeights<'a, W>>,
    q: Option<&Vector<V>>,
    coarse: &Vector<V>,
    (fine, add): (&mut Vector<V>, bool),
) -> Result<bool> {
    let Executor::Gpu(gpu) = coarse.executor() else {
        return Ok(false);
    };
    let (transfer, cells) = (DeviceTransfer::new(transfers), coarse.rows());
    kernels::transfer_prolong::<W, V>(transfer.parts(cells, q)?, add, coarse, fine)?
        .with(&transfer.defines::<V>(gpu)?)
        .run(gpu, cells.div_ceil(BLOCK as usize))?;
    Ok(true)
}

/// The threads that go along planes, of which a grid has several, where the host has kernels for the types.
fn by_planes<M: Scalar, V: Vectors>(executor: &Executor, grid: Grid) -> Option<&Threads> {
    match executor {
        Executor::Cpu(threads) if grid.size()[2] > 1 && cpu::stencil::has_kernels::<M, V>() => {
            Some(threads)
        }
        _ => None,
    }
}

/// `coarse = P^T q (b - A x)`, plane by plane, so that no residual is stored; says whether the executor does that.
/// `swept` says that a sweep forward from zero has made `x`.
pub fn restrict_residual<'a, M: Scalar, V: Vectors>(
    a: StencilEntries<'a, M>,
    transfers: impl Iterator<Item = TransferWeights<'a, M>>,
    (q, b, x): (Option<&Vector<V>>, &Vector<V>, &Vector<V>),
    swept: bool,
    coarse: &mut Vector<V>,
    ws: &Workspace,
) -> Result<bool> {
    let Some(threads) = by_planes::<M, V>(a.values.executor(), a.grid) else {
        return Ok(false);
    };
    let axes = Axes::new(a.grid, transfers.map(|transfer| transfer.arrays()));
    let mut scratch = ws.vector::<V>(b.executor(), axes.scratch(a.unknowns), 1)?;
    let residual = Residual {
        a: a.arrays(),
        b: b.host()?,
        x: x.host()?,
        q: q.map(Vector::host).transpose()?,
        swept: swept.then_some(Direction::Forward),
    };
    let (coarse, scratch) = (coarse.host_mut()?, scratch.host_mut()?);
    cpu::stencil::restrict_residual(threads, residual, axes, coarse, scratch);
    Ok(true)
}

/// `x += q P coarse`, plane by plane; says whether the executor does that.
pub fn add_prolonged<'a, M: Scalar, V: Vectors>(
    (fine, unknowns): (Grid, usize),
    transfers: impl Iterator<Item = TransferWeights<'a, M>>,
    (q, coarse): (Option<&Vector<V>>, &Vector<V>),
    x: &mut Vector<V>,
    ws: &Workspace,
) -> Result<bool> {
    let executor = x.executor().clone();
    let Some(threads) = by_planes::<M, V>(&executor, fine) else {
        return Ok(false);
    };
    let axes = Axes::new(fine, transfers.map(|transfer| transfer.arrays()));
    let mut scratch = ws.vector::<V>(&executor, axes.scratch(unknowns), 1)?;
    let q = q.map(Vector::host).transpose()?;
    let correction = Correction::new(axes, q, coarse.host()?);
    let (x, scratch) = (x.host_mut()?, scratch.host_mut()?);
    cpu::stencil::add_prolonged(threads, correction, x, scratch);
    Ok(true)
}
