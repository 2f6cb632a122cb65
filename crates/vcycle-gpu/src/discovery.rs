//! Which devices there are.

use crate::driver::Driver;
use crate::error::Result;
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
    Vec::new()
}

/// The driver of a device by its name.
pub(crate) fn driver(_name: &str) -> Result<Box<dyn Driver>> {
    unimplemented!()
}
