//! The drivers by their names.

use crate::cuda::{self, Vendor};
use crate::driver::Driver;
use crate::opencl;
use crate::prelude::*;

/// The devices of a driver.
pub(crate) fn devices(driver: &'static str) -> Result<Vec<Properties>> {
    match driver {
        "cuda" => cuda::devices(Vendor::Cuda),
        "hip" => cuda::devices(Vendor::Hip),
        _ => opencl::devices(),
    }
}

/// A device by its number in [`devices`].
pub(crate) fn open(driver: &'static str, index: usize) -> Result<Box<dyn Driver>> {
    match driver {
        "cuda" => cuda::open(Vendor::Cuda, index),
        "hip" => cuda::open(Vendor::Hip, index),
        _ => opencl::open(index),
    }
}

/// The compiler of a driver; none for OpenCL, whose devices bring their own.
pub(crate) fn compiler(driver: &str) -> Option<Result<String>> {
    match driver {
        "cuda" => Some(cuda::compiler(Vendor::Cuda)),
        "hip" => Some(cuda::compiler(Vendor::Hip)),
        _ => None,
    }
}
