//! The functions of the driver libraries. HIP mirrors CUDA's driver interface: one table, two
//! columns of names.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use libloading::Library;

use crate::cuda::flags::FlagFunctions;
use crate::cuda::vendor::{OncePerVendor, Opaque, Vendor};
use crate::library::Function;
use crate::prelude::*;

/// The functions of a table return an error code, 0 where all is well.
macro_rules! table {
    ($($field:ident($($argument:ty),*) = $cuda:literal | $hip:literal;)*) => {
        /// Functions that both vendors have, by what they do.
        #[derive(Debug)]
        pub(super) struct CudaApi {
            pub vendor: Vendor,
            pub current: Current,
            /// None where the vendor has none that can be recorded.
            pub flags: Option<FlagFunctions>,
            $(pub $field: Function<unsafe extern "system" fn($($argument),*) -> i32>,)*
        }

        impl CudaApi {
            fn load(vendor: Vendor) -> Result<Self> {
                let wanted = vendor.driver_library();
                // The driver does not survive being unloaded.
                let library: &'static Library = Box::leak(Box::new(wanted.load(&vendor.folders())?));
                // SAFETY: both vendors document these functions with these arguments.
                unsafe {
                    Ok(Self {
                        vendor,
                        current: Current::load(vendor, library)?,
                        flags: FlagFunctions::load(vendor, library),
                        $($field: wanted.function(library, match vendor {
                            Vendor::Cuda => $cuda,
                            Vendor::Hip => $hip,
                        })?,)*
                    })
                }
            }
        }
    };
}

table! {
    init(u32) = "cuInit" | "hipInit";
    version(*mut i32) = "cuDriverGetVersion" | "hipRuntimeGetVersion";
    error_string(i32, *mut *const c_char) = "cuGetErrorString" | "hipDrvGetErrorString";
    device_count(*mut i32) = "cuDeviceGetCount" | "hipGetDeviceCount";
    device_get(*mut i32, i32) = "cuDeviceGet" | "hipDeviceGet";
    device_name(*mut c_char, i32, i32) = "cuDeviceGetName" | "hipDeviceGetName";
    device_memory(*mut usize, i32) = "cuDeviceTotalMem_v2" | "hipDeviceTotalMem";
    device_attribute(*mut i32, i32, i32) = "cuDeviceGetAttribute" | "hipDeviceGetAttribute";
    memory_info(*mut usize, *mut usize) = "cuMemGetInfo_v2" | "hipMemGetInfo";
    allocate(*mut Address, usize) = "cuMemAlloc_v2" | "hipMalloc";
    free(Address) = "cuMemFree_v2" | "hipFree";
    allocate_host(*mut Opaque, usize, u32) = "cuMemHostAlloc" | "hipHostMalloc";
    free_host(Opaque) = "cuMemFreeHost" | "hipHostFree";
    upload(Address, *const c_void, usize, Opaque) = "cuMemcpyHtoDAsync_v2" | "hipMemcpyHtoDAsync";
    download(Opaque, Address, usize, Opaque) = "cuMemcpyDtoHAsync_v2" | "hipMemcpyDtoHAsync";
    copy(Address, Address, usize, Opaque) = "cuMemcpyDtoDAsync_v2" | "hipMemcpyDtoDAsync";
    fill(Address, u8, usize, Opaque) = "cuMemsetD8Async" | "hipMemsetD8Async";
    module_load(*mut Opaque, *const c_void) = "cuModuleLoadData" | "hipModuleLoadData";
    module_unload(Opaque) = "cuModuleUnload" | "hipModuleUnload";
    module_function(*mut Opaque, Opaque, *const c_char) =
        "cuModuleGetFunction" | "hipModuleGetFunction";
    launch(Opaque, u32, u32, u32, u32, u32, u32, u32, Opaque, *mut Opaque, *mut Opaque) =
        "cuLaunchKernel" | "hipModuleLaunchKernel";
    stream_create(*mut Opaque, u32) = "cuStreamCreate" | "hipStreamCreateWithFlags";
    stream_free(Opaque) = "cuStreamDestroy_v2" | "hipStreamDestroy";
    stream_wait(Opaque) = "cuStreamSynchronize" | "hipStreamSynchronize";
    stream_follow(Opaque, Opaque, u32) = "cuStreamWaitEvent" | "hipStreamWaitEvent";
    all_wait() = "cuCtxSynchronize" | "hipDeviceSynchronize";
    address_fact(*mut c_void, i32, Address) = "cuPointerGetAttribute" | "hipPointerGetAttribute";
    capture_begin(Opaque, i32) = "cuStreamBeginCapture_v2" | "hipStreamBeginCapture";
    capture_end(Opaque, *mut Opaque) = "cuStreamEndCapture" | "hipStreamEndCapture";
    capture_mode(*mut i32) =
        "cuThreadExchangeStreamCaptureMode" | "hipThreadExchangeStreamCaptureMode";
    graph_instantiate(*mut Opaque, Opaque, u64) =
        "cuGraphInstantiateWithFlags" | "hipGraphInstantiateWithFlags";
    graph_free(Opaque) = "cuGraphDestroy" | "hipGraphDestroy";
    graph_launch(Opaque, Opaque) = "cuGraphLaunch" | "hipGraphLaunch";
    graph_exec_free(Opaque) = "cuGraphExecDestroy" | "hipGraphExecDestroy";
    event_create(*mut Opaque, u32) = "cuEventCreate" | "hipEventCreateWithFlags";
    event_free(Opaque) = "cuEventDestroy_v2" | "hipEventDestroy";
    event_record(Opaque, Opaque) = "cuEventRecord" | "hipEventRecord";
    event_wait(Opaque) = "cuEventSynchronize" | "hipEventSynchronize";
    event_elapsed(*mut f32, Opaque, Opaque) = "cuEventElapsedTime" | "hipEventElapsedTime";
}

/// Calls a function of a table; the device, or the vendor, is named where it fails.
macro_rules! call {
    ($api:expr, $device:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = &$api.$function;
        // SAFETY: the pointer has the signature of the table; what the arguments point to is as
        // large as the function expects and outlives the call.
        let code = unsafe { (function.pointer)($($argument),*) };
        $api.check($device, function.name, code)
    }};
}
pub(super) use call;

/// How a thread says which device it means: the one thing the vendors do differently.
#[derive(Debug)]
pub(super) enum Current {
    Cuda {
        retain: Function<unsafe extern "system" fn(*mut Opaque, i32) -> i32>,
        release: Function<unsafe extern "system" fn(i32) -> i32>,
        set: Function<unsafe extern "system" fn(Opaque) -> i32>,
        /// Says how threads wait; none in old libraries.
        waiting: Option<Function<unsafe extern "system" fn(i32, u32) -> i32>>,
    },
    Hip {
        set: Function<unsafe extern "system" fn(i32) -> i32>,
        properties: Function<unsafe extern "system" fn(*mut c_void, i32) -> i32>,
    },
}

impl Current {
    fn load(vendor: Vendor, library: &Library) -> Result<Self> {
        let wanted = vendor.driver_library();
        // SAFETY: documented with these arguments.
        unsafe {
            Ok(match vendor {
                Vendor::Cuda => Self::Cuda {
                    retain: wanted.function(library, "cuDevicePrimaryCtxRetain")?,
                    release: wanted.function(library, "cuDevicePrimaryCtxRelease_v2")?,
                    set: wanted.function(library, "cuCtxSetCurrent")?,
                    waiting: wanted
                        .function(library, "cuDevicePrimaryCtxSetFlags_v2")
                        .ok(),
                },
                Vendor::Hip => Self::Hip {
                    set: wanted.function(library, "hipSetDevice")?,
                    properties: wanted.function(library, "hipGetDevicePropertiesR0600")?,
                },
            })
        }
    }
}

impl Current {
    /// Makes a device the current one of this thread, by its context or by its number.
    pub fn enter(&self, context: Opaque, device: i32) -> (&'static str, i32) {
        match self {
            // SAFETY: the context was retained, and is released when nobody enters it any more.
            Current::Cuda { set, .. } => (set.name, unsafe { (set.pointer)(context) }),
            // SAFETY: the number of an existing device.
            Current::Hip { set, .. } => (set.name, unsafe { (set.pointer)(device) }),
        }
    }
}

impl CudaApi {
    /// Releases what [`context`](Self::context) has given.
    pub fn release_context(&self, context: Opaque, device: i32) {
        if let Current::Cuda { release, .. } = &self.current
            && !context.is_null()
        {
            // SAFETY: the number of a device whose context was retained. Its code reports bugs of ours only.
            unsafe { (release.pointer)(device) };
        }
    }

    /// The context that all users of a device in this process share; none of HIP, which takes part in it by itself.
    pub fn context(&self, name: &str, device: i32) -> Result<Opaque> {
        let mut context = ptr::null_mut();
        let Current::Cuda {
            retain, waiting, ..
        } = &self.current
        else {
            return Ok(context);
        };
        // Of two threads on one core one that waits would keep the other from what it waits for.
        if let Some(waiting) = waiting
            && std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1)
        {
            // SAFETY: the number of an existing device. Where it is refused, threads wait as they do by themselves.
            unsafe { (waiting.pointer)(device, YIELDING) };
        }
        // SAFETY: writes one handle.
        let code = unsafe { (retain.pointer)(&mut context, device) };
        self.check(name, retain.name, code)?;
        Ok(context)
    }

    /// A vendor's functions, loaded and initialized on first use.
    pub fn of(vendor: Vendor) -> Result<&'static Self> {
        static LOADED: OncePerVendor<CudaApi> = OncePerVendor::new();
        LOADED.get(vendor, || {
            let api = Self::load(vendor)?;
            api.initialize()?;
            Ok(api)
        })
    }

    fn initialize(&self) -> Result<()> {
        let (major, minor) = self.version()?;
        let needed = self.vendor.oldest();
        if major < needed {
            let problem = format!("is of version {major}.{minor}, {needed}.0 is needed");
            return Err(self.vendor.driver_library().unfit(problem));
        }
        match call!(self, self.vendor.name(), init(0)) {
            Err(Error::Call {
                code: NO_DEVICE, ..
            }) => Err(self.vendor.no_device()),
            Err(error) => Err(self
                .vendor
                .driver_library()
                .unfit(format!("does not start ({error})"))),
            Ok(()) => Ok(()),
        }
    }

    /// The version of CUDA or HIP that the library implements.
    pub fn version(&self) -> Result<(i32, i32)> {
        let mut version = 0;
        call!(self, self.vendor.name(), version(&mut version))?;
        Ok(match self.vendor {
            Vendor::Cuda => (version / 1000, version % 1000 / 10),
            Vendor::Hip => (version / 10_000_000, version / 100_000 % 100),
        })
    }

    /// The result that an error code means.
    pub fn check(&self, device: &str, call: &'static str, code: i32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let (meaning, is_lost) = (self.meaning(code), LOST.contains(&code));
        Err(Error::of_call(device, call, code, meaning, is_lost))
    }

    fn meaning(&self, code: i32) -> String {
        let mut text = ptr::null();
        // SAFETY: gives a text that is never freed, or null.
        let known = unsafe { (self.error_string.pointer)(code, &mut text) };
        if known != 0 || text.is_null() {
            return "an error without a name".into();
        }
        // SAFETY: a text that ends with a zero.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }
}

/// Threads that wait let others run.
const YIELDING: u32 = 2;

/// Error codes, of the same value and meaning in CUDA and HIP.
pub(super) const OUT_OF_MEMORY: i64 = 2;
pub(super) const NO_DEVICE: i64 = 100;
pub(super) const NOT_FOUND: i64 = 500;

/// Codes after which every further call fails: the context is gone, memory or a link has an error
/// that cannot be corrected, or a kernel did what it may not.
const LOST: [i32; 18] = [
    4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 806, 810, 911,
];
