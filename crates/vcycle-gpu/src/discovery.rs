//! Which devices there are.

use crate::cuda::{self, Vendor};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::properties::Properties;

/// A vendor's devices, or why there are none.
#[derive(Debug)]
pub struct Found {
    /// `cuda`, `hip` or `opencl`.
    pub driver: &'static str,
    /// Its devices, or what is missing.
    pub devices: Result<Vec<Properties>>,
}

/// Asks every vendor's library.
pub fn discover() -> Vec<Found> {
    let found = |vendor: Vendor| Found {
        driver: vendor.name(),
        devices: cuda::devices(vendor),
    };
    vec![found(Vendor::Cuda), found(Vendor::Hip)]
}

/// The driver of a device by its name.
pub(crate) fn driver(name: &str) -> Result<Box<dyn Driver>> {
    let (vendor, index) = name.split_once(':').unwrap_or((name, "0"));
    match (vendor, index.parse()) {
        ("cuda", Ok(index)) => cuda::open(Vendor::Cuda, index),
        ("hip", Ok(index)) => cuda::open(Vendor::Hip, index),
        _ => Err(Error::NoDevice {
            name: name.to_owned(),
            known: "names are like cuda:0".into(),
        }),
    }
}
