//! What a device says about itself.

use std::ffi::CStr;

use crate::cuda::api::{CudaApi, Current, call};
use crate::cuda::vendor::Vendor;
use crate::prelude::*;

/// Numbers of attributes that CUDA alone has.
const CUDA_MAJOR: i32 = 75;
const CUDA_MINOR: i32 = 76;

/// The properties of a device by its number.
pub(super) fn read(api: &CudaApi, index: usize) -> Result<Properties> {
    let device = Queried {
        api,
        name: format!("{}:{index}", api.vendor.name()),
        number: device(api, index)?,
    };
    let [max_block, local_memory, sub_group, compute_units] = match api.vendor {
        Vendor::Cuda => [1, 8, 10, 16],
        Vendor::Hip => [56, 74, 87, 63],
    };
    Ok(Properties {
        model: device.model()?,
        driver: driver(api)?,
        architecture: device.architecture()?,
        memory: device.memory()?,
        compute_units: device.attribute(compute_units)? as usize,
        local_memory: device.attribute(local_memory)? as usize,
        max_block: device.attribute(max_block)? as usize,
        sub_groups: vec![device.attribute(sub_group)? as usize],
        fp64: true,
        fp16: true,
        is_cpu: false,
        name: device.name,
    })
}

/// The vendor's own number of a device.
pub(super) fn device(api: &CudaApi, index: usize) -> Result<i32> {
    let mut device = 0;
    call!(
        api,
        api.vendor.name(),
        device_get(&mut device, index as i32)
    )?;
    Ok(device)
}

/// The version of the driver. That of the compiler does not matter: it is loaded where something has to be compiled.
fn driver(api: &CudaApi) -> Result<String> {
    let (major, minor) = api.version()?;
    let driver = match api.vendor {
        Vendor::Cuda => "CUDA driver",
        Vendor::Hip => "HIP",
    };
    Ok(format!("{driver} {major}.{minor}"))
}

struct Queried<'a> {
    api: &'a CudaApi,
    name: String,
    number: i32,
}

impl Queried<'_> {
    fn attribute(&self, number: i32) -> Result<i32> {
        let mut value = 0;
        call!(
            self.api,
            &self.name,
            device_attribute(&mut value, number, self.number)
        )?;
        Ok(value)
    }

    fn memory(&self) -> Result<usize> {
        let mut bytes = 0;
        call!(self.api, &self.name, device_memory(&mut bytes, self.number))?;
        Ok(bytes)
    }

    fn model(&self) -> Result<String> {
        let mut text = [0u8; 256];
        let length = text.len() as i32;
        call!(
            self.api,
            &self.name,
            device_name(text.as_mut_ptr().cast(), length, self.number)
        )?;
        Ok(start(&text))
    }

    fn architecture(&self) -> Result<String> {
        match &self.api.current {
            Current::Cuda { .. } => {
                let major = self.attribute(CUDA_MAJOR)?;
                let minor = self.attribute(CUDA_MINOR)?;
                Ok(format!("sm_{major}{minor}"))
            }
            Current::Hip { properties, .. } => {
                // Ten times what the structure takes, aligned as it is.
                let mut bytes = [0u64; 2048];
                // SAFETY: writes a structure of fewer bytes.
                let code = unsafe { (properties.pointer)(bytes.as_mut_ptr().cast(), self.number) };
                self.api.check(&self.name, properties.name, code)?;
                let bytes: Vec<u8> = bytes.iter().flat_map(|word| word.to_ne_bytes()).collect();
                Ok(amd_architecture(&bytes))
            }
        }
    }
}

/// The text `gfx...` of HIP's property structure, whose layout differs among versions. It begins
/// with the model, 256 bytes that may hold such a text too.
pub(super) fn amd_architecture(structure: &[u8]) -> String {
    let rest = &structure[256..];
    let found = rest.windows(3).position(|bytes| bytes == b"gfx");
    found.map_or_else(|| "unknown".into(), |place| start(&rest[place..]))
}

/// The text up to the first zero.
fn start(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().trim().to_owned()
}
