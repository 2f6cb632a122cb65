//! A GPU and its problems.

use std::sync::Arc;

use vcycle::executor::Executor;
use vcycle_gpu::{Device, discover};

use super::problems::Problems;
use crate::common::Result;

/// What all parts need.
pub(super) struct GpuBench {
    pub device: Arc<Device>,
    pub executor: Executor,
    /// Bytes per second of a copy within the device.
    pub bandwidth: f64,
    pub small: bool,
    /// Those that were asked for; of each part its own where there are none.
    pub precisions: Vec<String>,
    pub problems: Problems,
}

impl GpuBench {
    /// The precisions that were asked for, or those of a part.
    pub fn precisions_or(&self, own: &[&str]) -> Vec<String> {
        match self.precisions.is_empty() {
            true => own.iter().map(|&name| name.to_owned()).collect(),
            false => self.precisions.clone(),
        }
    }
}

/// The vendors' own drivers come before OpenCL.
pub(super) fn first_device() -> Result<String> {
    let mut reasons = Vec::new();
    for found in discover() {
        match found.devices {
            Ok(devices) => {
                if let Some(device) = devices.into_iter().next() {
                    return Ok(device.name);
                }
            }
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(format!("there is no GPU: {}", reasons.join("; ")).into())
}
