//! Times of what a device does.

use std::collections::HashMap;

use crate::device::Device;
use crate::driver::Driver;
use crate::prelude::*;

/// A place between what is queued on a device.
#[derive(Debug)]
pub struct Moment {
    device: Arc<Device>,
    event: Handle,
}

impl Device {
    /// The moment at which all that was queued before is done.
    pub fn moment(self: &Arc<Self>) -> Result<Moment> {
        self.check_recording("an event")?;
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
        self.device.check_recording("waiting")?;
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

/// All launches of the kernels of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTime {
    /// Their name.
    pub name: Arc<str>,
    /// How many there were.
    pub launches: usize,
    /// Milliseconds of device time, with a few microseconds of each launch where the device waited for it.
    pub milliseconds: f64,
}

impl Device {
    /// The kernels that `work` launches one by one, the longest first, and the milliseconds from the first to the last. What
    /// graphs replay is not among them. One thread at a time may ask.
    pub fn kernel_times<E: From<Error>>(
        &self,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(Vec<KernelTime>, f64), E> {
        *lock(&self.profile) = Some(Vec::new());
        let worked = work();
        let seen = lock(&self.profile).take().unwrap_or_default();
        let times = self
            .synchronize()
            .and_then(|()| times(self.driver(), &seen));
        for event in seen.iter().flat_map(|(_, events)| events) {
            self.driver().free_event(*event);
        }
        worked?;
        Ok(times?)
    }

    /// Launches, between events while kernels are timed.
    pub(crate) fn profiled(
        &self,
        name: &Arc<str>,
        launch: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if lock(&self.profile).is_none() {
            return launch();
        }
        let before = self.driver().record()?;
        let launched = launch();
        let after = self.driver().record()?;
        if let Some(seen) = lock(&self.profile).as_mut() {
            seen.push((Arc::clone(name), [before, after]));
        }
        launched
    }
}

fn times(driver: &dyn Driver, seen: &[(Arc<str>, [Handle; 2])]) -> Result<(Vec<KernelTime>, f64)> {
    let mut by_name: HashMap<&Arc<str>, (usize, f64)> = HashMap::new();
    for (name, [before, after]) in seen {
        let of_name = by_name.entry(name).or_default();
        of_name.0 += 1;
        of_name.1 += driver.elapsed(*before, *after)?;
    }
    let time = |(name, (launches, milliseconds)): (&Arc<str>, _)| KernelTime {
        name: Arc::clone(name),
        launches,
        milliseconds,
    };
    let mut times: Vec<KernelTime> = by_name.into_iter().map(time).collect();
    times.sort_by(|a, b| b.milliseconds.total_cmp(&a.milliseconds));
    let span = match (seen.first(), seen.last()) {
        (Some((_, [first, _])), Some((_, [_, last]))) => driver.elapsed(*first, *last)?,
        _ => 0.0,
    };
    Ok((times, span))
}

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
