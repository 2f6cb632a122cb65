//! What a device was asked to do, counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counts since the device was opened; differences of two tell what happened in between.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl std::ops::Sub for Counts {
            type Output = Self;
            fn sub(self, before: Self) -> Self {
                Self { $($field: self.$field - before.$field,)* }
            }
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub $field: AtomicU64,)*
        }

        impl Counters {
            pub fn read(&self) -> Counts {
                Counts { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Kernels launched one by one.
    launches,
    /// Graphs replayed.
    replays,
    /// Kernels in them.
    replayed,
    /// Allocations that went to the driver.
    allocations,
    /// Times the host waited until the device was idle.
    synchronizations,
    /// Bytes copied to the device.
    uploaded,
    /// Bytes copied from the device.
    downloaded,
}

/// Adds to one counter.
pub(crate) fn add(counter: &AtomicU64, amount: usize) {
    counter.fetch_add(amount as u64, Ordering::Relaxed);
}

/// Open streams that can wait for the host, of all devices.
static STREAMS: AtomicUsize = AtomicUsize::new(0);

/// How many streams this process has open that can wait for the host. Those beyond the queues of the hardware
/// share one with another, and do not run while that waits.
pub fn streams_opened() -> usize {
    STREAMS.load(Ordering::Relaxed)
}

/// Counts a stream that was opened.
#[cfg(feature = "gpu")]
pub(crate) fn count_stream() {
    STREAMS.fetch_add(1, Ordering::Relaxed);
}

/// Counts a stream that was closed.
#[cfg(feature = "gpu")]
pub(crate) fn count_closed_stream() {
    STREAMS.fetch_sub(1, Ordering::Relaxed);
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
    /// Host tasks of the host.
    pub host_tasks: u64,
}

/// Does recorded work and counts what is in it.
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

/// Counts a task if this thread records.
pub(crate) fn count_host_task() -> bool {
    count(|recorded| recorded.host_tasks += 1)
}

fn count(add: impl FnOnce(&mut Recorded)) -> bool {
    let mut recorded = RECORDED.get();
    recorded.as_mut().map(add);
    RECORDED.set(recorded);
    recorded.is_some()
}
