//! A hash that is the same everywhere and in every version: 16 bytes at a time, as programs are hashed by their text and their code whenever they are loaded.

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
        hash.add(&bytes.len().to_le_bytes());
        hash.add(bytes);
        hash.0
    }

    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<16>();
        words.iter().for_each(|word| self.add_word(*word));
        if !rest.is_empty() {
            let mut word = [0; 16];
            word[..rest.len()].copy_from_slice(rest);
            self.add_word(word);
        }
    }

    fn add_word(&mut self, word: [u8; 16]) {
        // The golden ratio of 128 bits.
        const RATIO: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        self.0 = (self.0 ^ u128::from_le_bytes(word)).wrapping_mul(RATIO);
        // Products carry bits upwards only.
        self.0 = (self.0 ^ self.0 >> 64).wrapping_mul(RATIO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let bytes: Vec<u8> = (0..40).collect();
        let mut found = std::collections::HashSet::from([Hash::of(&bytes)]);
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[place] ^= 1 << bit;
                assert!(found.insert(Hash::of(&other)));
                // Nor do changes of two words make up for each other.
                other[(place + 16) % 40] ^= 1 << bit;
                assert!(place >= 24 || found.insert(Hash::of(&other)));
            }
        }
        assert_ne!(Hash::of(b"a"), Hash::of(b"a\0"));
    }

    #[test]
    fn the_hash_does_not_change() {
        assert_eq!(Hash::of(b"a"), 0xe4a5c425f264d01841473473496fb2e1);
    }

    #[test]
    fn borders_count() {
        assert_ne!(Hash::of_parts(["ab", "c"]), Hash::of_parts(["a", "bc"]));
    }
}
