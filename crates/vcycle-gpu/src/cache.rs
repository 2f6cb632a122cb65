//! Compiled kernels, kept on disk.

use crate::driver::{Driver, Handle};
use crate::error::Result;
use crate::kernel::Source;

/// Loads a program, from the disk if it was compiled before for this device and driver.
pub(crate) fn load(driver: &dyn Driver, source: &Source) -> Result<Handle> {
    driver.load(&driver.compile(source)?, source)
}
