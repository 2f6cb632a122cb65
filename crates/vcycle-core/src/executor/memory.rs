//! Checks, before a large allocation, whether the system has the memory.

use super::Executor;
use crate::error::{Error, Result};

/// Requests up to this many bytes are not compared with what is free.
const SMALL: usize = 64 << 20;

/// Whether the system can give this much memory.
///
/// It may promise more than it has and end the process when the memory is used, so a large
/// request is compared with what is free.
pub fn fits(bytes: usize) -> bool {
    let promised = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    promised && (bytes <= SMALL || available().is_none_or(|free| bytes <= free))
}

/// Fails unless there is memory for `count` values of `bytes_each`.
pub fn check_memory(executor: &Executor, count: usize, bytes_each: usize) -> Result<()> {
    let bytes = count.saturating_mul(bytes_each);
    if fits(bytes) {
        return Ok(());
    }
    Err(Error::OutOfMemory {
        bytes,
        executor: executor.name().to_owned(),
    })
}

/// Bytes of memory that can be used without swapping, where the system says.
fn available() -> Option<usize> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = facts
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_gets_refused() {
        let refused = check_memory(&Executor::reference(), usize::MAX, 12);
        assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
        if let Some(free) = available() {
            assert!(!fits(2 * free));
        }
        assert!(fits(1000));
    }
}
