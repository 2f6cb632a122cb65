//! Host memory that the device copies to and from without staging.

/// A block for the results of one readback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pinned {
    pub(crate) pointer: *mut u8,
    pub(crate) capacity: usize,
}

// SAFETY: a block is kept by the device or belongs to one readback.
unsafe impl Send for Pinned {}

/// Two pinned blocks: one is filled while the other travels.
#[derive(Debug)]
pub(crate) struct Staging {
    pub(crate) blocks: [*mut u8; 2],
}

// SAFETY: the blocks are reached through the mutex of the device alone.
unsafe impl Send for Staging {}
