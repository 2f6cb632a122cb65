//! Platforms, their devices and what these are.

use std::ffi::c_void;

use super::api::{self, Object, OpenClApi, library_error};
use super::status::check;
use crate::prelude::*;

const NVIDIA: u32 = 0x10DE;

/// A device that was found.
pub(crate) struct Listed {
    pub platform: Object,
    pub device: Object,
    pub properties: Properties,
}

/// All devices of all platforms, numbered in the order they are found. A platform that fails hides
/// no other.
pub(crate) fn list(api: &OpenClApi) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    let mut failed = None;
    for platform in platforms(api)? {
        if let Err(error) = list_platform(api, platform, &mut listed) {
            failed = Some(error);
        }
    }
    if listed.is_empty() {
        return Err(failed.unwrap_or_else(nothing_found));
    }
    Ok(listed)
}

fn list_platform(api: &OpenClApi, platform: Object, listed: &mut Vec<Listed>) -> Result<()> {
    for device in devices(api, platform)? {
        let properties = properties(api, platform, device, listed.len())?;
        listed.push(Listed {
            platform,
            device,
            properties,
        });
    }
    Ok(())
}

fn nothing_found() -> Error {
    let advice = "install the OpenCL driver of your device and see that `clinfo` lists it";
    library_error("the OpenCL loader", "finds no device", advice)
}

fn platforms(api: &OpenClApi) -> Result<Vec<Object>> {
    let call = |count, out, found| {
        // SAFETY: `out` has room for `count` platforms.
        unsafe { (api.get_platform_ids)(count, out, found) }
    };
    objects("clGetPlatformIDs", api::PLATFORM_NOT_FOUND, call)
}

fn devices(api: &OpenClApi, platform: Object) -> Result<Vec<Object>> {
    let call = |count, out, found| {
        // SAFETY: `out` has room for `count` devices.
        unsafe { (api.get_device_ids)(platform, api::DEVICE_TYPE_ALL, count, out, found) }
    };
    objects("clGetDeviceIDs", api::DEVICE_NOT_FOUND, call)
}

/// Asks for the number of objects, then for the objects; the code `none` means that there are none.
fn objects(
    name: &'static str,
    none: i32,
    call: impl Fn(u32, *mut Object, *mut u32) -> i32,
) -> Result<Vec<Object>> {
    let mut count = 0;
    let code = call(0, std::ptr::null_mut(), &mut count);
    if code == none || (code == api::SUCCESS && count == 0) {
        return Ok(Vec::new());
    }
    check("opencl", name, code)?;
    let mut objects = vec![std::ptr::null_mut(); count as usize];
    check(
        "opencl",
        name,
        call(count, objects.as_mut_ptr(), &mut count),
    )?;
    Ok(objects)
}

fn properties(
    api: &OpenClApi,
    platform: Object,
    device: Object,
    number: usize,
) -> Result<Properties> {
    let ask = Ask { api, device };
    let extensions = ask.text(api::DEVICE_EXTENSIONS)?;
    let has = |name: &str| {
        extensions
            .split_whitespace()
            .any(|extension| extension == name)
    };
    let platform_text = |what| platform_text(api, platform, what);
    Ok(Properties {
        name: format!("opencl:{number}"),
        model: ask.text(api::DEVICE_NAME)?,
        driver: format!(
            "{} {}, {}, driver {}",
            platform_text(api::PLATFORM_NAME)?,
            platform_text(api::PLATFORM_VERSION)?,
            ask.text(api::DEVICE_VERSION)?,
            ask.text(api::DRIVER_VERSION)?,
        ),
        architecture: architecture(&ask.text(api::DEVICE_VERSION)?),
        memory: ask.number::<u64>(api::DEVICE_GLOBAL_MEM_SIZE)? as usize,
        compute_units: ask.number::<u32>(api::DEVICE_MAX_COMPUTE_UNITS)? as usize,
        local_memory: ask.number::<u64>(api::DEVICE_LOCAL_MEM_SIZE)? as usize,
        max_block: ask.number::<usize>(api::DEVICE_MAX_WORK_GROUP_SIZE)?,
        sub_groups: used_first(sub_groups(&ask, &has)?),
        fp64: has("cl_khr_fp64"),
        fp16: has("cl_khr_fp16"),
        is_cpu: ask.number::<u64>(api::DEVICE_TYPE)? & api::DEVICE_TYPE_CPU != 0,
    })
}

/// `CL3.0` of `OpenCL 3.0 ...`: what `-cl-std` is given. Later minor versions add nothing that is
/// used here.
fn architecture(version: &str) -> String {
    let number = version.split_whitespace().nth(1).unwrap_or("1.0");
    match number.split('.').next() {
        Some("1") => format!("CL{number}"),
        Some("2") => "CL2.0".to_owned(),
        _ => "CL3.0".to_owned(),
    }
}

/// NVIDIA's driver does not report them: all of its devices have 32.
fn sub_groups(ask: &Ask, has: &impl Fn(&str) -> bool) -> Result<Vec<usize>> {
    if has("cl_intel_required_subgroup_size") {
        return ask.numbers(api::DEVICE_SUB_GROUP_SIZES_INTEL);
    }
    if ask.number::<u32>(api::DEVICE_VENDOR_ID)? == NVIDIA {
        return Ok(vec![32]);
    }
    if has("cl_amd_device_attribute_query") {
        return Ok(vec![
            ask.number::<u32>(api::DEVICE_WAVEFRONT_WIDTH_AMD)? as usize
        ]);
    }
    Ok(Vec::new())
}

/// 32 goes first, where there is none 16.
fn used_first(mut widths: Vec<usize>) -> Vec<usize> {
    let wanted = [32, 16]
        .into_iter()
        .find_map(|width| widths.iter().position(|&w| w == width));
    if let Some(place) = wanted {
        widths[..=place].rotate_right(1);
    }
    widths
}

/// Questions to one device.
pub(crate) struct Ask<'a> {
    pub api: &'a OpenClApi,
    pub device: Object,
}

impl Ask<'_> {
    fn bytes(&self, what: u32) -> Result<Vec<u8>> {
        info("clGetDeviceInfo", |size, out, needed| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (self.api.get_device_info)(self.device, what, size, out, needed) }
        })
    }

    fn text(&self, what: u32) -> Result<String> {
        Ok(text(&self.bytes(what)?))
    }

    /// A number of 4 or 8 bytes.
    pub(crate) fn number<T: Copy + Default>(&self, what: u32) -> Result<T> {
        let mut value = T::default();
        let place = (&raw mut value).cast::<c_void>();
        // SAFETY: `place` has room for a `T`.
        let code = unsafe {
            (self.api.get_device_info)(
                self.device,
                what,
                size_of::<T>(),
                place,
                std::ptr::null_mut(),
            )
        };
        check("opencl", "clGetDeviceInfo", code)?;
        Ok(value)
    }

    fn numbers(&self, what: u32) -> Result<Vec<usize>> {
        let bytes = self.bytes(what)?;
        let (numbers, _) = bytes.as_chunks();
        Ok(numbers
            .iter()
            .map(|&number| usize::from_ne_bytes(number))
            .collect())
    }
}

fn platform_text(api: &OpenClApi, platform: Object, what: u32) -> Result<String> {
    let bytes = info("clGetPlatformInfo", |size, out, needed| {
        // SAFETY: `out` has room for `size` bytes.
        unsafe { (api.get_platform_info)(platform, what, size, out, needed) }
    })?;
    Ok(text(&bytes))
}

/// Asks for the size, then for the bytes.
pub(crate) fn info(
    name: &'static str,
    call: impl Fn(usize, *mut c_void, *mut usize) -> i32,
) -> Result<Vec<u8>> {
    let mut size = 0;
    check("opencl", name, call(0, std::ptr::null_mut(), &mut size))?;
    let mut bytes = vec![0; size];
    check(
        "opencl",
        name,
        call(size, bytes.as_mut_ptr().cast(), &mut size),
    )?;
    Ok(bytes)
}

/// A string of C.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferred_width_goes_first() {
        assert_eq!(used_first(vec![4, 8, 16, 32, 64]), [32, 4, 8, 16, 64]);
        assert_eq!(used_first(vec![8, 16]), [16, 8]);
        assert_eq!(used_first(vec![64]), [64]);
    }

    #[test]
    fn versions_become_language_standards() {
        assert_eq!(architecture("OpenCL 3.0 (Build 0)"), "CL3.0");
        assert_eq!(architecture("OpenCL 3.1 LINUX"), "CL3.0");
        assert_eq!(architecture("OpenCL 2.1 "), "CL2.0");
        assert_eq!(architecture("OpenCL 1.2 CUDA"), "CL1.2");
    }

    #[test]
    fn text_ends_at_zero() {
        assert_eq!(text(b" name \0rest"), "name");
    }
}
