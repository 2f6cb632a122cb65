//! Memory of the device, and memory of the host for copies.

use std::alloc::{Layout, alloc, dealloc};

use super::api;
use super::device::OpenCl;
use crate::error::{Error, Result};
use crate::handle::Address;
use crate::sync::lock;

/// What addresses are a multiple of.
const ALIGNMENT: usize = 256;
/// Host memory begins with a page.
const PAGE: usize = 4096;

impl OpenCl {
    pub(super) fn free_bytes(&self) -> usize {
        self.properties
            .memory
            .saturating_sub(lock(&self.allocations).bytes)
    }

    /// The driver is not asked for more than there is: many promise memory and fail when it is used.
    pub(super) fn allocate_shared(&self, bytes: usize) -> Result<Address> {
        let mut allocations = lock(&self.allocations);
        let size = bytes.saturating_add(ALIGNMENT);
        let free = self
            .properties
            .memory
            .saturating_sub(allocations.bytes)
            .min(self.largest);
        let refused = || Error::OutOfMemory {
            device: self.properties.name.clone(),
            bytes,
            free,
            total: self.properties.memory,
        };
        if size > free {
            return Err(refused());
        }
        // SAFETY: no pointer is passed; failure is null. Alignments above 128 may be refused, so it
        // is done below.
        let begin =
            unsafe { (self.api.svm_alloc)(self.context, api::MEM_READ_WRITE, size, 0) } as usize;
        if begin == 0 {
            return Err(refused());
        }
        let address = begin.next_multiple_of(ALIGNMENT) as Address;
        allocations.by_address.insert(address, (begin, size));
        allocations.bytes += size;
        Ok(address)
    }

    /// Only what was allocated here is of the same context.
    pub(super) fn check_shared(&self, address: Address) -> Result<()> {
        let place = address as usize;
        let allocations = lock(&self.allocations);
        let mut all = allocations.by_address.values();
        if all.any(|&(begin, size)| (begin..begin + size).contains(&place)) {
            return Ok(());
        }
        Err(Error::Elsewhere {
            device: self.properties.name.clone(),
            address,
            found: "others cannot share memory with OpenCL devices".to_owned(),
        })
    }

    pub(super) fn free_shared(&self, address: Address) {
        // What failed in the queue is told to those who wait for it.
        let _ = self.finish();
        let mut allocations = lock(&self.allocations);
        let Some((begin, size)) = allocations.by_address.remove(&address) else {
            return;
        };
        allocations.bytes -= size;
        // SAFETY: memory of `svm_alloc`, freed once; all work that was queued is done.
        unsafe { (self.api.svm_free)(self.context, begin as *mut _) };
    }

    pub(super) fn allocate_host(&self, bytes: usize) -> Result<*mut u8> {
        let refused = || Error::OutOfMemory {
            device: "the host".to_owned(),
            bytes,
            free: 0,
            total: 0,
        };
        let layout = Layout::from_size_align(bytes.max(1), PAGE).map_err(|_| refused())?;
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc(layout) };
        if pointer.is_null() {
            return Err(refused());
        }
        lock(&self.pinned).insert(pointer as usize, layout);
        Ok(pointer)
    }

    pub(super) fn free_host(&self, pointer: *mut u8) {
        if let Some(layout) = lock(&self.pinned).remove(&(pointer as usize)) {
            // SAFETY: allocated with this layout, freed once.
            unsafe { dealloc(pointer, layout) };
        }
    }
}
