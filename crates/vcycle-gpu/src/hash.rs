//! A hash that is the same everywhere and in every version: FNV-1a of 128 bits.

/// What was added so far.
pub(crate) struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62272e07bb014262b821756295c58d)
    }
}

impl Hash {
    /// Of parts, so that their borders count.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> u128 {
        let mut hash = Self::default();
        for part in parts {
            hash.add(&part.len().to_le_bytes());
            hash.add(part.as_bytes());
        }
        hash.0
    }

    /// Of bytes.
    pub fn of(bytes: &[u8]) -> u128 {
        let mut hash = Self::default();
        hash.add(bytes);
        hash.0
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000000001000000000000000000013b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(Hash::of(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
    }

    #[test]
    fn borders_count() {
        assert_ne!(Hash::of_parts(["ab", "c"]), Hash::of_parts(["a", "bc"]));
    }
}
