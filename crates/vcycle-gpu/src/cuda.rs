//! NVIDIA and AMD.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::properties::Properties;

/// Whose devices.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vendor {
    Cuda,
    Hip,
}

pub(crate) fn devices(vendor: Vendor) -> Result<Vec<Properties>> {
    Err(missing(vendor))
}

pub(crate) fn open(vendor: Vendor, _index: usize) -> Result<Box<dyn Driver>> {
    Err(missing(vendor))
}

fn missing(vendor: Vendor) -> Error {
    Error::Library {
        driver: match vendor {
            Vendor::Cuda => "cuda",
            Vendor::Hip => "hip",
        },
        library: "its library".into(),
        problem: "is not used yet".into(),
        advice: "use opencl".into(),
    }
}
