//! What a device was asked to do, counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts since the device was opened; differences of two tell what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels launched one by one.
    pub launches: u64,
    /// Graphs replayed.
    pub replays: u64,
    /// Kernels in them.
    pub replayed: u64,
    /// Allocations that went to the driver.
    pub allocations: u64,
    /// Times the host waited until the device was idle.
    pub synchronizations: u64,
    /// Bytes copied to the device.
    pub uploaded: u64,
    /// Bytes copied from the device.
    pub downloaded: u64,
}

impl std::ops::Sub for Counts {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            launches: self.launches - before.launches,
            replays: self.replays - before.replays,
            replayed: self.replayed - before.replayed,
            allocations: self.allocations - before.allocations,
            synchronizations: self.synchronizations - before.synchronizations,
            uploaded: self.uploaded - before.uploaded,
            downloaded: self.downloaded - before.downloaded,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub launches: AtomicU64,
    pub replays: AtomicU64,
    pub replayed: AtomicU64,
    pub allocations: AtomicU64,
    pub synchronizations: AtomicU64,
    pub uploaded: AtomicU64,
    pub downloaded: AtomicU64,
}

impl Counters {
    pub fn read(&self) -> Counts {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            launches: value(&self.launches),
            replays: value(&self.replays),
            replayed: value(&self.replayed),
            allocations: value(&self.allocations),
            synchronizations: value(&self.synchronizations),
            uploaded: value(&self.uploaded),
            downloaded: value(&self.downloaded),
        }
    }
}

/// Adds to one counter.
pub(crate) fn add(counter: &AtomicU64, amount: usize) {
    counter.fetch_add(amount as u64, Ordering::Relaxed);
}

/// Streams that can wait for the host, of all devices.
static STREAMS: AtomicUsize = AtomicUsize::new(0);

/// How many streams this process has opened that can wait for the host, closed ones among them. Those beyond the queues of the hardware
/// share one with another, and do not run while that waits.
pub fn streams_opened() -> usize {
    STREAMS.load(Ordering::Relaxed)
}

/// Counts a stream that was opened.
#[cfg(feature = "gpu")]
pub(crate) fn count_stream() {
    STREAMS.fetch_add(1, Ordering::Relaxed);
}

thread_local! {
    /// What this thread has recorded, while it records.
    static RECORDED: Cell<Option<Recorded>> = const { Cell::new(None) };
}

/// What is in recorded work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recorded {
    /// Kernels.
    pub launches: u64,
    /// Errands of the host.
    pub errands: u64,
}

/// Does recorded work; tells what was in it.
pub(crate) fn recorded<T>(work: impl FnOnce() -> T) -> (T, Recorded) {
    RECORDED.set(Some(Recorded::default()));
    let result = work();
    (result, RECORDED.take().unwrap_or_default())
}

/// Whether what this thread queues is recorded.
pub fn is_recording() -> bool {
    RECORDED.get().is_some()
}

/// Counts a kernel if this thread records.
pub(crate) fn count_recorded() -> bool {
    count(|recorded| recorded.launches += 1)
}

/// Counts an errand if this thread records.
pub(crate) fn count_errand() -> bool {
    count(|recorded| recorded.errands += 1)
}

fn count(add: impl FnOnce(&mut Recorded)) -> bool {
    let mut recorded = RECORDED.get();
    recorded.as_mut().map(add);
    RECORDED.set(recorded);
    recorded.is_some()
}
