//! What a process asks a device for, recorded so that the next one that does the same finds it ready.

use crate::cache;
use crate::device::Device;
use crate::kernel::Requests;
use crate::pool::Pinned;
use crate::prelude::*;

/// Part of the memory that is free which is asked for before it is needed, at most: one of so many.
const PART: usize = 4;

impl Device {
    /// Records what is asked for from now on.
    pub fn record_requests(&self) {
        *lock(&self.requests) = Some(Requests::default());
    }

    /// What was asked for since it is recorded.
    pub fn requests(&self) -> Requests {
        lock(&self.requests).clone().unwrap_or_default()
    }

    pub(crate) fn record_request(&self, add: impl FnOnce(&mut Requests)) {
        lock(&self.requests).as_mut().map(add);
    }

    /// Makes ready what is likely to be asked for. Programs that would have to be compiled are left out, and what fails
    /// fails again when it is asked for.
    pub fn prefetch(&self, likely: &Requests) {
        for (source, name) in &likely.kernels {
            self.preload(source, name);
        }
        for &capacity in &likely.pinned {
            if let Ok(pointer) = self.driver().allocate_pinned(capacity) {
                lock(&self.pinned).push(Pinned {
                    pointer,
                    capacity,
                    last_use: None,
                });
            }
        }
        let all: usize = likely.memory.iter().sum();
        if self.free_memory().is_ok_and(|free| all <= free / PART) {
            self.reserve(&likely.memory);
        }
    }

    /// Memory for the pool.
    fn reserve(&self, sizes: &[usize]) {
        for &size in sizes {
            match self.driver().allocate(size) {
                Ok(address) => lock(&self.pool).give(size, address),
                Err(_) => return,
            }
        }
    }

    /// A text that an earlier process has kept under a name, with this device, driver and version.
    pub fn cached_text(&self, name: &str) -> Option<String> {
        cache::read_text(self.properties(), name)
    }

    /// Keeps a text for later processes; a disk that cannot be written to is no error.
    pub fn cache_text(&self, name: &str, text: &str) {
        cache::write_text(self.properties(), name, text);
    }
}
