//! Checks, before a large allocation, whether the system has the memory.

use super::{Executor, available_memory};
use crate::error::{Error, Result};

/// Requests up to this many bytes are not compared with what is free.
const SMALL: usize = 64 << 20;

/// Nobody is asked for so little: asking takes longer than many a small solve.
const NEGLIGIBLE: usize = 1 << 20;

/// Whether the system can give this much memory.
///
/// It may promise more than it has and end the process when the memory is used, so a large
/// request is compared with what is free.
pub fn fits(bytes: usize) -> bool {
    let promised = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    promised && (bytes <= SMALL || available_memory().is_none_or(|free| bytes <= free))
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

impl Executor {
    /// Bytes of memory that are free here: those of a device, or of the host. `None` where nobody says.
    pub fn available_memory(&self) -> Option<usize> {
        match self.device() {
            Some(device) => device.free_memory().ok(),
            None => available_memory(),
        }
    }

    /// Fails, with both numbers, where what is about to begin needs more memory than is free.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`].
    pub fn check_need(&self, what: impl FnOnce() -> String, needed: usize) -> Result<()> {
        if needed <= NEGLIGIBLE {
            return Ok(());
        }
        match self.available_memory() {
            Some(available) if needed > available => Err(Error::NotEnoughMemory {
                what: what(),
                needed,
                available,
                executor: self.name().to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_gets_refused() {
        let refused = check_memory(&Executor::reference(), usize::MAX, 12);
        assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
        if let Some(free) = available_memory() {
            assert!(!fits(2 * free));
        }
        assert!(fits(1000));
    }

    #[test]
    fn a_refusal_has_both_numbers() {
        let host = Executor::reference();
        assert!(host.check_need(|| "nothing".to_owned(), 0).is_ok());
        let Some(free) = host.available_memory() else {
            return;
        };
        let refused = host.check_need(|| "this".to_owned(), free.saturating_mul(4));
        match refused.unwrap_err() {
            Error::NotEnoughMemory {
                needed, available, ..
            } => assert!(needed > available),
            other => panic!("{other}"),
        }
    }
}
