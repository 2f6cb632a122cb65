//! Memory of the host that work on a device and host tasks share.

use crate::device::Device;
use crate::pool::Pinned;
use crate::prelude::*;

/// Pinned memory that belongs to its owner alone; goes back to the device's when it was dropped, no graph uses it any more, and
/// what was queued before is done.
#[derive(Debug)]
pub struct HostBlock {
    block: Arc<Block>,
    bytes: usize,
    is_mapped: bool,
}

/// What graphs may keep.
#[derive(Debug)]
struct Block {
    device: Arc<Device>,
    pinned: Pinned,
}

// SAFETY: shared references give no access to the block but by `bytes`, whose callers see to it that nobody else uses it.
unsafe impl Sync for Block {}

impl Device {
    /// Memory of the host for so many bytes, of unspecified contents.
    pub fn host_block(self: &Arc<Self>, bytes: usize) -> Result<HostBlock> {
        let pinned = self.pinned_block(bytes)?;
        let device = Arc::clone(self);
        Ok(HostBlock {
            block: Arc::new(Block { device, pinned }),
            bytes,
            is_mapped: self.driver().maps_pinned(),
        })
    }

    /// Queues a copy of memory of the device to a block, from byte `first` of that on.
    ///
    /// # Safety
    /// At `from` there are as many bytes of this device, and nobody uses those of the block before the copy is done.
    pub unsafe fn copy_out(
        &self,
        to: &HostBlock,
        first: usize,
        from: Address,
        bytes: usize,
    ) -> Result<()> {
        let to = to.place(first, bytes);
        self.note_use([from, to as Address]);
        // SAFETY: pinned memory with room for the bytes; who reads it waits for the copy.
        unsafe { self.driver().download(to, from, bytes) }
    }

    /// Queues a copy of a block, from its byte `first` on, to memory of the device.
    ///
    /// # Safety
    /// As for [`copy_out`](Self::copy_out), of `to`.
    pub unsafe fn copy_in(
        &self,
        to: Address,
        from: &HostBlock,
        first: usize,
        bytes: usize,
    ) -> Result<()> {
        let from = from.place(first, bytes);
        self.note_use([to, from as Address]);
        // SAFETY: pinned memory of so many bytes; who writes to it waits for the copy.
        unsafe { self.driver().upload(to, from, bytes) }
    }
}

impl HostBlock {
    /// Where kernels read and write the block; none where only copies reach it.
    pub fn address(&self) -> Option<Address> {
        let pointer = self.block.pinned.pointer;
        self.is_mapped.then_some(pointer as Address)
    }

    /// The bytes of the block.
    ///
    /// # Safety
    /// Until the slice is dropped nobody else uses the block, no copy or kernel either.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes(&self) -> &mut [u8] {
        // SAFETY: pinned memory of that many bytes, which nobody else uses, a condition of this function.
        unsafe { std::slice::from_raw_parts_mut(self.block.pinned.pointer, self.bytes) }
    }

    fn place(&self, first: usize, bytes: usize) -> *mut u8 {
        let end = first.checked_add(bytes);
        let fits = end.is_some_and(|end| end <= self.bytes);
        assert!(fits, "more bytes than the block has");
        // SAFETY: within the block.
        unsafe { self.block.pinned.pointer.add(first) }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        let first = self.block.pinned.pointer as Address;
        let addresses = first..first + self.bytes.max(1) as u64;
        let device = &self.block.device;
        lock(&device.graphs).keep(addresses, &self.block);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Pinned {
            pointer, capacity, ..
        } = self.pinned;
        let pinned = |last_use| Pinned {
            pointer,
            capacity,
            last_use,
        };
        let device = &self.device;
        let again = || Self {
            device: Arc::clone(device),
            pinned: pinned(None),
        };
        // What is queued may still use it. It is not waited for here: this may be the thread that the device waits for.
        let is_kept = lock(&device.graphs).keep_while_recording(|| Box::new(again()));
        if !is_kept && let Ok(event) = device.driver().record() {
            lock(&device.pinned).push(pinned(Some(event)));
        }
    }
}
