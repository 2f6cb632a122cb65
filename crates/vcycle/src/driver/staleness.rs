//! When levels of an earlier matrix have to be rebuilt.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::kept::Kept;

/// A set-up is given up when it needs this many times the iterations of its own matrix.
const REBUILD_RATIO: usize = 2;

/// Iterations by which it is seen whether levels still suit the matrix.
#[derive(Debug, Default)]
pub(super) struct Staleness {
    /// Those of the first solve with levels that were made for its matrix; 0 before it.
    fresh: AtomicUsize,
    last: AtomicUsize,
}

impl Staleness {
    /// Of levels that are those of the matrix before.
    pub fn after(other: &Self) -> Self {
        Self {
            fresh: AtomicUsize::new(other.fresh.load(Relaxed)),
            last: AtomicUsize::new(0),
        }
    }

    /// What a solve took with these levels, and in the end.
    pub fn note(&self, iterations: usize, at_last: usize) {
        self.last.store(iterations, Relaxed);
        let first = at_last.max(1);
        let _ = self.fresh.compare_exchange(0, first, Relaxed, Relaxed);
    }

    /// What the next matrix takes over of a set-up: nothing where its levels do not suit the last one.
    pub fn kept(&self, kept: &mut Kept) -> Kept {
        match self.is_stale() {
            true => Kept::default(),
            false => std::mem::take(kept),
        }
    }

    /// Whether the last solve took much more than the first.
    pub fn is_stale(&self) -> bool {
        self.last.load(Relaxed) > REBUILD_RATIO * self.fresh.load(Relaxed).max(1)
    }
}
