//! Small results on their way to the host.

use std::sync::Arc;

use crate::device::Device;
use crate::driver::Handle;
use crate::error::Result;
use crate::sync::lock;

/// A pinned block of host memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pinned {
    pub(crate) pointer: *mut u8,
    pub(crate) room: usize,
}

// SAFETY: a block is kept by the device or belongs to one readback.
unsafe impl Send for Pinned {}

/// A pinned block and the copy that is filling it.
#[derive(Debug)]
pub struct Readback {
    pub(crate) device: Arc<Device>,
    pub(crate) block: Pinned,
    pub(crate) bytes: usize,
    pub(crate) event: Option<Handle>,
}

// SAFETY: the pinned block belongs to this value alone; the device writes to it only between
// `Device::read_begin` and `wait`, both of which take it exclusively.
unsafe impl Send for Readback {}
// SAFETY: shared references give no access to the block.
unsafe impl Sync for Readback {}

impl Readback {
    /// Waits for the copy that was begun last and gives what came.
    ///
    /// # Errors
    /// When the device fails.
    pub fn wait(&mut self) -> Result<&[u8]> {
        if let Some(event) = self.event.take() {
            let waited = self.device.driver().wait(event);
            self.device.driver().free_event(event);
            waited?;
        }
        // SAFETY: pinned memory of that many bytes, which no copy is writing to any more.
        Ok(unsafe { std::slice::from_raw_parts(self.block.pointer, self.bytes) })
    }
}

impl Drop for Readback {
    fn drop(&mut self) {
        // A copy that was begun must not write to what is another's; its failure is of no interest.
        let _ = self.wait();
        lock(&self.device.pinned).push(self.block);
    }
}
