//! Products with matrices that ranks share.

use std::borrow::Cow;

use vcycle_kernels::compiled;

use super::Distributed;
use super::halo::Halo;
use super::on_device::{self, DeviceShape, DeviceSplit};
use super::split::{Shape, Split};
use crate::arrays::Sweep;
use crate::linop::{Footprint, LinOp, Transpose, check_apply};
use crate::matrix::csr::copy_rows;
use crate::matrix::finished::{check, finished_products};
use crate::operations::Finish;
use crate::operations::csr as operations;
use crate::prelude::*;
use crate::scalar::{bytes, bytes_mut};

impl<T: Scalar> Distributed<T> {
    fn host_parts(&self) -> &Split<T> {
        let split = || Split::new(&self.local, self.shape());
        self.parts.host.get_or_init(split)
    }

    fn device_parts(&self) -> Result<&DeviceSplit<T>> {
        kept(&self.parts.device, || {
            let there = self.with_rows_there()?;
            DeviceSplit::new(&there.local, &self.columns, there.device_shape()?)
        })
    }

    fn shape(&self) -> &Shape {
        self.shapes.host.get_or_init(|| {
            let is_square = Arc::ptr_eq(&self.rows, self.columns.partition());
            let alone = self.executor.alone();
            Shape::new(self.local.pattern(), &self.columns, is_square, &alone)
        })
    }

    pub(super) fn device_shape(&self) -> Result<&DeviceShape> {
        kept(&self.shapes.device, || {
            let there = self.with_rows_there()?;
            DeviceShape::new(there.local.pattern(), &self.columns, &self.executor)
        })
    }

    /// Makes what products take, so that the first one does not wait for it.
    pub fn prepare(&self) -> Result<()> {
        compiled!(any T: fn(&Distributed<T>) -> Result<()> = |a| match a.executor.is_device() {
            false => {
                a.host_parts();
                Ok(())
            }
            true => a.device_parts()?.prepare(),
        })(self)
    }

    /// The product and what becomes of it.
    fn finished<X: Scalar, Y: Scalar>(
        &self,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        let place = (self.size(), self.executor());
        check("distributed product", place, x, finish, y)?;
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
            let (split, messages) = (a.device_parts()?, a.columns().messages());
            let parts = (a.device_shape()?, split);
            on_device::multiply((a.executor(), messages), parts, x, finish, y, ws)
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
    let (shape, alone, cols) = (a.shape(), a.local().executor(), x.cols());
    let mut near = ws.vector::<X>(alone, split.boundary.size().cols, cols)?;
    let boundary = Boundary::gather(&shape.rows, finish, y, alone, ws)?;
    let (from, to) = (bytes(x.host()?), bytes_mut(near.host_mut()?));
    exchange_near(
        a.columns(),
        &shape.gathered,
        cols * size_of::<X>(),
        from,
        to,
        &mut || operations::multiply(&split.interior, x, finish, y),
    )?;
    boundary.finish(finish, y, &|finish, result| {
        operations::multiply(&split.boundary, &near, finish, result)
    })
}

/// Brings what boundary rows are multiplied with together, in rows of `width` bytes: own rows, then those of other ranks.
fn exchange_near(
    halo: &Halo,
    gathered: &[u32],
    width: usize,
    from: &[u8],
    to: &mut [u8],
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (own, others) = to.split_at_mut(gathered.len() * width);
    gather(gathered, from, own, width);
    halo.exchange(width, from, others, meanwhile)
}

/// Copies rows of a vector one after the other.
fn gather<T: Copy>(rows: &[u32], from: &[T], to: &mut [T], cols: usize) {
    let pairs = rows.iter().map(|&row| row as usize).enumerate();
    copy_rows(pairs, cols, from, to);
}

/// A product into a vector, and what becomes of it.
type Multiply<'a, Y> = &'a dyn Fn(&Finish<'_, Y>, &mut Vector<Y>) -> Result<()>;

/// The rows of the boundary of what a product writes, adds and multiplies by.
struct Boundary<'w, Y: Scalar> {
    rows: &'w [u32],
    y: Scratch<'w, Vector<Y>>,
    b: Option<Scratch<'w, Vector<Y>>>,
    d: Option<Scratch<'w, Vector<Y>>>,
}

impl<'w, Y: Scalar> Boundary<'w, Y> {
    fn gather(
        rows: &'w [u32],
        finish: &Finish<'_, Y>,
        y: &Vector<Y>,
        executor: &Executor,
        ws: &'w Workspace,
    ) -> Result<Self> {
        let (b, d) = match finish {
            Finish::Apply => (None, None),
            Finish::Combine { z, .. } => (*z, None),
            Finish::Relax(sweep) => (Some(sweep.b), Some(sweep.d)),
        };
        let taken = |v: &Vector<Y>| -> Result<_> {
            let mut part = ws.vector::<Y>(executor, rows.len(), v.cols())?;
            gather(rows, v.host()?, part.host_mut()?, v.cols());
            Ok(part)
        };
        Ok(Self {
            rows,
            y: taken(y)?,
            b: b.map(taken).transpose()?,
            d: d.map(taken).transpose()?,
        })
    }

    /// Writes what a product of these rows makes of them.
    fn finish(
        mut self,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
        multiply: Multiply<'_, Y>,
    ) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let finish = match (finish, &self.b, &self.d) {
            (Finish::Combine { alpha, beta, z }, b, _) => Finish::Combine {
                alpha: *alpha,
                beta: *beta,
                z: z.and(b.as_deref()),
            },
            (Finish::Relax(sweep), Some(b), Some(d)) => Finish::Relax(Sweep { b, d, ..*sweep }),
            _ => Finish::Apply,
        };
        multiply(&finish, &mut self.y)?;
        let pairs = self.rows.iter().map(|&row| row as usize).zip(0..);
        copy_rows(pairs, y.cols(), self.y.host()?, y.host_mut()?);
        Ok(())
    }
}

impl<M: Scalar> Distributed<M> {
    /// The matrix as an operator on vectors of any types. The functions of the operator are compiled here.
    #[doc(hidden)]
    pub fn operator<X: Scalar, Y: Scalar>(self: Arc<Self>) -> Arc<dyn LinOp<X, Y>>
    where
        M: Mixes<X, Y> + Mixes<Y, X>,
    {
        compiled!(products M, X, Y: fn(Arc<Distributed<M>>) -> Arc<dyn LinOp<X, Y>> = |a| a)(self)
    }
}

impl<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar> LinOp<X, Y> for Distributed<M> {
    finished_products!(X, Y, relax);

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
        Footprint::new(self.bytes(), self.local().bytes())
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
    let cols = x.cols();
    let mut all = ws.vector::<Y>(a.local().executor(), a.columns().len(), cols)?;
    operations::multiply_transposed(a.local(), mode, x, &mut all, ws)?;
    add_of_others(a.columns(), all.host()?, y.host_mut()?, cols)
}

/// The numbers that this rank has for own rows, and those that other ranks have for them.
fn add_of_others<Y: Scalar>(halo: &Halo, all: &[Y], y: &mut [Y], cols: usize) -> Result<()> {
    let own = halo.own();
    y.copy_from_slice(&all[own.start * cols..own.end * cols]);
    let others = [&all[..own.start * cols], &all[own.end * cols..]].concat();
    halo.collect(cols, &others, &mut |row, values| {
        for (sum, &value) in y[row * cols..].iter_mut().zip(values) {
            *sum = Y::store(sum.load() + value.load());
        }
    })
}
