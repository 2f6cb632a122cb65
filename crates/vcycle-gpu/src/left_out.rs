//! What stands in the place of the drivers in a build without them.

use crate::driver::Driver;
use crate::prelude::*;

/// There are none.
pub(crate) fn devices(driver: &'static str) -> Result<Vec<Properties>> {
    Err(Error::LeftOut { driver })
}

/// There is none to open.
pub(crate) fn open(driver: &'static str, _index: usize) -> Result<Box<dyn Driver>> {
    Err(Error::LeftOut { driver })
}

/// There is none.
pub(crate) fn compiler(_driver: &str) -> Option<Result<String>> {
    None
}
