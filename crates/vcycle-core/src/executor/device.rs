//! The device of an executor, for algorithms: whether there is one, its clock, and recorded work.

use std::sync::Arc;

use vcycle_gpu::{Device, Graph, Moment};

use super::Executor;
use crate::error::{Error, Result};
use crate::scalar::Kind;

impl Executor {
    /// Whether memory and kernels are those of a device.
    pub fn is_device(&self) -> bool {
        matches!(self, Executor::Gpu(_))
    }

    /// Whether a device has kernels for numbers of this type; there are none for complex ones.
    pub fn has_kernels_for(&self, kind: Kind) -> bool {
        self.is_device() && !kind.is_complex()
    }

    /// The device itself, for code that shares its memory or measures it; none on the host. Methods do not need
    /// it: they call operations.
    pub fn device(&self) -> Option<&Arc<Device>> {
        match self {
            Executor::Gpu(gpu) => Some(gpu.device()),
            _ => None,
        }
    }

    /// A time stamp in the queue of a device; none on the host, which has its own clock. A failure is reported by the next call that uses the device.
    pub fn moment(&self) -> Option<Moment> {
        self.device()?.moment().ok()
    }

    /// Waits until all queued work is done; nothing is queued on the host.
    pub fn synchronize(&self) -> Result<()> {
        match self.device() {
            Some(device) => Ok(device.synchronize()?),
            None => Ok(()),
        }
    }

    /// Records what `work` queues on a device, to be repeated by one launch. None on the host, and for
    /// work that cannot be recorded because it waits for its own results.
    pub fn record(&self, work: impl FnOnce() -> Result<()>) -> Option<Recording> {
        let device = self.device()?;
        let graph = device.capture::<Error>(work).ok()?;
        let device = Arc::clone(device);
        Some(Recording { device, graph })
    }

    /// An error for an operation without a kernel on this executor.
    pub fn lacks(&self, component: &str, operation: &str) -> Error {
        Error::unsupported(format!("{component} on {}", self.name()), operation)
    }
}

/// Recorded work of a device, which runs on the same memory again.
#[derive(Debug)]
pub struct Recording {
    device: Arc<Device>,
    graph: Graph,
}

impl Recording {
    /// Queues it again.
    pub fn replay(&self) -> Result<()> {
        Ok(self.device.replay(&self.graph)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_no_device_to_ask() {
        let host = Executor::reference();
        assert!(!host.is_device() && host.device().is_none() && host.moment().is_none());
        assert!(host.record(|| Ok(())).is_none());
        assert!(host.synchronize().is_ok());
        let error = host.lacks("this", "that").to_string();
        assert!(error.contains("this on reference"), "{error}");
    }

    #[test]
    fn a_device_has_a_clock() {
        let Some(device) = crate::testing::device() else {
            return;
        };
        assert!(device.is_device());
        let begin = device.moment().unwrap();
        device.synchronize().unwrap();
        let seconds = device.moment().unwrap().seconds_since(&begin).unwrap();
        assert!(seconds >= 0.0);
    }
}
