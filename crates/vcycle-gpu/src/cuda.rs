//! NVIDIA and AMD.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::properties::Properties;

pub(crate) fn devices(vendor: &'static str) -> Result<Vec<Properties>> {
    Err(missing(vendor))
}

pub(crate) fn open(vendor: &'static str, _index: usize) -> Result<Box<dyn Driver>> {
    Err(missing(vendor))
}

fn missing(driver: &'static str) -> Error {
    Error::Library {
        driver,
        library: "its library".into(),
        problem: "is not used yet".into(),
        advice: "use opencl".into(),
    }
}
