//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic in another thread leaves what is locked here as it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
