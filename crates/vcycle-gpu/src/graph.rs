//! Recorded work.

use std::sync::Arc;

use crate::device::Device;
use crate::driver::Handle;

/// Launches and copies recorded once by [`Device::capture`], queued again as one.
///
/// The memory they use has to live as long as the graph is replayed.
#[derive(Debug)]
pub struct Graph {
    pub(crate) device: Arc<Device>,
    pub(crate) handle: Handle,
    /// Kernels in it.
    pub launches: u64,
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.device.driver().free_graph(self.handle);
    }
}
