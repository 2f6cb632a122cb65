//! Memory of a device.

use crate::counters::add;
use crate::device::Device;
use crate::pool::Pool;
use crate::prelude::*;
use crate::uses::Owner;

/// Device memory; goes back to the device's pool, or to its owner, when it was dropped and no graph uses it any more.
///
/// Work is queued in order, so memory may be dropped while kernels that use it are still queued.
#[derive(Debug)]
pub struct Memory {
    block: Arc<Block>,
}

/// What graphs may keep.
#[derive(Debug)]
struct Block {
    device: Arc<Device>,
    address: Address,
    bytes: usize,
    /// None for memory of the pool.
    owner: Option<Owner>,
}

impl Memory {
    /// Where it is on the device.
    pub fn address(&self) -> Address {
        self.block.address
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.block.bytes
    }

    /// Whether another library owns it, which does not expect it to be written to.
    pub fn is_adopted(&self) -> bool {
        self.block.owner.is_some()
    }

    /// The device it is on.
    pub fn device(&self) -> &Arc<Device> {
        &self.block.device
    }
}

impl From<&Memory> for Argument {
    fn from(memory: &Memory) -> Self {
        Argument::Address(memory.address())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let (first, bytes) = (self.address(), self.bytes().max(1));
        let device = self.device();
        lock(&device.graphs).keep(first..first + bytes as u64, &self.block);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.owner.is_none() {
            let size = Pool::rounded(self.bytes);
            let mut pool = lock(&self.device.pool);
            pool.end_use(size);
            pool.give(size, self.address);
            return;
        }
        // Its owner knows nothing of what is queued here. A failure cannot be reported here.
        let owner = &mut self.owner;
        if !lock(&self.device.graphs).keep_while_recording(|| Box::new(owner.take())) {
            drop(self.device.synchronize());
        }
    }
}

impl Device {
    /// Memory of unspecified contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when there is not enough; nothing else is affected.
    pub fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Memory> {
        let size = Pool::rounded(bytes);
        if !lock(&self.pool).begin_use(size) {
            return Err(Error::out_of_memory(self.properties(), bytes, 0));
        }
        let kept = lock(&self.pool).take(size);
        let address = match kept.map_or_else(|| self.allocate_new(size), Ok) {
            Ok(address) => address,
            Err(error) => {
                lock(&self.pool).end_use(size);
                return Err(error);
            }
        };
        Ok(self.memory(address, bytes, None))
    }

    /// Memory of this device that another library has allocated; it is released, when all that is
    /// queued here is done, by dropping `owner`.
    ///
    /// # Errors
    /// [`Error::Elsewhere`] when it is not of this device.
    ///
    /// # Safety
    /// There are `bytes` bytes at `address`, and until `owner` is dropped nobody frees them.
    pub unsafe fn adopt(
        self: &Arc<Self>,
        address: u64,
        bytes: usize,
        owner: Owner,
    ) -> Result<Memory> {
        if bytes > 0 {
            self.driver().check_address(address)?;
        }
        Ok(self.memory(address, bytes, Some(owner)))
    }

    fn memory(self: &Arc<Self>, address: Address, bytes: usize, owner: Option<Owner>) -> Memory {
        let device = Arc::clone(self);
        Memory {
            block: Arc::new(Block {
                device,
                address,
                bytes,
                owner,
            }),
        }
    }

    /// The address of memory that something is about to be queued for.
    ///
    /// # Panics
    /// When it is of another device.
    pub(crate) fn place(&self, memory: &Memory) -> Address {
        assert!(
            std::ptr::eq(&**memory.device(), self),
            "memory of another device"
        );
        self.note_use([memory.address()]);
        memory.address()
    }

    fn allocate_new(&self, size: usize) -> Result<u64> {
        self.check_recording("allocation")?;
        add(&self.counters.allocations, 1);
        self.record_request(|requests| requests.memory.push(size));
        match self.driver().allocate(size) {
            Err(Error::OutOfMemory { .. }) => {
                self.release_pool();
                self.driver().allocate(size)
            }
            result => result,
        }
    }

    /// Bytes of memory in use, and the most there have been since [`forget_peak`](Self::forget_peak).
    pub fn memory_use(&self) -> (usize, usize) {
        let pool = lock(&self.pool);
        (pool.used, pool.most_used)
    }

    /// Starts to look anew for the most memory that is in use at once.
    pub fn forget_peak(&self) {
        let mut pool = lock(&self.pool);
        pool.most_used = pool.used;
    }

    /// Lets no more than this be in use at once: requests beyond it fail as if there were none.
    pub fn limit_memory(&self, limit: Option<usize>) {
        lock(&self.pool).limit = limit;
    }

    /// Refuses one request for memory, after so many that are granted: for tests of what follows.
    #[doc(hidden)]
    pub fn refuse_memory(&self, after: Option<usize>) {
        lock(&self.pool).granted = after;
    }

    /// Whether a request is still to be refused.
    #[doc(hidden)]
    pub fn is_refusing_memory(&self) -> bool {
        lock(&self.pool).granted.is_some()
    }

    /// Gives unused memory back to the driver.
    pub fn release_pool(&self) {
        let kept = lock(&self.pool).drain();
        kept.into_iter()
            .for_each(|address| self.driver().free(address));
        for block in lock(&self.pinned).split_off(0) {
            // One that the device may still write to is never used again.
            if self.finish(block.last_use).is_ok() {
                self.driver().free_pinned(block.pointer);
            }
        }
    }

    /// Fails if so many bytes are not free, before any of them is asked for.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with what is free.
    pub fn check_room(&self, bytes: usize) -> Result<()> {
        let free = self.free_memory()?;
        match bytes <= free {
            true => Ok(()),
            false => Err(Error::out_of_memory(self.properties(), bytes, free)),
        }
    }

    /// Bytes of memory that are free now, those of the pool among them, within the
    /// [limit](Self::limit_memory).
    pub fn free_memory(&self) -> Result<usize> {
        let of_driver = self.driver().free_memory()?;
        Ok(lock(&self.pool).free_beside(of_driver))
    }
}
