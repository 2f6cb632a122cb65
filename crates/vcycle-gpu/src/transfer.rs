//! Copies to a device, from it and within it.

use std::{slice, thread};

use crate::counters::add;
use crate::device::Device;
use crate::memory::Memory;
use crate::pool::Staging;
use crate::prelude::*;

/// Bytes that travel at a time through pinned memory. To pin twice as many takes 8 ms more on an H200, and saves less of what most matrices take.
const STAGE: usize = 8 << 20;

/// Bytes that are worth a thread of their own.
const SHARE: usize = 1 << 20;

/// As many threads as are worth being started.
const THREADS: usize = 8;

/// Copies within the host. One thread moves a tenth of the bytes that travel to a device in the same time.
fn copy_by_threads(to: &mut [u8], from: &[u8]) {
    let worth = (from.len() / SHARE).min(THREADS);
    if worth < 2 {
        // The system answers how many threads there are more slowly than it copies little.
        return to.copy_from_slice(from);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(worth);
    let share = from.len().div_ceil(threads).max(1);
    let mut parts = to.chunks_mut(share).zip(from.chunks(share));
    let Some((mine, of_mine)) = parts.next() else {
        return;
    };
    thread::scope(|scope| {
        for (to, from) in parts {
            scope.spawn(|| to.copy_from_slice(from));
        }
        mine.copy_from_slice(of_mine);
    });
}

impl Device {
    /// Copies from the host; `from` may change as soon as this returns.
    pub fn upload(&self, to: &Memory, from: &[u8]) -> Result<()> {
        self.upload_part(to, 0, from)
    }

    /// The same from byte `first` of the memory on.
    pub fn upload_part(&self, to: &Memory, first: usize, from: &[u8]) -> Result<()> {
        assert!(
            first + from.len() <= to.bytes(),
            "more bytes than the memory has"
        );
        self.check_recording("copies from the host")?;
        add(&self.counters.uploaded, from.len());
        let to = self.place(to) + first as u64;
        let mut staging = lock(&self.staging);
        let blocks = self.staging(&mut staging)?;
        let mut events = [None, None];
        for (number, part) in from.chunks(STAGE).enumerate() {
            let turn = number % 2;
            self.finish(events[turn].take())?;
            let to = to + (number * STAGE) as u64;
            // SAFETY: the block is pinned, as large as a part, and no copy uses it any more.
            unsafe {
                copy_by_threads(slice::from_raw_parts_mut(blocks[turn], part.len()), part);
                self.driver().upload(to, blocks[turn], part.len())?;
            }
            events[turn] = Some(self.mark()?);
        }
        events.into_iter().try_for_each(|event| self.finish(event))
    }

    /// Copies to the host, waiting for what was queued before.
    pub fn download(&self, to: &mut [u8], from: &Memory) -> Result<()> {
        self.download_part(to, from, 0)
    }

    /// Copies what stands from byte `first` on to the host, waiting for what was queued before.
    pub fn download_part(&self, to: &mut [u8], from: &Memory, first: usize) -> Result<()> {
        assert!(
            first + to.len() <= from.bytes(),
            "more bytes than the memory has"
        );
        self.check_recording("waiting")?;
        add(&self.counters.downloaded, to.len());
        add(&self.counters.synchronizations, 1);
        let from = self.place(from) + first as u64;
        let mut staging = lock(&self.staging);
        let [block, _] = self.staging(&mut staging)?;
        for (number, part) in to.chunks_mut(STAGE).enumerate() {
            let from = from + (number * STAGE) as u64;
            // SAFETY: the block is pinned and as large as a part; the copy is done when it is read.
            unsafe {
                self.driver().download(block, from, part.len())?;
                self.finish(Some(self.mark()?))?;
                copy_by_threads(part, slice::from_raw_parts(block, part.len()));
            }
        }
        Ok(())
    }

    fn staging(&self, staging: &mut Option<Staging>) -> Result<[*mut u8; 2]> {
        if let Some(staging) = staging {
            return Ok(staging.blocks);
        }
        let first = self.driver().allocate_pinned(STAGE)?;
        let second = self.driver().allocate_pinned(STAGE)?;
        let blocks = [first, second];
        *staging = Some(Staging { blocks });
        Ok(blocks)
    }

    /// Waits for an event and forgets it.
    pub(crate) fn finish(&self, event: Option<Handle>) -> Result<()> {
        let Some(event) = event else { return Ok(()) };
        let waited = self.driver().wait(event);
        self.driver().free_event(event);
        waited
    }

    /// Queues a copy within the device.
    pub fn copy(&self, to: &Memory, from: &Memory, bytes: usize) -> Result<()> {
        assert!(
            bytes <= to.bytes().min(from.bytes()),
            "more bytes than the memory has"
        );
        let (to, from) = (self.place(to), self.place(from));
        self.driver().copy(to, from, bytes)
    }

    /// Queues setting all bytes to zero.
    pub fn clear(&self, memory: &Memory) -> Result<()> {
        match memory.bytes() {
            0 => Ok(()),
            bytes => self.driver().clear(self.place(memory), bytes),
        }
    }
}
