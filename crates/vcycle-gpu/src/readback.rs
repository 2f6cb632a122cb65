//! A few numbers on their way to the host, or to the device.

use crate::counters::{add, is_recording};
use crate::device::Device;
use crate::memory::Memory;
use crate::pool::Pinned;
use crate::prelude::*;

/// Bytes of the smallest block: few sizes serve all.
const MIN_CAPACITY: usize = 1024;

/// A pinned block and the copy that is filling it.
#[derive(Debug)]
pub struct Readback {
    device: Arc<Device>,
    /// Its last use is the copy that was begun last.
    block: Pinned,
    bytes: usize,
}

// SAFETY: the pinned block belongs to this value alone; the device writes to it only between
// `Device::read_begin` and `wait`, both of which take it exclusively.
unsafe impl Send for Readback {}
// SAFETY: shared references give no access to the block.
unsafe impl Sync for Readback {}

impl Device {
    /// A place for results of up to `bytes` bytes.
    pub fn readback(self: &Arc<Self>, bytes: usize) -> Result<Readback> {
        Ok(Readback {
            device: Arc::clone(self),
            block: self.pinned_block(bytes)?,
            bytes,
        })
    }

    /// The smallest of the kept blocks that is large enough, or a new one.
    pub(crate) fn pinned_block(&self, bytes: usize) -> Result<Pinned> {
        let mut kept = lock(&self.pinned);
        let can_wait = !is_recording();
        let fits = kept
            .iter()
            .enumerate()
            .filter(|(_, block)| block.capacity >= bytes && (can_wait || block.last_use.is_none()));
        if let Some((place, _)) = fits.min_by_key(|(_, block)| block.capacity) {
            let mut block = kept.swap_remove(place);
            drop(kept);
            self.finish(block.last_use.take())?;
            return Ok(block);
        }
        drop(kept);
        let capacity = bytes.max(MIN_CAPACITY);
        self.record_request(|requests| requests.pinned.push(capacity));
        Ok(Pinned {
            pointer: self.driver().allocate_pinned(capacity)?,
            capacity,
            last_use: None,
        })
    }

    /// Queues a copy of the first bytes of `from` to the host, as many as `to` has; the host does
    /// not wait before [`Readback::wait`].
    pub fn read_begin(&self, to: &mut Readback, from: &Memory) -> Result<()> {
        assert!(to.bytes <= from.bytes(), "more bytes than the memory has");
        self.check_recording("reading")?;
        self.begin(to)?;
        add(&self.counters.downloaded, to.bytes);
        let from = self.place(from);
        // SAFETY: pinned memory of that size, not touched before the event has passed.
        unsafe { self.driver().download(to.block.pointer, from, to.bytes)? };
        to.block.last_use = Some(self.mark()?);
        Ok(())
    }

    /// Queues a copy of the first bytes of the memory to the host, which will wait for it: what is queued after it runs meanwhile.
    pub fn download_begin(self: &Arc<Self>, from: &Memory, bytes: usize) -> Result<Readback> {
        let mut coming = self.readback(bytes)?;
        self.read_begin(&mut coming, from)?;
        Ok(coming)
    }

    /// Queues a copy of bytes of the host to the first ones of `to`. They travel by way of the block, so that the host
    /// does not wait, unless the block is in use.
    pub fn write_begin(&self, by: &mut Readback, to: &Memory, from: &[u8]) -> Result<()> {
        assert!(
            from.len() <= by.bytes.min(to.bytes()),
            "more bytes than the memory has"
        );
        self.check_recording("copies from the host")?;
        self.begin(by)?;
        add(&self.counters.uploaded, from.len());
        let to = self.place(to);
        // SAFETY: pinned memory with room for the bytes, which no copy uses, nor anyone before the event has passed.
        unsafe {
            by.block
                .pointer
                .copy_from_nonoverlapping(from.as_ptr(), from.len());
            self.driver().upload(to, by.block.pointer, from.len())?;
        }
        by.block.last_use = Some(self.mark()?);
        Ok(())
    }

    /// Waits until a block can be used for another copy.
    ///
    /// # Panics
    /// When it is of another device.
    fn begin(&self, block: &mut Readback) -> Result<()> {
        assert!(
            std::ptr::eq(&*block.device, self),
            "a block of another device"
        );
        block.wait().map(drop)
    }

    /// An event after all that is queued. Where there can be none all that is waited for, so that a failure leaves no copies
    /// behind.
    pub(crate) fn mark(&self) -> Result<Handle> {
        let waited = |_: &_| drop(self.driver().synchronize());
        self.driver().record().inspect_err(waited)
    }
}

impl Readback {
    /// As [`wait`](Self::wait), and counted among the waits of the host: for callers that have nothing else to do meanwhile.
    pub fn wait_idly(&mut self) -> Result<&[u8]> {
        add(&self.device.counters.synchronizations, 1);
        self.wait()
    }

    /// Waits for the copy that was begun last and gives what came.
    pub fn wait(&mut self) -> Result<&[u8]> {
        if self.block.last_use.is_some() {
            self.device.check_recording("waiting")?;
            self.device.finish(self.block.last_use.take())?;
        }
        // SAFETY: pinned memory of that many bytes, which no copy is writing to any more.
        Ok(unsafe { std::slice::from_raw_parts(self.block.pointer, self.bytes) })
    }
}

impl Drop for Readback {
    fn drop(&mut self) {
        // A copy that was begun must not write to what is another's: who takes the block next waits for it.
        let Pinned {
            pointer, capacity, ..
        } = self.block;
        lock(&self.device.pinned).push(Pinned {
            pointer,
            capacity,
            last_use: self.block.last_use.take(),
        });
    }
}
