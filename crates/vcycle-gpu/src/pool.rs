//! What a device keeps to use it again: its memory, and that of the host which it copies to and from without staging.

use std::collections::HashMap;

use crate::prelude::*;

/// Free memory by size. Sizes are rounded up, so that nearly equal requests share.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: HashMap<usize, Vec<Address>>,
    held: usize,
    /// Bytes in use now, and at most since that was forgotten.
    pub used: usize,
    pub most_used: usize,
    /// No more is to be in use.
    pub limit: Option<usize>,
    /// Requests that are still granted, one after which is refused.
    pub granted: Option<usize>,
}

impl Pool {
    /// The size that memory for `bytes` really has: at most an eighth more.
    pub fn rounded(bytes: usize) -> usize {
        let step = (bytes.max(256).next_power_of_two() / 16).max(256);
        bytes.max(1).next_multiple_of(step)
    }

    /// Memory of a rounded size, if some is free.
    pub fn take(&mut self, size: usize) -> Option<Address> {
        let address = self.free.get_mut(&size)?.pop()?;
        self.held -= size;
        Some(address)
    }

    /// Keeps memory for later.
    pub fn give(&mut self, size: usize, address: Address) {
        self.free.entry(size).or_default().push(address);
        self.held += size;
    }

    /// Counts memory that is about to be used; false where that is more than the limit, or the request is refused.
    pub fn begin_use(&mut self, size: usize) -> bool {
        if self.granted == Some(0) {
            self.granted = None;
            return false;
        }
        self.granted = self.granted.map(|left| left - 1);
        if self.limit.is_some_and(|limit| self.used + size > limit) {
            return false;
        }
        self.used += size;
        self.most_used = self.most_used.max(self.used);
        true
    }

    /// Counts memory that is used no longer.
    pub fn end_use(&mut self, size: usize) {
        self.used -= size;
    }

    /// Bytes that may be asked for where the driver has so many: what is kept as well, up to the limit.
    pub fn free_beside(&self, of_driver: usize) -> usize {
        let left = self.limit.map(|limit| limit.saturating_sub(self.used));
        left.unwrap_or(usize::MAX).min(of_driver + self.held)
    }

    /// Everything that is kept, to be given back to the driver.
    pub fn drain(&mut self) -> Vec<Address> {
        self.held = 0;
        self.free.drain().flat_map(|(_, all)| all).collect()
    }
}

/// Memory of the host that the device copies to and from.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) pointer: *mut u8,
    pub(crate) capacity: usize,
    /// An event after which no queued work uses it any more; none where there is no such work.
    pub(crate) last_use: Option<Handle>,
}

// SAFETY: a block is kept by the device or belongs to one owner.
unsafe impl Send for Pinned {}

/// Two pinned blocks: one is filled while the other travels.
#[derive(Debug)]
pub(crate) struct Staging {
    pub(crate) blocks: [*mut u8; 2],
}

// SAFETY: the blocks are reached through the mutex of the device alone.
unsafe impl Send for Staging {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_ends_at_the_limit() {
        let mut pool = Pool::default();
        pool.give(256, 1);
        assert_eq!(pool.free_beside(1000), 1256);
        pool.limit = Some(600);
        assert!(pool.begin_use(512));
        assert_eq!(pool.free_beside(1000), 88);
    }

    #[test]
    fn rounding_wastes_little() {
        for bytes in [1, 255, 256, 257, 5000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let rounded = Pool::rounded(bytes);
            assert!(rounded >= bytes && rounded.is_multiple_of(256));
            assert!(rounded - bytes < 256.max(bytes / 7));
        }
    }

    #[test]
    fn what_was_given_is_taken_again() {
        let mut pool = Pool::default();
        pool.give(256, 7);
        assert_eq!(
            (pool.free_beside(0), pool.take(512), pool.take(256)),
            (256, None, Some(7))
        );
        assert_eq!((pool.free_beside(0), pool.take(256)), (0, None));
    }

    #[test]
    fn the_most_that_was_used_is_known_and_limited() {
        let mut pool = Pool::default();
        assert!(pool.begin_use(256) && pool.begin_use(512));
        pool.end_use(256);
        assert_eq!((pool.used, pool.most_used), (512, 768));
        pool.limit = Some(600);
        assert!(!pool.begin_use(256));
    }
}
