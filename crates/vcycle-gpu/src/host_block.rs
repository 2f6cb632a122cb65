//! Memory of the host that work on a device and host tasks share.

use std::sync::{Arc, Weak};

use crate::device::Device;
use crate::error::Result;
use crate::kernel::Address;
use crate::pool::Pinned;
use crate::sync::lock;

/// Pinned memory that belongs to its owner alone; goes back to the device's when dropped.
#[derive(Debug)]
pub struct HostBlock {
    device: Weak<Device>,
    block: Pinned,
    bytes: usize,
    is_mapped: bool,
}

// SAFETY: shared references give no access to the block but by `bytes`, whose callers see to it that nobody else uses it.
unsafe impl Sync for HostBlock {}

impl Device {
    /// Memory of the host for so many bytes, of unspecified contents.
    pub fn host_block(self: &Arc<Self>, bytes: usize) -> Result<HostBlock> {
        Ok(HostBlock {
            device: Arc::downgrade(self),
            block: self.pinned_block(bytes)?,
            bytes,
            is_mapped: self.driver().maps_pinned(),
        })
    }

    /// Queues a copy of memory of the device to a block, from byte `first` of that on.
    pub fn copy_out(
        &self,
        to: &HostBlock,
        first: usize,
        from: Address,
        bytes: usize,
    ) -> Result<()> {
        let to = to.place(first, bytes);
        // SAFETY: pinned memory with room for the bytes; who reads it waits for the copy.
        unsafe { self.driver().download(to, from, bytes) }
    }

    /// Queues a copy of a block, from its byte `first` on, to memory of the device.
    pub fn copy_in(&self, to: Address, from: &HostBlock, first: usize, bytes: usize) -> Result<()> {
        let from = from.place(first, bytes);
        // SAFETY: pinned memory of so many bytes; who writes to it waits for the copy.
        unsafe { self.driver().upload(to, from, bytes) }
    }
}

impl HostBlock {
    /// Where kernels read and write the block; none where only copies reach it.
    pub fn address(&self) -> Option<Address> {
        self.is_mapped.then_some(self.block.pointer as Address)
    }

    /// The bytes of the block.
    ///
    /// # Safety
    /// Until the slice is dropped nobody else uses the block, no copy or kernel either.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes(&self) -> &mut [u8] {
        // SAFETY: pinned memory of that many bytes, which nobody else uses, a condition of this function.
        unsafe { std::slice::from_raw_parts_mut(self.block.pointer, self.bytes) }
    }

    fn place(&self, first: usize, bytes: usize) -> *mut u8 {
        assert!(first + bytes <= self.bytes, "more bytes than the block has");
        // SAFETY: within the block.
        unsafe { self.block.pointer.add(first) }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // Without its device there is nobody who could take it.
        if let Some(device) = self.device.upgrade() {
            lock(&device.pinned).push(self.block);
        }
    }
}
