//! Hashes that are the same on every machine and in every version: they name files.

use xxhash_rust::xxh3::Xxh3;

/// The hash of texts; where one ends and the next begins matters.
pub(crate) fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> u128 {
    let mut hash = Xxh3::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_count_and_the_hash_does_not_change() {
        assert_ne!(of_parts(["ab", "c"]), of_parts(["a", "bc"]));
        assert_eq!(of_parts(["a"]), 0xea7daf8b8b8e0899adea399fbae36cb2);
    }
}
