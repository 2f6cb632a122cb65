//! Work of the host that what is queued on a device waits for.
//!
//! An errand begins once all that was queued before [`Device::begin_errand`](crate::Device::begin_errand) is done, and what is queued after
//! [`Device::end_errand`](crate::Device::end_errand) waits until it is over; what is queued between the two runs meanwhile. Both can be recorded, so that
//! an iteration that sends messages is replayed like any other. Errands of a device run one after the other, in the order of
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
pub(crate) enum ErrandWay {
    /// The stream tells and waits by numbers in memory of the host.
    Flags,
    /// Whoever fills the queue does it.
    Queue,
}

/// Work of the host that can be queued.
pub struct Errand {
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "drivers do it"))]
    pub(crate) work: Arc<Work>,
    /// By which number its proxy knows it.
    pub(crate) number: u32,
    /// None where errands are done by who fills the queue.
    pub(crate) proxy: Option<Arc<Proxy>>,
}

impl fmt::Debug for Errand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errand({})", self.number)
    }
}

#[cfg(feature = "gpu")]
impl Errand {
    /// Where the stream and the proxy meet, if they do.
    pub(crate) fn flags(&self) -> Option<Flags> {
        self.proxy.as_ref().map(|proxy| proxy.flags())
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        if let Some(proxy) = &self.proxy {
            proxy.forget(self.number);
        }
    }
}
