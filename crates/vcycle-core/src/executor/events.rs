//! Events of memory: allocations and copies, for listeners.
//!
//! Buffers have no log. While there is a listener they record events in a list of their thread, and the
//! [`Log`](crate::log::Log) of the run passes them on. Without a listener this costs one comparison.

use std::cell::{Cell, RefCell};

thread_local! {
    static LISTENERS: Cell<usize> = const { Cell::new(0) };
    static EVENTS: RefCell<Vec<MemoryEvent>> = const { RefCell::new(Vec::new()) };
}

/// An allocation or a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryEvent {
    /// A buffer was made.
    Allocated {
        /// The name of the executor.
        executor: String,
        /// Its size in bytes.
        bytes: usize,
    },
    /// Values were copied.
    Copied {
        /// The name of the executor they were copied from.
        from: String,
        /// The name of the executor they were copied to.
        to: String,
        /// The number of bytes.
        bytes: usize,
    },
}

/// A listener of this thread, until dropped.
#[derive(Debug)]
pub struct Listening(());

impl Listening {
    /// Begins to listen.
    pub fn begin() -> Self {
        LISTENERS.set(LISTENERS.get() + 1);
        Self(())
    }

    /// The events since the last call.
    pub fn events(&self) -> Vec<MemoryEvent> {
        EVENTS.take()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENERS.set(LISTENERS.get() - 1);
        EVENTS.take();
    }
}

/// Records an event if there is a listener.
pub(crate) fn note(event: impl FnOnce() -> MemoryEvent) {
    if LISTENERS.get() > 0 {
        let event = event();
        EVENTS.with_borrow_mut(|events| events.push(event));
    }
}
