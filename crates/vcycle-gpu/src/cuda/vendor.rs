//! The two vendors whose interfaces are one.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Whose devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// NVIDIA.
    Cuda,
    /// AMD.
    Hip,
}

impl Vendor {
    /// As in the names of devices.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Hip => "hip",
        }
    }

    /// The oldest version of CUDA or HIP that has all functions used here.
    pub(super) fn oldest(self) -> i32 {
        match self {
            Self::Cuda => 12,
            Self::Hip => 6,
        }
    }

    pub(super) fn no_device(self) -> Error {
        let known = match self {
            Self::Cuda => "the NVIDIA driver finds no GPU (is one hidden by CUDA_VISIBLE_DEVICES?)",
            Self::Hip => "HIP finds no AMD GPU (is one hidden by HIP_VISIBLE_DEVICES?)",
        };
        Error::NoDevice {
            name: self.name().into(),
            known: known.into(),
        }
    }
}

/// What is loaded once for each vendor.
pub(super) struct OncePerVendor<T>([OnceLock<T>; 2]);

impl<T> OncePerVendor<T> {
    pub(super) const fn new() -> Self {
        Self([const { OnceLock::new() }; 2])
    }

    /// What was loaded, or what `load` makes; a failure is tried again the next time.
    pub(super) fn get(&self, vendor: Vendor, load: impl FnOnce() -> Result<T>) -> Result<&T> {
        let place = &self.0[vendor as usize];
        if let Some(loaded) = place.get() {
            return Ok(loaded);
        }
        let loaded = load()?;
        Ok(place.get_or_init(|| loaded))
    }
}
