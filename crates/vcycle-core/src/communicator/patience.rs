//! How threads wait for each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Waking a thread takes longer than most messages.
const LOOKS: usize = 1000;
/// Pauses of a processor between two checks.
const PAUSES: usize = 20;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often a rank checks for what it waits for before it sleeps: several times if there are cores for all ranks and for a second
/// thread of each.
pub(super) fn looks(ranks: usize) -> usize {
    match std::thread::available_parallelism() {
        Ok(cores) if 2 * ranks <= cores.get() => LOOKS,
        _ => 0,
    }
}

/// Releases the lock for a moment, at most `looks` times, and after that until this thread is woken.
pub(super) fn pause<'m, T>(
    looks: &mut usize,
    mutex: &'m Mutex<T>,
    guard: MutexGuard<'m, T>,
    woken: &Condvar,
) -> MutexGuard<'m, T> {
    if *looks == 0 {
        return woken.wait(guard).unwrap_or_else(PoisonError::into_inner);
    }
    *looks -= 1;
    drop(guard);
    (0..PAUSES).for_each(|_| std::hint::spin_loop());
    lock(mutex)
}
