//! What is kept of a device: its memory, and what was recorded to be queued again.

use std::alloc::Layout;
use std::collections::HashMap;
use std::thread::ThreadId;

use crate::prelude::*;
use crate::proxy::Work;

/// Where allocations begin for the driver, and how many bytes they have.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    pub by_address: HashMap<Address, (usize, usize)>,
    pub bytes: usize,
}

/// Host memory by its address.
pub(super) type HostBlocks = HashMap<usize, Layout>;

/// Something that can be queued.
#[derive(Debug)]
pub(super) enum QueueCommand {
    Copy {
        to: Address,
        from: Address,
        bytes: usize,
    },
    Clear {
        address: Address,
        bytes: usize,
    },
    Launch {
        kernel: Handle,
        shape: Shape,
        arguments: Vec<Argument>,
    },
    /// A place that a task of the host waits for.
    Mark,
    /// What the host does once the queue has come to the place that was marked last.
    Call(Called),
}

/// What the host does between what it queues.
pub(super) struct Called(pub Arc<Work>);

impl std::fmt::Debug for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("work of the host")
    }
}

/// What one thread has queued since it began to record.
#[derive(Debug)]
pub(super) struct Recording {
    pub thread: ThreadId,
    pub commands: Vec<QueueCommand>,
}

/// Recorded work by its handle.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    pub by_handle: HashMap<Handle, Arc<Vec<QueueCommand>>>,
    pub last: Handle,
}

/// The kernels that are launched: of each one for every set of arguments that are null. Drivers do
/// not agree on whether an argument that was an address may become null.
pub(super) type Kernels = HashMap<(Handle, u64), Handle>;
