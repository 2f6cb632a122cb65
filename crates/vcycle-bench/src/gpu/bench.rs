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
    pub precisions: Vec<String>,
    pub problems: Problems,
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
