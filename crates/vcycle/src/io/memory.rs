//! Memory that a file asks for.

use super::error::Problem;

/// Requests up to this many bytes are made without asking how much memory is free.
const SMALL: usize = 64 << 20;

/// An empty vector with room for `length` values.
///
/// The system may promise more memory than it has and end the process when it is used, so a
/// large request is compared with what is free first.
pub(super) fn reserve<T>(length: usize) -> Result<Vec<T>, Problem> {
    let bytes = length.saturating_mul(size_of::<T>());
    let refused = || Problem::OutOfMemory { bytes };
    if bytes > SMALL && available().is_some_and(|free| bytes as u64 > free) {
        return Err(refused());
    }
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).map_err(|_| refused())?;
    Ok(vector)
}

/// `length` copies of `value`.
pub(super) fn filled<T: Clone>(length: usize, value: T) -> Result<Vec<T>, Problem> {
    let mut vector = reserve(length)?;
    vector.resize(length, value);
    Ok(vector)
}

/// Bytes of memory that can be used without swapping, where the system says.
fn available() -> Option<u64> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = facts
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_gets_refused() {
        assert!(matches!(
            reserve::<f64>(usize::MAX / 4),
            Err(Problem::OutOfMemory { .. })
        ));
        if let Some(free) = available() {
            assert!(reserve::<u8>(2 * free as usize).is_err());
        }
    }
}
