//! Counters of messages.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Messages, bytes and waiting of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// Messages sent in exchanges.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Sums over all ranks.
    pub sums: u64,
    /// Time spent waiting for other ranks.
    pub waiting: Duration,
}

impl Traffic {
    /// The difference from an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            messages: self.messages - earlier.messages,
            bytes: self.bytes - earlier.bytes,
            sums: self.sums - earlier.sums,
            waiting: self.waiting.saturating_sub(earlier.waiting),
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            bytes: self.bytes + other.bytes,
            sums: self.sums + other.sums,
            waiting: self.waiting + other.waiting,
        }
    }
}

/// The counters behind [`Traffic`].
#[derive(Debug, Default)]
pub struct Counters {
    messages: AtomicU64,
    bytes: AtomicU64,
    sums: AtomicU64,
    waiting: AtomicU64,
}

impl Counters {
    /// Counts a message.
    pub fn sent(&self, bytes: usize) {
        self.messages.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts a sum.
    pub fn summed(&self) {
        self.sums.fetch_add(1, Relaxed);
    }

    /// Does work that waits for other ranks, and counts its time.
    pub fn waits<R>(&self, wait: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let result = wait();
        let nanoseconds = begin.elapsed().as_nanos() as u64;
        self.waiting.fetch_add(nanoseconds, Relaxed);
        result
    }

    /// The current values.
    pub fn read(&self) -> Traffic {
        Traffic {
            messages: self.messages.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            sums: self.sums.load(Relaxed),
            waiting: Duration::from_nanos(self.waiting.load(Relaxed)),
        }
    }
}
