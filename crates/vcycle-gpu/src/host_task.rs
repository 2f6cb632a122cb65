//! Work of the host that what is queued on a device waits for.
//!
//! A task begins once all that was queued before [`Device::begin_host_task`](crate::Device::begin_host_task) is done, and what is queued after
//! [`Device::end_host_task`](crate::Device::end_host_task) waits until it is over; what is queued between the two runs meanwhile. Both can be recorded, so that
//! an iteration that sends messages is replayed like any other. Host tasks of a device run one after the other, in the order of
//! their places in the stream: the next one begins after the end of the last.
//!
//! CUDA's streams write and wait for numbers in memory of the host, and a [`Proxy`] does the work; OpenCL's queues are filled
//! by the host, which does it in between.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "gpu")]
use crate::proxy::Flags;
use crate::proxy::{Proxy, Work};

/// How the host gets to work between what is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "drivers choose one"))]
pub(crate) enum HostTaskMethod {
    /// The stream signals and waits by numbers in memory of the host.
    Flags,
    /// The thread that fills the queue does it.
    Queue,
}

/// Work of the host that can be queued.
pub struct HostTask {
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "drivers do it"))]
    pub(crate) work: Arc<Work>,
    /// By which number its proxy knows it.
    pub(crate) number: u32,
    /// None where the thread that fills the queue does host tasks.
    pub(crate) proxy: Option<Arc<Proxy>>,
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTask({})", self.number)
    }
}

#[cfg(feature = "gpu")]
impl HostTask {
    /// Where the stream and the proxy meet, if they do.
    pub(crate) fn flags(&self) -> Option<Flags> {
        self.proxy.as_ref().map(|proxy| proxy.flags())
    }
}

impl Drop for HostTask {
    fn drop(&mut self) {
        if let Some(proxy) = &self.proxy {
            proxy.forget(self.number);
        }
    }
}
