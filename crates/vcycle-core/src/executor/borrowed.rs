//! Host memory that somebody else owns.

use std::sync::Arc;

use vcycle_gpu::Owner;

/// An array of values that does not change while its owner is held.
#[derive(Clone, Debug)]
pub(super) struct Borrowed<T> {
    place: *const T,
    len: usize,
    _owner: Arc<Owner>,
}

// SAFETY: nobody changes the values before the owner is dropped, a condition of `new`, so that any thread may read them.
unsafe impl<T: Sync> Send for Borrowed<T> {}
// SAFETY: nobody changes the values before the owner is dropped, a condition of `new`, so that several threads may read
// them at once.
unsafe impl<T: Sync> Sync for Borrowed<T> {}

impl<T> Borrowed<T> {
    /// # Safety
    /// At `address` are `len` values, aligned, which nobody frees or changes before `owner` is
    /// dropped.
    pub unsafe fn new(address: u64, len: usize, owner: Owner) -> Self {
        Self {
            place: address as usize as *const T,
            len,
            _owner: Arc::new(owner),
        }
    }

    pub fn slice(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: at `place` are `len` aligned values that nobody frees or changes before the owner is dropped, a
        // condition of `new`, and the owner is still held.
        unsafe { std::slice::from_raw_parts(self.place, self.len) }
    }
}
