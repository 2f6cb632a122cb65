//! Times of what a device does, without waiting for it.

use std::sync::Arc;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::handle::Handle;

/// A place between what is queued on a device.
#[derive(Debug)]
pub struct Moment {
    device: Arc<Device>,
    event: Handle,
}

impl Device {
    /// The moment at which all that was queued before is done.
    pub fn moment(self: &Arc<Self>) -> Result<Moment> {
        Ok(Moment {
            event: self.driver().record()?,
            device: Arc::clone(self),
        })
    }

    /// Milliseconds of device time that queued work takes.
    pub fn time<E: From<Error>>(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<f64, E> {
        let from = self.moment()?;
        work()?;
        Ok(1e3 * self.moment()?.seconds_since(&from)?)
    }
}

impl Moment {
    /// Seconds from an earlier moment of the same device to this one, which the host waits for.
    pub fn seconds_since(&self, earlier: &Moment) -> Result<f64> {
        let driver = self.device.driver();
        driver.wait(self.event)?;
        Ok(driver.elapsed(earlier.event, self.event)? * 1e-3)
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        self.device.driver().free_event(self.event);
    }
}
