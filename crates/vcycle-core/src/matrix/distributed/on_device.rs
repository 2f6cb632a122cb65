//! Products of a rank whose vectors are on a device.
//!
//! There the rows are not cut into interior and boundary ones but into own columns and those of other ranks: launches
//! cost more than another order of sums. Rows that others refer to are packed on the device and go through the host, or from
//! device to device; meanwhile the device multiplies with own columns, and what has come is added.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Distributed, Halo};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::{Courier, Gpu, Letter};
use crate::matrix::Csr;
use crate::operations::Finish;
use crate::operations::csr as products;
use crate::operations::halo::{self, OtherColumns};
use crate::operations::parts;
use crate::scalar::{Mixes, Scalar};
use crate::vector::Vector;
use crate::workspace::{Scratch, Workspace};

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
    /// What recorded products send, by the bytes of a row.
    letters: Mutex<HashMap<usize, Arc<Letter>>>,
}

/// The values of both parts.
#[derive(Debug)]
pub(super) struct DeviceSplit<T> {
    own: Csr<T>,
    others: Buffer<T>,
}

impl DeviceShape {
    /// Of a matrix whose rows are on the device.
    pub fn new<T: Scalar>(a: &Distributed<T>) -> Result<Self> {
        let (halo, device) = (a.columns(), a.executor());
        let sent = Buffer::from_vec(device, halo.sent_rows().collect());
        let found = parts::split(a.local().pattern(), &halo.own(), device)?;
        let found = found.expect("the rows are on the device");
        Ok(Self {
            own: Arc::new(found.own),
            rows: found.rows,
            offsets: found.offsets,
            columns: found.columns,
            sent,
            letters: Mutex::default(),
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

    /// The letter with the rows of `width` bytes that travel: first those that are sent, then those of other ranks.
    fn letter(&self, courier: &Courier, halo: &Arc<Halo>, width: usize) -> Result<Arc<Letter>> {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = letters.get(&width) {
            return Ok(Arc::clone(known));
        }
        let (sent, others) = (self.sent.len() * width, halo.others().len() * width);
        let halo = Arc::clone(halo);
        let letter = courier.letter(sent + others, move |bytes| {
            let (sent, others) = bytes.split_at_mut(sent);
            halo.exchange_packed(width, sent, others, &mut || Ok(()))
        })?;
        let letter = Arc::new(letter);
        letters.insert(width, Arc::clone(&letter));
        Ok(letter)
    }
}

impl<T: Scalar> DeviceSplit<T> {
    pub fn new(a: &Distributed<T>, shape: &DeviceShape) -> Result<Self> {
        let own = a.columns().own();
        let found = parts::split_values(a.local(), &own, &shape.own)?;
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
    a: &Distributed<M>,
    (shape, split): (&DeviceShape, &DeviceSplit<M>),
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    let (halo, cols) = (a.columns(), x.cols());
    let (device, host): (&Executor, Executor) = (a.executor(), a.executor().alone());
    let others = halo.others().len();
    if device.sends_memory() {
        let there = exchanged(a, shape, x, ws, &mut || {
            products::multiply(&split.own, x, finish, y)
        })?;
        return added(shape, split, &there, finish, y);
    }
    if let Some(courier) = device.recording_rank().and_then(Gpu::courier) {
        return queued(a, (shape, split), x, finish, y, ws, courier);
    }
    let mut sent = ws.vector::<X>(&host, shape.sent.len(), cols)?;
    let mut received = ws.vector::<X>(&host, others, cols)?;
    if !shape.sent.is_empty() {
        let mut packed = ws.vector::<X>(device, shape.sent.len(), cols)?;
        halo::pack(&shape.sent, x, &mut packed)?;
        packed.read(sent.host_mut()?)?;
    }
    halo.exchange_packed(cols, sent.host()?, received.host_mut()?, &mut || {
        products::multiply(&split.own, x, finish, y)
    })?;
    if others == 0 {
        return Ok(());
    }
    let mut there = ws.vector::<X>(device, others, cols)?;
    there.write(received.host()?)?;
    added(shape, split, &there, finish, y)
}

/// The same while work is recorded: messages become a part of it.
fn queued<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Distributed<M>,
    (shape, split): (&DeviceShape, &DeviceSplit<M>),
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
    courier: &Courier,
) -> Result<()> {
    let (halo, device, cols) = (a.columns(), a.executor(), x.cols());
    let others = halo.others().len();
    if shape.sent.is_empty() && others == 0 {
        return products::multiply(&split.own, x, finish, y);
    }
    let width = cols * size_of::<X>();
    let letter = shape.letter(courier, halo, width)?;
    if !shape.sent.is_empty() {
        let mut packed = ws.vector::<X>(device, shape.sent.len(), cols)?;
        halo::pack_letter(&shape.sent, x, &mut packed, &letter)?;
    }
    letter.begin()?;
    products::multiply(&split.own, x, finish, y)?;
    letter.end()?;
    if others == 0 {
        return Ok(());
    }
    let mut there = ws.vector::<X>(device, others, cols)?;
    halo::read_letter(&letter, shape.sent.len() * width, &mut there)?;
    added(shape, split, &there, finish, y)
}

/// The rows of other ranks, sent from device to device.
fn exchanged<'w, M: Scalar, X: Scalar>(
    a: &Distributed<M>,
    shape: &DeviceShape,
    x: &Vector<X>,
    ws: &'w Workspace,
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<Scratch<'w, Vector<X>>> {
    let (halo, device, cols) = (a.columns(), a.executor(), x.cols());
    let mut packed = ws.vector::<X>(device, shape.sent.len(), cols)?;
    let mut there = ws.vector::<X>(device, halo.others().len(), cols)?;
    if !shape.sent.is_empty() {
        halo::pack(&shape.sent, x, &mut packed)?;
    }
    let memory = (packed.device_mut()?, there.device_mut()?);
    // What is to be sent is packed then, and nothing queued reads what is received any more.
    device.synchronize()?;
    // SAFETY: both vectors are as long as the rows that travel, belong to nobody else, and stay until all have arrived; what
    // is queued meanwhile knows neither.
    unsafe { halo.exchange_there(cols * size_of::<X>(), memory, meanwhile) }?;
    Ok(there)
}

/// Adds the entries in columns of other ranks to a product with own columns.
fn added<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    shape: &DeviceShape,
    split: &DeviceSplit<M>,
    there: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    if shape.columns.is_empty() {
        return Ok(());
    }
    let columns = OtherColumns {
        rows: &shape.rows,
        offsets: &shape.offsets,
        columns: &shape.columns,
        values: &split.others,
    };
    halo::add(&columns, there, finish, y)
}
