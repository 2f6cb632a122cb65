//! Products of a rank whose vectors are on a device.
//!
//! There the rows are not cut into interior and boundary ones but into own columns and those of other ranks: launches
//! cost more than another order of sums. Rows that others refer to are packed on the device and go through the host, or from
//! device to device; meanwhile the device multiplies with own columns, and what has come is added.

use super::exchange::Exchange;
use super::halo::Halo;
use crate::operations::Finish;
use crate::operations::csr as products;
use crate::operations::halo::{self, OtherColumns};
use crate::operations::parts;
use crate::prelude::*;

/// Where the entries of own rows stand on a device.
#[derive(Debug)]
pub(super) struct DeviceShape {
    /// Own columns.
    own: Arc<Pattern>,
    /// Rows with entries in other columns, where these begin, and which of the others they are.
    rows: Buffer<u32>,
    offsets: Buffer<usize>,
    columns: Buffer<u32>,
    /// Own rows that other ranks refer to, in the order they are sent.
    sent: Buffer<u32>,
}

/// The values of both parts.
#[derive(Debug)]
pub(super) struct DeviceSplit<T> {
    own: Csr<T>,
    others: Buffer<T>,
}

impl DeviceShape {
    /// Of rows that are on the device, whose columns are those of a halo.
    pub fn new(local: &Pattern, halo: &Halo, device: &Executor) -> Result<Self> {
        let sent = Buffer::from_vec(device, halo.sent_rows().to_vec());
        let found = parts::split(local, &halo.own(), device)?;
        let found = found.expect("the rows are on the device");
        Ok(Self {
            own: Arc::new(found.own),
            rows: found.rows,
            offsets: found.offsets,
            columns: found.columns,
            sent,
        })
    }

    /// Rows with entries in other columns, where these begin, and which of the others they are.
    pub fn others(&self) -> Result<(&[u32], &[usize], &[u32])> {
        Ok((
            self.rows.host()?,
            self.offsets.host()?,
            self.columns.host()?,
        ))
    }
}

impl<T: Scalar> DeviceSplit<T> {
    pub fn new(local: &Csr<T>, halo: &Halo, shape: &DeviceShape) -> Result<Self> {
        let found = parts::split_values(local, &halo.own(), &shape.own)?;
        let [own, others] = found.expect("the rows are on the device");
        Ok(Self {
            own: Csr::of_buffers(&shape.own, own),
            others,
        })
    }

    /// Brings it to the device.
    pub fn prepare(&self) -> Result<()> {
        products::prepare(&self.own)
    }

    pub fn bytes(&self) -> usize {
        self.own.bytes() + self.others.bytes()
    }
}

/// The product and what becomes of it.
pub(super) fn multiply<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    (device, messages): (&Executor, &Exchange),
    (shape, split): (&DeviceShape, &DeviceSplit<M>),
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    let cols = x.cols();
    let mut pack = |address| halo::pack(&shape.sent, x, address);
    let mut of_own = || products::multiply(&split.own, x, finish, y);
    let there = messages.run_on_device::<X>(device, cols, &mut pack, ws, &mut of_own)?;
    if shape.columns.is_empty() {
        return Ok(());
    }
    let columns = OtherColumns {
        rows: &shape.rows,
        offsets: &shape.offsets,
        columns: &shape.columns,
        values: &split.others,
    };
    halo::add(&columns, &there, finish, y)
}
