//! What the stages of a set-up ask of a device, counted.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use vcycle::executor::Workspace;
use vcycle::log::{Log, Observer};
use vcycle_gpu::{Counts, Device, KernelTime};

use crate::common::Result;

/// Kernels that are named: the longest ones.
const NAMED: usize = 30;

/// The device time of the kernels that `make` launches, in words.
pub(super) fn kernels<M>(
    device: &Device,
    make: &mut dyn FnMut(&Workspace) -> Result<M>,
) -> Result<String> {
    let ws = Workspace::new();
    let (times, span) = device.kernel_times(|| make(&ws).map(drop))?;
    let busy: f64 = times.iter().map(|kernel| kernel.milliseconds).sum();
    let word =
        |one: &KernelTime| format!("{} {:.2} ({})", one.name, one.milliseconds, one.launches);
    let words = times.iter().take(NAMED).map(word);
    let words = words.collect::<Vec<_>>().join(", ");
    Ok(format!("kernels {busy:.2} of {span:.2} ms: {words}"))
}

/// Launches, waits of the host and allocations of the driver for what `make` makes, and its kernels, in words.
pub(super) fn whole<M>(
    device: &Device,
    make: &mut dyn FnMut(&Workspace) -> Result<M>,
) -> Result<String> {
    let before = device.counts();
    drop(make(&Workspace::new())?);
    let done = device.counts() - before;
    let [launches, waits] = [done.launches, done.synchronizations];
    let kernels = kernels(device, make)?;
    let allocations = done.allocations;
    Ok(format!(
        "{launches} launches, {waits} waits, {allocations} allocations; {kernels}"
    ))
}

/// The stages of all levels together, in the order in which they come first: launches, waits and allocations.
struct StageCounts {
    device: Arc<Device>,
    open: Vec<Counts>,
    stages: Vec<(String, [u64; 3])>,
}

/// Launches, waits of the host and allocations of the driver in every stage of what `make` makes, in words.
pub(super) fn by_stage<M>(
    device: &Arc<Device>,
    make: &mut dyn FnMut(&Workspace) -> Result<M>,
) -> Result<String> {
    let counts = Rc::new(RefCell::new(StageCounts {
        device: Arc::clone(device),
        open: Vec::new(),
        stages: Vec::new(),
    }));
    let ws = Workspace::with_log(Log::new().with(Rc::clone(&counts)));
    drop(make(&ws)?);
    let found = counts.borrow();
    let inner = |(name, _): &&(String, _)| !name.starts_with("level ") && !name.ends_with("set-up");
    let words = found.stages.iter().filter(inner);
    let words = words.map(|(name, [launches, waits, allocations])| {
        format!("{name} {launches}, {waits}, {allocations}")
    });
    Ok(words.collect::<Vec<_>>().join("; "))
}

impl Observer for StageCounts {
    fn stage_begins(&mut self, _: &str) {
        self.open.push(self.device.counts());
    }

    fn stage_ends(&mut self, name: &str, _: Duration, _: usize) {
        let Some(before) = self.open.pop() else {
            return;
        };
        let done = self.device.counts() - before;
        let place = self.stages.iter().position(|(known, _)| known == name);
        let place = place.unwrap_or_else(|| {
            self.stages.push((name.to_owned(), [0; 3]));
            self.stages.len() - 1
        });
        let launches = done.launches + done.replayed;
        let all = [launches, done.synchronizations, done.allocations];
        let counted = self.stages[place].1.iter_mut().zip(all);
        counted.for_each(|(sum, count)| *sum += count);
    }
}
