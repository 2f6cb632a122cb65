//! How fast the memory of a device is.

use std::sync::Arc;

use crate::device::Device;
use crate::error::Result;

/// Bytes that are copied, on devices with memory enough.
const BYTES: usize = 256 << 20;
const COPIES: usize = 8;

impl Device {
    /// Bytes per second, read and written, of a large copy within the device: the best of several.
    ///
    /// ```no_run
    /// let device = vcycle_gpu::Device::open("cuda:0")?;
    /// println!("{:.0} GB/s", device.copy_bandwidth()? * 1e-9);
    /// # Ok::<(), vcycle_gpu::Error>(())
    /// ```
    pub fn copy_bandwidth(self: &Arc<Self>) -> Result<f64> {
        let bytes = BYTES.min(self.properties().memory / 64);
        let (from, to) = (self.allocate(bytes)?, self.allocate(bytes)?);
        self.clear(&from)?;
        self.copy(&to, &from, bytes)?;
        let mut best = f64::INFINITY;
        for _ in 0..COPIES {
            best = best.min(self.time(|| self.copy(&to, &from, bytes))?);
        }
        Ok(2.0 * bytes as f64 / (best * 1e-3))
    }
}
