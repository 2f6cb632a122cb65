//! The two vendors whose interfaces are one.

use std::env;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::library::Wanted;
use crate::prelude::*;

/// Whatever a vendor hides behind a pointer: contexts, streams, modules, graphs, events.
pub(super) type Opaque = *mut c_void;

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

    /// The library that drives devices.
    pub(super) fn driver_library(self) -> Wanted {
        let names: &[&str] = match (self, cfg!(windows)) {
            (Self::Cuda, false) => &["libcuda.so.1", "libcuda.so"],
            (Self::Cuda, true) => &["nvcuda.dll"],
            (Self::Hip, false) => &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"],
            (Self::Hip, true) => &["amdhip64_7.dll", "amdhip64_6.dll"],
        };
        let advice = match self {
            Self::Cuda => "install the NVIDIA driver, version 525 or newer",
            Self::Hip => "install the HIP run-time of ROCm 6 or newer",
        };
        Wanted {
            driver: self.name(),
            names,
            variable: None,
            advice,
        }
    }

    /// The library that compiles kernels.
    pub(super) fn compiler_library(self) -> Wanted {
        let names: &[&str] = match (self, cfg!(windows)) {
            (Self::Cuda, false) => &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
            (Self::Cuda, true) => &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"],
            (Self::Hip, false) => &[
                "libhiprtc.so",
                "libhiprtc.so.7",
                "libhiprtc.so.6",
                "libamdhip64.so.5",
            ],
            (Self::Hip, true) => &["hiprtc0701.dll", "hiprtc0700.dll", "hiprtc0604.dll"],
        };
        let (variable, advice) = match self {
            Self::Cuda => (
                "VCYCLE_NVRTC",
                "install NVRTC 12 or 13 (of the CUDA toolkit, or `pip install nvidia-cuda-nvrtc`) \
                 and name the file in VCYCLE_NVRTC where it is not found by itself",
            ),
            Self::Hip => (
                "VCYCLE_HIPRTC",
                "install HIPRTC of ROCm 6 or newer and name the file in VCYCLE_HIPRTC where it is \
                 not found by itself",
            ),
        };
        Wanted {
            driver: self.name(),
            names,
            variable: Some(variable),
            advice,
        }
    }

    /// Folders of toolkits, which the loader does not search by itself.
    pub(super) fn folders(self) -> Vec<PathBuf> {
        let (variables, usual): (&[&str], &[&str]) = match self {
            Self::Cuda => (
                &["CUDA_PATH", "CUDA_HOME"],
                &["/usr/local/cuda", "/opt/cuda"],
            ),
            Self::Hip => (&["ROCM_PATH", "HIP_PATH"], &["/opt/rocm"]),
        };
        let named = variables.iter().filter_map(env::var_os).map(PathBuf::from);
        let roots = named.chain(usual.iter().map(PathBuf::from));
        roots
            .flat_map(|root| ["lib64", "lib", "bin", "bin/x64"].map(|folder| root.join(folder)))
            .collect()
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
