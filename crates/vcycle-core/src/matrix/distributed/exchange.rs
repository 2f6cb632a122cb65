//! Messages between ranks: how many items go to which of them, and how many come from which.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use vcycle_gpu::Address;

use super::partition::Partition;
use crate::communicator::{Communicator, Messages, Span};
use crate::gpu::MessageBuffer;
use crate::launch::prelude::*;
use crate::operations::halo;
use crate::scalar::{bytes, bytes_mut};

/// Ranks, each with a number of items. The items of one rank lie behind those of the rank before it.
pub(super) type Counts = Vec<(usize, usize)>;

/// An exchange of items (rows or cells) that can be repeated with items of any size.
#[derive(Debug)]
pub(super) struct Exchange {
    team: Arc<dyn Communicator>,
    sent: Counts,
    received: Counts,
    /// Buffers of recorded exchanges, by the address of the device's handle and the bytes of an item.
    buffers: Mutex<HashMap<(usize, usize), Arc<MessageBuffer>>>,
}

/// What is done meanwhile where there is nothing to do.
pub(super) fn nothing() -> Result<()> {
    Ok(())
}

fn total(counts: &Counts) -> usize {
    counts.iter().map(|(_, items)| items).sum()
}

impl Exchange {
    pub fn new(team: &Arc<dyn Communicator>, mut sent: Counts, mut received: Counts) -> Self {
        sent.retain(|&(_, items)| items > 0);
        received.retain(|&(_, items)| items > 0);
        Self {
            team: Arc::clone(team),
            sent,
            received,
            buffers: Mutex::default(),
        }
    }

    /// From all other ranks to rank 0, so many items of each.
    pub fn to_first(team: &Arc<dyn Communicator>, items: impl Fn(usize) -> usize) -> Self {
        let counted = |rank: usize| (rank, items(rank));
        match team.rank() {
            0 => Self::new(team, Vec::new(), (1..team.size()).map(counted).collect()),
            own => Self::new(team, vec![(0, items(own))], Vec::new()),
        }
    }

    /// [`to_first`](Self::to_first) of rows.
    pub fn rows_to_first(team: &Arc<dyn Communicator>, rows: &Partition) -> Self {
        Self::to_first(team, |rank| rows.count(rank))
    }

    /// The other way round.
    pub fn reversed(&self) -> Self {
        Self::new(&self.team, self.received.clone(), self.sent.clone())
    }

    pub fn team(&self) -> &Arc<dyn Communicator> {
        &self.team
    }

    /// Ranks this one sends to, with the items for each.
    pub fn sent(&self) -> &Counts {
        &self.sent
    }

    /// Ranks this one receives from, with the items of each.
    pub fn received(&self) -> &Counts {
        &self.received
    }

    pub fn sent_count(&self) -> usize {
        total(&self.sent)
    }

    pub fn received_count(&self) -> usize {
        total(&self.received)
    }

    /// Sends and receives items of `width` bytes; `meanwhile` is called while they travel.
    pub fn run(
        &self,
        width: usize,
        packed: &[u8],
        arrived: &mut [u8],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let (mut rest, mut messages) = (packed, Messages::default());
        for &(rank, items) in &self.sent {
            let (part, more) = rest.split_at(items * width);
            messages.sent.push((rank, part));
            rest = more;
        }
        let mut rest = arrived;
        for &(rank, items) in &self.received {
            let (part, more) = rest.split_at_mut(items * width);
            messages.received.push((rank, part));
            rest = more;
        }
        self.team.exchange(&mut messages, meanwhile)
    }

    /// The same for items of `cols` numbers on a device: from device to device, through the host, or, while work is recorded,
    /// as a part of it. `pack` writes what is sent to an address; what has arrived is returned.
    pub fn run_on_device<'w, W: Scalar>(
        &self,
        device: &Executor,
        cols: usize,
        pack: &mut dyn FnMut(Address) -> Result<()>,
        ws: &'w Workspace,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Scratch<'w, Vector<W>>> {
        let (width, sent) = (cols * size_of::<W>(), self.sent_count());
        let mut packed = ws.vector::<W>(device, sent, cols)?;
        let mut arrived = ws.vector::<W>(device, self.received_count(), cols)?;
        if sent == 0 && arrived.rows() == 0 {
            return meanwhile().map(|()| arrived);
        }
        if let Some(gpu) = device.recording_rank() {
            let mut write = |buffer: &MessageBuffer| match buffer.block().address() {
                _ if sent == 0 => Ok(()),
                Some(address) => pack(address),
                None => {
                    pack(packed.device_mut()?)?;
                    halo::write(gpu, buffer, 0, &[(packed.device()?, packed.bytes())])
                }
            };
            self.record(gpu, width, &mut write, arrived.device_mut()?, meanwhile)?;
            return Ok(arrived);
        }
        if sent > 0 {
            pack(packed.device_mut()?)?;
        }
        if device.sends_memory() {
            let sent = spans(&self.sent, width, packed.device_mut()?);
            let received = spans(&self.received, width, arrived.device_mut()?);
            // What is sent is packed then, and nothing queued reads what is received any more.
            device.synchronize()?;
            // SAFETY: both vectors are as long as what travels, belong to nobody else, and stay until all has arrived;
            // what is queued meanwhile knows neither.
            unsafe { self.team.exchange_spans(&sent, &received, meanwhile) }?;
            return Ok(arrived);
        }
        let host = device.on_host().alone();
        let mut from = ws.vector::<W>(&host, packed.rows(), cols)?;
        let mut to = ws.vector::<W>(&host, arrived.rows(), cols)?;
        if sent > 0 {
            packed.read(from.host_mut()?)?;
        }
        let (from, to_bytes) = (bytes(from.host()?), bytes_mut(to.host_mut()?));
        self.run(width, from, to_bytes, meanwhile)?;
        if arrived.rows() > 0 {
            arrived.write(to.host()?)?;
        }
        Ok(arrived)
    }

    /// Queues an exchange of items of `width` bytes that is repeated whenever the recorded work is: `write` queues that what is
    /// sent is written to the message buffer; what has arrived is copied to an address.
    pub fn record(
        &self,
        gpu: &Gpu,
        width: usize,
        write: &mut dyn FnMut(&MessageBuffer) -> Result<()>,
        arrived: Address,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let (sent, received) = (self.sent_count() * width, self.received_count() * width);
        if sent == 0 && received == 0 {
            return meanwhile();
        }
        let buffer = self.buffer(gpu, width)?;
        write(&buffer)?;
        buffer.begin()?;
        meanwhile()?;
        buffer.end()?;
        match received {
            0 => Ok(()),
            _ => halo::read(gpu, &buffer, sent, &[(arrived, received)]),
        }
    }

    /// The buffer of a recorded exchange: first what is sent, then what is received.
    fn buffer(&self, gpu: &Gpu, width: usize) -> Result<Arc<MessageBuffer>> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::as_ptr(gpu.device()) as usize, width);
        if let Some(known) = buffers.get(&key) {
            return Ok(Arc::clone(known));
        }
        let sent = self.sent_count() * width;
        let same = Self::new(&self.team, self.sent.clone(), self.received.clone());
        let callbacks = gpu.callbacks().expect("a rank that records has them");
        let all = sent + self.received_count() * width;
        let made = callbacks.buffer(all, move |bytes| {
            let (sent, received) = bytes.split_at_mut(sent);
            same.run(width, sent, received, &mut nothing)
        })?;
        let made = Arc::new(made);
        buffers.insert(key, Arc::clone(&made));
        Ok(made)
    }
}

/// The messages that lie one behind the other at an address, so many bytes an item.
fn spans(counts: &Counts, width: usize, mut address: Address) -> Vec<Span> {
    let span = |&(rank, items): &(usize, usize)| {
        let (bytes, at) = (items * width, address);
        address += bytes as Address;
        Span {
            rank,
            address: at,
            bytes,
        }
    };
    counts.iter().map(span).collect()
}
