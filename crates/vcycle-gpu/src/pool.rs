//! Memory that was used before is used again.

use std::collections::HashMap;

use crate::driver::Address;

/// Free memory by size. Sizes are rounded up, so that nearly equal requests share.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: HashMap<usize, Vec<Address>>,
    held: usize,
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

    /// Bytes that are kept.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Everything that is kept, to be given back to the driver.
    pub fn drain(&mut self) -> Vec<Address> {
        self.held = 0;
        self.free.drain().flat_map(|(_, all)| all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (pool.held(), pool.take(512), pool.take(256)),
            (256, None, Some(7))
        );
        assert_eq!((pool.held(), pool.take(256)), (0, None));
    }
}
