//! What nearly every file names: kernels, what devices say of themselves, and errors.

pub(crate) use std::sync::Arc;

pub(crate) use crate::error::{Error, Result};
pub(crate) use crate::kernel::{Address, Argument, Handle, Kernel, Shape, Source};
pub(crate) use crate::properties::Properties;
pub(crate) use crate::sync::lock;
