//! The part of OpenCL that is used, as the C header declares it, loaded from the ICD loader.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::library::Wanted;
use crate::prelude::*;

/// Any of OpenCL's objects.
pub(crate) type Object = *mut c_void;
pub(super) type Callback = *const c_void;
pub(super) type Text = *const c_char;

pub(crate) const SUCCESS: i32 = 0;
pub(crate) const DEVICE_NOT_FOUND: i32 = -1;
pub(crate) const INVALID_KERNEL_NAME: i32 = -46;
pub(crate) const PLATFORM_NOT_FOUND: i32 = -1001;

pub(crate) const PLATFORM_VERSION: u32 = 0x0901;
pub(crate) const PLATFORM_NAME: u32 = 0x0902;
pub(crate) const CONTEXT_PLATFORM: isize = 0x1084;

pub(crate) const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
pub(crate) const DEVICE_TYPE_CPU: u64 = 2;
pub(crate) const DEVICE_TYPE: u32 = 0x1000;
pub(crate) const DEVICE_VENDOR_ID: u32 = 0x1001;
pub(crate) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub(crate) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
pub(crate) const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
pub(crate) const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
pub(crate) const DEVICE_LOCAL_MEM_SIZE: u32 = 0x1023;
pub(crate) const DEVICE_NAME: u32 = 0x102B;
pub(crate) const DRIVER_VERSION: u32 = 0x102D;
pub(crate) const DEVICE_VERSION: u32 = 0x102F;
pub(crate) const DEVICE_EXTENSIONS: u32 = 0x1030;
pub(crate) const DEVICE_SVM_CAPABILITIES: u32 = 0x1053;
pub(crate) const DEVICE_SUB_GROUP_SIZES_INTEL: u32 = 0x4108;
pub(crate) const DEVICE_WAVEFRONT_WIDTH_AMD: u32 = 0x4043;
pub(crate) const SVM_COARSE_GRAIN_BUFFER: u64 = 1;

pub(crate) const QUEUE_PROPERTIES: u64 = 0x1093;
pub(crate) const QUEUE_PROFILING_ENABLE: u64 = 2;
pub(crate) const MEM_READ_WRITE: u64 = 1;
pub(crate) const PROGRAM_BINARY_SIZES: u32 = 0x1165;
pub(crate) const PROGRAM_BINARIES: u32 = 0x1166;
pub(crate) const PROGRAM_BUILD_LOG: u32 = 0x1183;
pub(crate) const PROFILING_COMMAND_END: u32 = 0x1283;

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions, named as in the C header without `cl`.
        #[derive(Debug)]
        pub(crate) struct OpenClApi {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> $result,)*
            _library: Library,
        }

        impl OpenClApi {
            pub(super) fn load(wanted: &Wanted) -> Result<Self> {
                let library = wanted.load(&[])?;
                // SAFETY: the types are those of the C header.
                unsafe {
                    Ok(Self {
                        $($field: wanted.function(&library, $symbol)?.pointer,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    get_platform_ids = "clGetPlatformIDs": fn(u32, *mut Object, *mut u32) -> i32;
    get_platform_info = "clGetPlatformInfo": fn(Object, u32, usize, *mut c_void, *mut usize) -> i32;
    get_device_ids = "clGetDeviceIDs": fn(Object, u64, u32, *mut Object, *mut u32) -> i32;
    get_device_info = "clGetDeviceInfo": fn(Object, u32, usize, *mut c_void, *mut usize) -> i32;
    create_context = "clCreateContext":
        fn(*const isize, u32, *const Object, Callback, *mut c_void, *mut i32) -> Object;
    create_queue = "clCreateCommandQueueWithProperties":
        fn(Object, Object, *const u64, *mut i32) -> Object;
    release_context = "clReleaseContext": fn(Object) -> i32;
    release_queue = "clReleaseCommandQueue": fn(Object) -> i32;
    flush = "clFlush": fn(Object) -> i32;
    finish = "clFinish": fn(Object) -> i32;

    svm_alloc = "clSVMAlloc": fn(Object, u64, usize, u32) -> *mut c_void;
    svm_free = "clSVMFree": fn(Object, *mut c_void) -> ();
    enqueue_svm_memcpy = "clEnqueueSVMMemcpy":
        fn(Object, u32, *mut c_void, *const c_void, usize, u32, *const Object, *mut Object) -> i32;
    enqueue_svm_mem_fill = "clEnqueueSVMMemFill":
        fn(Object, *mut c_void, *const c_void, usize, usize, u32, *const Object, *mut Object) -> i32;

    create_program_with_source = "clCreateProgramWithSource":
        fn(Object, u32, *const Text, *const usize, *mut i32) -> Object;
    create_program_with_binary = "clCreateProgramWithBinary":
        fn(Object, u32, *const Object, *const usize, *const *const u8, *mut i32, *mut i32) -> Object;
    build_program = "clBuildProgram":
        fn(Object, u32, *const Object, Text, Callback, *mut c_void) -> i32;
    get_program_info = "clGetProgramInfo": fn(Object, u32, usize, *mut c_void, *mut usize) -> i32;
    get_program_build_info = "clGetProgramBuildInfo":
        fn(Object, Object, u32, usize, *mut c_void, *mut usize) -> i32;
    release_program = "clReleaseProgram": fn(Object) -> i32;

    create_kernel = "clCreateKernel": fn(Object, Text, *mut i32) -> Object;
    release_kernel = "clReleaseKernel": fn(Object) -> i32;
    clone_kernel = "clCloneKernel": fn(Object, *mut i32) -> Object;
    set_kernel_arg = "clSetKernelArg": fn(Object, u32, usize, *const c_void) -> i32;
    set_kernel_arg_svm_pointer = "clSetKernelArgSVMPointer": fn(Object, u32, *const c_void) -> i32;
    enqueue_nd_range_kernel = "clEnqueueNDRangeKernel":
        fn(Object, Object, u32, *const usize, *const usize, *const usize, u32, *const Object, *mut Object) -> i32;

    enqueue_marker = "clEnqueueMarkerWithWaitList": fn(Object, u32, *const Object, *mut Object) -> i32;
    wait_for_events = "clWaitForEvents": fn(u32, *const Object) -> i32;
    get_event_profiling_info = "clGetEventProfilingInfo":
        fn(Object, u32, usize, *mut c_void, *mut usize) -> i32;
    release_event = "clReleaseEvent": fn(Object) -> i32;
}

pub(super) const LOADER: Wanted = Wanted {
    driver: "opencl",
    names: if cfg!(windows) {
        &["OpenCL.dll"]
    } else if cfg!(target_os = "macos") {
        &["/System/Library/Frameworks/OpenCL.framework/OpenCL"]
    } else {
        &["libOpenCL.so.1", "libOpenCL.so"]
    },
    variable: Some("VCYCLE_OPENCL"),
    advice: "install an OpenCL loader (Debian: ocl-icd-libopencl1) and the driver of your device, \
             or set VCYCLE_OPENCL to the path of the library",
};

/// The functions of the library named by `VCYCLE_OPENCL`, or of the system's.
pub(crate) fn api() -> Result<&'static OpenClApi> {
    static API: OnceLock<OpenClApi> = OnceLock::new();
    if let Some(api) = API.get() {
        return Ok(api);
    }
    let api = OpenClApi::load(&LOADER)?;
    Ok(API.get_or_init(|| api))
}

pub(crate) fn library_error(library: &str, problem: &str, advice: &str) -> Error {
    Error::Library {
        driver: "opencl",
        library: library.to_owned(),
        problem: problem.to_owned(),
        advice: advice.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_library_says_what_to_install() {
        let missing = Wanted {
            names: &["libno-such-opencl.so"],
            variable: None,
            ..LOADER
        };
        let message = OpenClApi::load(&missing).unwrap_err().to_string();
        let told = message.contains("No such file") || !cfg!(target_os = "linux");
        assert!(told, "{message}");
        assert!(
            message.starts_with("opencl: libno-such-opencl.so cannot be loaded"),
            "{message}"
        );
        assert!(message.contains("install an OpenCL loader"), "{message}");
    }
}
