//! A run of bytes on a device.

use std::sync::Arc;

use crate::device::Device;
use crate::driver::Address;
use crate::kernel::Argument;

/// Device memory; goes back to the device's pool when dropped.
///
/// Work is queued in order, so memory may be dropped while kernels that use it are still queued.
#[derive(Debug)]
pub struct Memory {
    pub(crate) device: Arc<Device>,
    pub(crate) address: Address,
    pub(crate) bytes: usize,
}

impl Memory {
    /// Where it is on the device.
    pub fn address(&self) -> Address {
        self.address
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device it is on.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }
}

impl From<&Memory> for Argument {
    fn from(memory: &Memory) -> Self {
        Argument::Address(memory.address)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.device.give_back(self.address, self.bytes);
    }
}
