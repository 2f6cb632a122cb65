//! A run of bytes on a device.

use std::any::Any;
use std::sync::Arc;

use crate::device::Device;
use crate::handle::Address;
use crate::kernel::Argument;
use crate::pool::Pool;
use crate::sync::lock;

/// Whatever keeps memory of others alive.
pub type Owner = Box<dyn Any + Send + Sync>;

/// Device memory; goes back to the device's pool, or to its owner, when dropped.
///
/// Work is queued in order, so memory may be dropped while kernels that use it are still queued.
#[derive(Debug)]
pub struct Memory {
    pub(crate) device: Arc<Device>,
    pub(crate) address: Address,
    pub(crate) bytes: usize,
    /// None for memory of the pool.
    pub(crate) owner: Option<Owner>,
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

    /// Whether another library owns it, which does not expect it to be written to.
    pub fn is_adopted(&self) -> bool {
        self.owner.is_some()
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
        match self.owner {
            None => {
                let size = Pool::rounded(self.bytes);
                let mut pool = lock(&self.device.pool);
                pool.end_use(size);
                pool.give(size, self.address);
            }
            // Its owner knows nothing of what is queued here. A failure cannot be reported here.
            Some(_) => drop(self.device.synchronize()),
        }
    }
}
