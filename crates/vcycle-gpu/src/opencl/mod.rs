//! OpenCL 3, or 2 with shared virtual memory: Intel, and any other device that has a driver.
//!
//! Memory is coarse-grained shared virtual memory, so that addresses are plain pointers as with the
//! other vendors. A device lives as long as the process; nothing of it is ever released but memory,
//! events and graphs.

mod api;
mod memory;
mod platform;
mod program;
mod queue;
mod status;

use std::sync::Mutex;

use self::api::{Api, Object, api, library_error};
use self::memory::{Allocations, Pinned};
use self::platform::{Ask, Listed};
use self::queue::{Command, Graphs, Kernels, Recording};
use self::status::check;
use crate::driver::{Address, Driver, Handle};
use crate::error::{Error, Result};
use crate::kernel::{Argument, Shape, Source};
use crate::properties::Properties;

/// All devices of all platforms.
pub(crate) fn devices() -> Result<Vec<Properties>> {
    let listed = platform::list(api()?)?;
    Ok(listed.into_iter().map(|listed| listed.properties).collect())
}

/// A device by its number in [`devices`].
pub(crate) fn open(index: usize) -> Result<Box<dyn Driver>> {
    let api = api()?;
    let listed = platform::list(api)?.into_iter().nth(index);
    let listed = listed.ok_or_else(|| Error::NoDevice {
        name: format!("opencl:{index}"),
        known: "it is no longer listed".to_owned(),
    })?;
    Ok(Box::new(OpenCl::new(api, listed)?))
}

/// One device with its context and its queue.
#[derive(Debug)]
struct OpenCl {
    api: &'static Api,
    device: Object,
    context: Object,
    queue: Object,
    properties: Properties,
    /// Most bytes of one allocation.
    largest: usize,
    allocations: Mutex<Allocations>,
    pinned: Mutex<Pinned>,
    /// Arguments belong to a kernel, not to a launch: they are set and the kernel is queued under
    /// this lock. It also keeps what a graph queues together.
    queueing: Mutex<Kernels>,
    recording: Mutex<Option<Recording>>,
    graphs: Mutex<Graphs>,
}

// SAFETY: all of OpenCL may be called from any thread at any time, but for the arguments of
// kernels, which are set under a lock.
unsafe impl Send for OpenCl {}
// SAFETY: calls of OpenCL may come from several threads at once; the arguments of kernels are set under a lock.
unsafe impl Sync for OpenCl {}

impl OpenCl {
    fn new(api: &'static Api, listed: Listed) -> Result<Self> {
        let Listed {
            platform,
            device,
            properties,
        } = listed;
        check_version(&properties)?;
        let ask = Ask { api, device };
        if ask.number::<u64>(api::DEVICE_SVM_CAPABILITIES)? & api::SVM_COARSE_GRAIN_BUFFER == 0 {
            return Err(Error::Unsupported {
                device: properties.name,
                what: "shared virtual memory".to_owned(),
            });
        }
        let context = create_context(api, platform, device, &properties.name)?;
        Ok(Self {
            api,
            device,
            context,
            queue: create_queue(api, context, device, &properties.name)?,
            properties,
            largest: ask.number::<u64>(api::DEVICE_MAX_MEM_ALLOC_SIZE)? as usize,
            allocations: Mutex::default(),
            pinned: Mutex::default(),
            queueing: Mutex::default(),
            recording: Mutex::default(),
            graphs: Mutex::default(),
        })
    }

    fn check(&self, call: &'static str, code: i32) -> Result<()> {
        check(&self.properties.name, call, code)
    }
}

fn check_version(properties: &Properties) -> Result<()> {
    if !properties.architecture.starts_with("CL1.") {
        return Ok(());
    }
    let problem = format!("offers {} only", properties.architecture);
    let advice = "install a driver with OpenCL 3, or use the vendor's own interface";
    Err(library_error(&properties.driver, &problem, advice))
}

fn create_context(api: &Api, platform: Object, device: Object, name: &str) -> Result<Object> {
    let wanted = [api::CONTEXT_PLATFORM, platform as isize, 0];
    let mut code = 0;
    let none = std::ptr::null_mut();
    // SAFETY: a list that ends with zero, one device, no callback.
    let context =
        unsafe { (api.create_context)(wanted.as_ptr(), 1, &device, none, none, &mut code) };
    check(name, "clCreateContext", code)?;
    Ok(context)
}

/// In order, with times of events.
fn create_queue(api: &Api, context: Object, device: Object, name: &str) -> Result<Object> {
    let wanted = [api::QUEUE_PROPERTIES, api::QUEUE_PROFILING_ENABLE, 0];
    let mut code = 0;
    // SAFETY: a list that ends with zero.
    let queue = unsafe { (api.create_queue)(context, device, wanted.as_ptr(), &mut code) };
    check(name, "clCreateCommandQueueWithProperties", code)?;
    Ok(queue)
}

impl Driver for OpenCl {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn check_address(&self, address: Address) -> Result<()> {
        self.check_shared(address)
    }

    fn free_memory(&self) -> Result<usize> {
        Ok(self.free_bytes())
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        self.refuse_recording("an allocation")?;
        self.allocate_shared(bytes)
    }

    fn free(&self, address: Address) {
        self.free_shared(address);
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        self.allocate_host(bytes)
    }

    fn free_pinned(&self, pointer: *mut u8) {
        self.free_host(pointer);
    }

    unsafe fn upload(&self, to: Address, from: *const u8, bytes: usize) -> Result<()> {
        self.submit(Command::Copy {
            to,
            from: from as Address,
            bytes,
        })
    }

    unsafe fn download(&self, to: *mut u8, from: Address, bytes: usize) -> Result<()> {
        self.submit(Command::Copy {
            to: to as Address,
            from,
            bytes,
        })
    }

    fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<()> {
        self.submit(Command::Copy { to, from, bytes })
    }

    fn clear(&self, address: Address, bytes: usize) -> Result<()> {
        self.submit(Command::Clear { address, bytes })
    }

    fn compile(&self, source: &Source) -> Result<Vec<u8>> {
        self.compile_to_binary(source)
    }

    fn load(&self, code: &[u8], source: &Source) -> Result<Handle> {
        match self.program_of_binary(code) {
            Some(program) => Ok(program as Handle),
            None => Ok(self.program_of_source(source)? as Handle),
        }
    }

    fn kernel(&self, module: Handle, name: &str) -> Result<Option<Handle>> {
        self.kernel_of_program(module as Object, name)
    }

    fn launch(&self, kernel: Handle, shape: Shape, arguments: &[Argument]) -> Result<()> {
        self.submit(Command::Launch {
            kernel,
            shape,
            arguments: arguments.to_vec(),
        })
    }

    fn begin_capture(&self) -> Result<()> {
        self.begin_recording();
        Ok(())
    }

    fn end_capture(&self) -> Result<Handle> {
        self.end_recording()
    }

    fn replay(&self, graph: Handle) -> Result<()> {
        self.submit_graph(graph)
    }

    fn free_graph(&self, graph: Handle) {
        self.forget_graph(graph);
    }

    fn record(&self) -> Result<Handle> {
        self.refuse_recording("an event")?;
        self.marker()
    }

    fn wait(&self, event: Handle) -> Result<()> {
        self.refuse_recording("waiting")?;
        let event = event as Object;
        // SAFETY: an event of `record` that was not forgotten.
        self.check("clWaitForEvents", unsafe {
            (self.api.wait_for_events)(1, &event)
        })
    }

    fn elapsed(&self, from: Handle, to: Handle) -> Result<f64> {
        let nanoseconds = self.ended(to)?.saturating_sub(self.ended(from)?);
        Ok(nanoseconds as f64 * 1e-6)
    }

    fn free_event(&self, event: Handle) {
        // SAFETY: an event of `record` that was not forgotten. Its code tells of bugs of ours only.
        unsafe { (self.api.release_event)(event as Object) };
    }

    fn synchronize(&self) -> Result<()> {
        self.refuse_recording("waiting")?;
        self.finish()
    }
}
