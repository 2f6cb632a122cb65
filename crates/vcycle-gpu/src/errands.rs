//! Errands of a device.

use std::sync::Arc;

use crate::counters::count_errand;
use crate::device::Device;
use crate::errand::{Errand, ErrandWay};
use crate::error::{Error, Result};
use crate::proxy::{Flags, Proxy, Work};
use crate::sync::lock;

impl Device {
    /// Whether errands can be queued here.
    pub fn has_errands(&self) -> bool {
        self.driver().errand_way().is_some()
    }

    /// Something that the host is to do whenever it is queued.
    ///
    /// # Errors
    /// Where the device cannot wait for the host, and when memory is short.
    pub fn errand(self: &Arc<Self>, work: Arc<Work>) -> Result<Errand> {
        let proxy = match self.driver().errand_way() {
            None => return Err(self.lacks_errands()),
            Some(ErrandWay::Queue) => None,
            Some(ErrandWay::Flags) => Some(self.proxy()?),
        };
        let number = match &proxy {
            Some(proxy) => proxy.learn(&work),
            None => 0,
        };
        Ok(Errand {
            work,
            number,
            proxy,
        })
    }

    /// Queues the begin of an errand.
    ///
    /// # Errors
    /// When the device fails.
    pub fn begin_errand(&self, errand: &Errand) -> Result<()> {
        if !count_errand() {
            self.expect_errands(1);
        }
        self.driver().begin_errand(errand)
    }

    /// Queues waiting for the end of an errand.
    ///
    /// # Errors
    /// When the device fails.
    pub fn end_errand(&self, errand: &Errand) -> Result<()> {
        self.driver().end_errand(errand)
    }

    /// Wakes the proxy for so many errands that are about to be queued.
    pub(crate) fn expect_errands(&self, count: u64) {
        if let Some(proxy) = lock(&self.proxy).as_ref() {
            proxy.expect(count);
        }
    }

    fn proxy(&self) -> Result<Arc<Proxy>> {
        let mut proxy = lock(&self.proxy);
        if let Some(proxy) = proxy.as_ref() {
            return Ok(Arc::clone(proxy));
        }
        let room = self.driver().allocate_pinned(Flags::BYTES)?;
        // SAFETY: memory of that size, aligned to more than a cache line, which is never given back.
        let made = Proxy::start(unsafe { Flags::new(room) });
        Ok(Arc::clone(proxy.insert(made)))
    }

    fn lacks_errands(&self) -> Error {
        Error::Unsupported {
            device: self.properties().name.clone(),
            what: "waiting for the host".to_owned(),
        }
    }
}
