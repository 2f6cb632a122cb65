//! Products with matrices that ranks share.

use std::borrow::Cow;

use vcycle_kernels::compiled;

use super::Distributed;
use super::on_device::{self, DeviceShape, DeviceSplit};
use super::split::{Shape, Split};
use crate::arrays::{Csr, Sweep};
use crate::error::Result;
use crate::executor::Executor;
use crate::linop::{Footprint, LinOp, Size, Transpose, check_apply};
use crate::operations::Finish;
use crate::operations::csr as operations;
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};
use crate::workspace::{Scratch, Workspace};

impl<T: Scalar> Distributed<T> {
    fn host_parts(&self) -> &Split<T> {
        let split = || Split::new(&self.local, self.shape());
        self.parts.host.get_or_init(split)
    }

    fn device_parts(&self) -> Result<&DeviceSplit<T>> {
        if let Some(known) = self.parts.device.get() {
            return Ok(known);
        }
        let there = self.with_rows_there()?;
        let made = DeviceSplit::new(&there, there.device_shape()?)?;
        Ok(self.parts.device.get_or_init(|| made))
    }

    fn shape(&self) -> &Shape {
        self.shapes.host.get_or_init(|| Shape::new(self))
    }

    pub(super) fn device_shape(&self) -> Result<&DeviceShape> {
        if let Some(known) = self.shapes.device.get() {
            return Ok(known);
        }
        let made = DeviceShape::new(&self.with_rows_there()?)?;
        Ok(self.shapes.device.get_or_init(|| made))
    }

    /// Makes what products take, so that the first one does not wait for it.
    ///
    /// # Errors
    /// When a device has no room for it.
    pub fn prepare(&self) -> Result<()> {
        match self.executor.is_device() {
            false => {
                self.host_parts();
                Ok(())
            }
            true => self.device_parts()?.prepare(),
        }
    }

    /// The product and what becomes of it.
    fn multiply<X: Scalar, Y: Scalar>(
        &self,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        compiled!(products T, X, Y: fn(&Distributed<T>, &Vector<X>, &Finish<'_, Y>, &mut Vector<Y>, &Workspace) -> Result<()>
            = multiply_shared)(self, x, finish, y, ws)
    }
}

fn multiply_shared<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Distributed<M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    match a.executor().is_device() {
        false => multiply_here(a, a.host_parts(), x, finish, y, ws),
        true => {
            let split = a.device_parts()?;
            on_device::multiply(a, (a.device_shape()?, split), x, finish, y, ws)
        }
    }
}

/// The interior rows while the values of other ranks travel, then the boundary rows.
fn multiply_here<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Distributed<M>,
    split: &Split<M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    let (shape, halo, cols) = (a.shape(), a.columns(), x.cols());
    let alone = a.local().executor();
    let mut near = ws.vector::<X>(alone, split.boundary.size().cols, cols)?;
    let mut result = ws.vector::<Y>(alone, shape.rows.len(), cols)?;
    let parts = Parts::gather(&shape.rows, finish, alone, cols, ws)?;
    let (own, others) = near.host_mut()?.split_at_mut(shape.gathered.len() * cols);
    gather(&shape.gathered, x.host()?, own, cols);
    gather(&shape.rows, y.host()?, result.host_mut()?, cols);
    halo.exchange(cols, x.host()?, others, &mut || {
        operations::multiply(&split.interior, x, finish, y)
    })?;
    if shape.rows.is_empty() {
        return Ok(());
    }
    let finish = parts.finish(finish);
    operations::multiply(&split.boundary, &near, &finish, &mut result)?;
    let (result, y) = (result.host()?, y.host_mut()?);
    for (&row, values) in shape.rows.iter().zip(result.chunks_exact(cols)) {
        let first = row as usize * cols;
        y[first..first + cols].copy_from_slice(values);
    }
    Ok(())
}

/// Copies rows of a vector one after the other.
fn gather<T: Copy>(rows: &[u32], from: &[T], to: &mut [T], cols: usize) {
    for (&row, values) in rows.iter().zip(to.chunks_exact_mut(cols)) {
        let first = row as usize * cols;
        values.copy_from_slice(&from[first..first + cols]);
    }
}

/// What a product adds and multiplies by, at the rows of the boundary.
struct Parts<'w, Y: Scalar> {
    b: Option<Scratch<'w, Vector<Y>>>,
    d: Option<Scratch<'w, Vector<Y>>>,
}

impl<'w, Y: Scalar> Parts<'w, Y> {
    fn gather(
        rows: &[u32],
        finish: &Finish<'_, Y>,
        executor: &Executor,
        cols: usize,
        ws: &'w Workspace,
    ) -> Result<Self> {
        let (b, d) = match finish {
            Finish::Apply => (None, None),
            Finish::Combine { z, .. } => (*z, None),
            Finish::Relax(sweep) => (Some(sweep.b), Some(sweep.d)),
        };
        let taken = |v: Option<&Vector<Y>>, cols: usize| -> Result<_> {
            match v {
                None => Ok(None),
                Some(v) => {
                    let mut part = ws.vector::<Y>(executor, rows.len(), cols)?;
                    gather(rows, v.host()?, part.host_mut()?, cols);
                    Ok(Some(part))
                }
            }
        };
        let (b, d) = (taken(b, cols)?, taken(d, 1)?);
        Ok(Self { b, d })
    }

    /// The same end of a product, for the rows of the boundary.
    fn finish<'a>(&'a self, finish: &Finish<'a, Y>) -> Finish<'a, Y> {
        match (finish, &self.b, &self.d) {
            (Finish::Combine { alpha, beta, z }, b, _) => Finish::Combine {
                alpha: *alpha,
                beta: *beta,
                z: z.and(b.as_deref()),
            },
            (Finish::Relax(sweep), Some(b), Some(d)) => Finish::Relax(Sweep { b, d, ..*sweep }),
            _ => Finish::Apply,
        }
    }
}

impl<M, X, Y> LinOp<X, Y> for Distributed<M>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    fn size(&self) -> Size {
        self.size()
    }

    fn executor(&self) -> &Executor {
        self.executor()
    }

    fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, ws: &Workspace) -> Result<()> {
        check_apply("distributed product", self.size(), self.executor(), x, y)?;
        self.multiply(x, &Finish::Apply, y, ws)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, Y>,
        x: &Vector<X>,
        beta: Coefficient<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("distributed product", self.size(), self.executor(), x, y)?;
        let z = None;
        self.multiply(x, &Finish::Combine { alpha, beta, z }, y, ws)
    }

    fn residual(
        &self,
        b: &Vector<Y>,
        x: &Vector<X>,
        r: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("distributed residual", self.size(), self.executor(), x, r)?;
        check_apply("distributed residual", self.size(), self.executor(), x, b)?;
        self.multiply(x, &Finish::residual(b), r, ws)
    }

    fn relax(
        &self,
        sweep: Sweep<'_, Y>,
        x: &Vector<X>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()>
    where
        Y: Mixes<Y, Y>,
    {
        sweep.check(self.size(), x, y)?;
        self.multiply(x, &Finish::Relax(sweep), y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<Y>,
        y: &mut Vector<X>,
        ws: &Workspace,
    ) -> Result<()> {
        let size = self.size().transposed();
        check_apply(
            "transposed distributed product",
            size,
            self.executor(),
            x,
            y,
        )?;
        compiled!(products M, Y, X: fn(&Distributed<M>, Transpose, &Vector<Y>, &mut Vector<X>, &Workspace) -> Result<()>
            = transposed_shared)(self, mode, x, y, ws)
    }

    fn rows_here(&self) -> Option<(Cow<'_, Csr<X>>, usize)> {
        let first = self.columns().own().start;
        if let Some(same) = (self.local().as_ref() as &dyn std::any::Any).downcast_ref::<Csr<X>>() {
            return Some((Cow::Borrowed(same), first));
        }
        let converted = self.local().convert().ok()?;
        Some((Cow::Owned(converted), first))
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.bytes(),
            moved: self.local().bytes(),
        }
    }
}

/// `y = A^T x`: what own rows add to the columns of other ranks is sent there. Ranks with a device do it on the host.
fn transposed_shared<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Distributed<M>,
    mode: Transpose,
    x: &Vector<X>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    if a.executor().is_device() {
        let host = a.executor().on_host();
        let mut there = ws.vector::<Y>(&host, y.rows(), y.cols())?;
        transposed_shared(&a.on(&host)?, mode, &x.copy_to(&host)?, &mut there, ws)?;
        return y.write(there.host()?);
    }
    let (halo, cols) = (a.columns(), x.cols());
    let mut all = ws.vector::<Y>(a.local().executor(), halo.len(), cols)?;
    operations::multiply_transposed(a.local(), mode, x, &mut all, ws)?;
    let (all, y, own) = (all.host()?, y.host_mut()?, halo.own());
    y.copy_from_slice(&all[own.start * cols..own.end * cols]);
    let others = [&all[..own.start * cols], &all[own.end * cols..]].concat();
    halo.collect(cols, &others, &mut |row, values| {
        for (sum, &value) in y[row * cols..].iter_mut().zip(values) {
            *sum = Y::store(sum.load() + value.load());
        }
    })
}
