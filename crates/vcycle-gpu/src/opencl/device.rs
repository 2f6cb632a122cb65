//! A device: its context and its queue.

use std::sync::Mutex;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

use super::api::{self, Object, OpenClApi, library_error};
use super::kept::{Allocations, Graphs, HostBlocks, Kernels, Recording};
use super::platform::{Ask, Listed};
use super::status::check;
use crate::prelude::*;

/// Blocks of the host that devices had left when they were closed.
#[cfg(test)]
pub(super) static BLOCKS_LEFT: AtomicUsize = AtomicUsize::new(0);

/// One device with its context and its queue.
#[derive(Debug)]
pub(super) struct OpenCl {
    pub(super) api: &'static OpenClApi,
    pub(super) device: Object,
    pub(super) context: Object,
    pub(super) queue: Object,
    pub(super) properties: Properties,
    /// Most bytes of one allocation.
    pub(super) largest: usize,
    pub(super) allocations: Mutex<Allocations>,
    pub(super) pinned: Mutex<HostBlocks>,
    /// Arguments belong to a kernel, not to a launch: they are set and the kernel is queued under
    /// this lock. It also keeps what a graph queues together.
    pub(super) queueing: Mutex<Kernels>,
    pub(super) recording: Mutex<Option<Recording>>,
    pub(super) graphs: Mutex<Graphs>,
    /// All that were made, to be released at the end.
    pub(super) programs: Mutex<Vec<Handle>>,
    pub(super) kernels: Mutex<Vec<Handle>>,
    /// The place that the next task of the host waits for.
    pub(super) marked: Mutex<Option<Handle>>,
}

// SAFETY: all of OpenCL may be called from any thread at any time, but for the arguments of
// kernels, which are set under a lock.
unsafe impl Send for OpenCl {}
// SAFETY: calls of OpenCL may come from several threads at once; the arguments of kernels are set under a lock.
unsafe impl Sync for OpenCl {}

impl OpenCl {
    /// A device that was listed.
    pub(super) fn new(api: &'static OpenClApi, listed: Listed) -> Result<Self> {
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
        let queue = create_queue(api, context, device, &properties.name).inspect_err(|_| {
            // SAFETY: a context that nobody else has.
            unsafe { (api.release_context)(context) };
        })?;
        Ok(Self {
            api,
            device,
            context,
            queue,
            properties,
            largest: ask.number::<u64>(api::DEVICE_MAX_MEM_ALLOC_SIZE)? as usize,
            allocations: Mutex::default(),
            pinned: Mutex::default(),
            queueing: Mutex::default(),
            recording: Mutex::default(),
            graphs: Mutex::default(),
            programs: Mutex::default(),
            kernels: Mutex::default(),
            marked: Mutex::default(),
        })
    }

    pub(super) fn check(&self, call: &'static str, code: i32) -> Result<()> {
        check(&self.properties.name, call, code)
    }
}

impl Drop for OpenCl {
    /// Releases all that was made. Codes report bugs of ours only.
    fn drop(&mut self) {
        let _ = self.finish();
        #[cfg(test)]
        BLOCKS_LEFT.fetch_add(lock(&self.pinned).len(), Ordering::SeqCst);
        if let Some(event) = lock(&self.marked).take() {
            self.forget_event(event);
        }
        let (own, clones) = (lock(&self.kernels), lock(&self.queueing));
        for &kernel in own.iter().chain(clones.values()) {
            // SAFETY: a kernel that nobody launches any more, released once.
            unsafe { (self.api.release_kernel)(kernel as Object) };
        }
        for &program in lock(&self.programs).iter() {
            self.release(program as Object);
        }
        // SAFETY: nobody else has the queue, which is idle, and the context, each released once.
        unsafe {
            (self.api.release_queue)(self.queue);
            (self.api.release_context)(self.context);
        }
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

fn create_context(api: &OpenClApi, platform: Object, device: Object, name: &str) -> Result<Object> {
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
fn create_queue(api: &OpenClApi, context: Object, device: Object, name: &str) -> Result<Object> {
    let wanted = [api::QUEUE_PROPERTIES, api::QUEUE_PROFILING_ENABLE, 0];
    let mut code = 0;
    // SAFETY: a list that ends with zero.
    let queue = unsafe { (api.create_queue)(context, device, wanted.as_ptr(), &mut code) };
    check(name, "clCreateCommandQueueWithProperties", code)?;
    Ok(queue)
}
