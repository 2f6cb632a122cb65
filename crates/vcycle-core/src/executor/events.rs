//! Events of memory: allocations and copies, for listeners.
//!
//! Buffers know no log. They note events in a list of their thread while there is a listener, and the
//! [`Log`](crate::log::Log) of the run passes them on; without a listener that is one comparison.

use std::cell::{Cell, RefCell};

thread_local! {
    static LISTENERS: Cell<usize> = const { Cell::new(0) };
    static EVENTS: RefCell<Vec<MemoryEvent>> = const { RefCell::new(Vec::new()) };
}

/// What happened to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryEvent {
    /// A buffer was made.
    Allocated {
        /// The name of the executor.
        executor: String,
        /// How large it is.
        bytes: usize,
    },
    /// Values travelled.
    Copied {
        /// The name of the executor they came from.
        from: String,
        /// The name of the executor they went to.
        to: String,
        /// How many bytes.
        bytes: usize,
    },
}

/// A listener of this thread, until dropped.
#[derive(Debug)]
pub struct Listening(());

impl Listening {
    /// Listens from here on.
    pub fn begin() -> Self {
        LISTENERS.set(LISTENERS.get() + 1);
        Self(())
    }

    /// What happened since the last time.
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

/// Notes an event if there is a listener.
pub(crate) fn note(event: impl FnOnce() -> MemoryEvent) {
    if LISTENERS.get() > 0 {
        let event = event();
        EVENTS.with_borrow_mut(|events| events.push(event));
    }
}
