//! How long kernels take, one by one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::device::Device;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::sync::lock;

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
