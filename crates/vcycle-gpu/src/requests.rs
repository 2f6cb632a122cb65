//! What a device is asked for: kernels that are loaded, and memory.

use crate::kernel::Source;

/// What a device was asked for, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Kernels and their programs.
    pub kernels: Vec<(Source, String)>,
    /// Bytes of memory that the driver was asked for.
    pub memory: Vec<usize>,
    /// Bytes of the host that the device copies to.
    pub pinned: Vec<usize>,
}
