//! NVIDIA and AMD: CUDA's driver interface with NVRTC, and HIP with HIPRTC, which mirrors it.
//!
//! The libraries are loaded with `libloading` rather than bound by a crate: one implementation
//! serves both vendors, nothing is needed to build, and a library that is absent is an error.

mod api;
mod compiler;
mod device;
mod flags;
mod properties;
#[cfg(test)]
mod tests;
mod vendor;

use crate::driver::Driver;
use crate::prelude::*;
use api::{CudaApi, call};
use compiler::Compiler;
use device::CudaGpu;
pub(crate) use vendor::Vendor;

/// A vendor's devices.
pub(crate) fn devices(vendor: Vendor) -> Result<Vec<Properties>> {
    let api = CudaApi::of(vendor)?;
    (0..count(api)?)
        .map(|index| properties::read(api, index))
        .collect()
}

/// Opens a device by its number.
pub(crate) fn open(vendor: Vendor, index: usize) -> Result<Box<dyn Driver>> {
    let api = CudaApi::of(vendor)?;
    let count = count(api)?;
    if index >= count {
        let name = vendor.name();
        return Err(Error::NoDevice {
            name: format!("{name}:{index}"),
            known: format!("{name} has the devices 0 to {}", count - 1),
        });
    }
    Ok(Box::new(CudaGpu::open(api, index)?))
}

/// How many devices there are: at least one.
fn count(api: &CudaApi) -> Result<usize> {
    let mut count = 0;
    match call!(api, api.vendor.name(), device_count(&mut count)) {
        Err(Error::Call {
            code: api::NO_DEVICE,
            ..
        }) => Err(api.vendor.no_device()),
        Ok(()) if count < 1 => Err(api.vendor.no_device()),
        result => result.map(|()| count as usize),
    }
}

/// Name and version of a vendor's compiler.
pub(crate) fn compiler(vendor: Vendor) -> Result<String> {
    Compiler::of(vendor)?.version()
}

/// Compiles for NVIDIA (`sm_90`) or AMD (`gfx90a`) where no such device needs to be, to see that
/// it compiles.
///
/// ```no_run
/// use vcycle_gpu::{Source, compile_only};
/// let text = "extern \"C\" __global__ void nothing() {}".into();
/// let source = Source { file: "nothing.c".into(), text, defines: vec![] };
/// let code = compile_only("sm_90", &source)?;
/// # Ok::<(), vcycle_gpu::Error>(())
/// ```
///
/// # Errors
/// When it does not compile, with the compiler's log; when the compiler is not installed.
pub fn compile_only(target: &str, source: &Source) -> Result<Vec<u8>> {
    let vendor = if target.starts_with("sm_") {
        Vendor::Cuda
    } else if target.starts_with("gfx") {
        Vendor::Hip
    } else {
        return Err(Error::Unsupported {
            device: target.into(),
            what: "compiling without a device; targets are named like sm_90 or gfx90a".into(),
        });
    };
    Compiler::of(vendor)?.compile(target, source)
}
