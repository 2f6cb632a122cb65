//! What tests of this layer and of those above share.

use crate::executor::Executor;

/// The first device of `VCYCLE_TEST_DEVICES`, or an OpenCL processor, if there is one.
///
/// # Panics
/// When the device that is named cannot be used.
pub fn device() -> Option<Executor> {
    if let Ok(names) = std::env::var("VCYCLE_TEST_DEVICES") {
        return Some(Executor::gpu(names.split(',').next()?).unwrap());
    }
    let found = vcycle_gpu::discover().into_iter();
    let devices = found.filter_map(|found| found.devices.ok()).flatten();
    let device = devices.into_iter().find(|device| device.is_cpu);
    if device.is_none() {
        eprintln!("skipped: no OpenCL processor here");
    }
    Some(Executor::gpu(&device?.name).unwrap())
}
