//! One GPU.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Mutex;

use crate::counters::{count_closed_stream, count_stream};
use crate::cuda::api::{self, CudaApi, call};
use crate::cuda::compiler::Compiler;
use crate::cuda::flags::{FlagFunctions, FlagOperation};
use crate::cuda::properties;
use crate::cuda::vendor::Opaque;
use crate::driver::Driver;
use crate::prelude::*;
use crate::proxy::{HostTask, HostTaskMethod};

/// A stream that does not wait for the null stream.
const NON_BLOCKING: u32 = 1;
/// Only calls of the capturing thread can spoil a capture.
const THREAD_LOCAL: i32 = 1;
/// Nothing spoils a capture.
const RELAXED: i32 = 2;
/// The number of the device that memory is of.
const DEVICE_ORDINAL: i32 = 9;
/// More arguments than any kernel has.
const MOST_ARGUMENTS: usize = 64;

thread_local! {
    /// The stream that this thread records into; null where it records nothing.
    static RECORDING: Cell<Opaque> = const { Cell::new(ptr::null_mut()) };
}

/// A device, its context and its two streams.
#[derive(Debug)]
pub(super) struct CudaGpu {
    api: &'static CudaApi,
    properties: Properties,
    device: i32,
    context: Opaque,
    stream: Opaque,
    recording: Opaque,
    /// Unused events, to be used again.
    events: Mutex<Vec<Handle>>,
    /// All that were loaded.
    modules: Mutex<Vec<Handle>>,
}

// SAFETY: the pointers are handles of the driver, which any thread may use at any time.
unsafe impl Send for CudaGpu {}
// SAFETY: the driver synchronises calls with the same handles, so that several threads may use them at once.
unsafe impl Sync for CudaGpu {}

/// Calls a function with the device's context current.
macro_rules! on {
    ($gpu:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $gpu.enter()
            .and_then(|()| call!($gpu.api, &$gpu.properties.name, $function($($argument),*)))
    };
}

impl CudaGpu {
    pub fn open(api: &'static CudaApi, index: usize) -> Result<Self> {
        let mut gpu = Self {
            api,
            properties: properties::read(api, index)?,
            device: properties::device(api, index)?,
            context: ptr::null_mut(),
            stream: ptr::null_mut(),
            recording: ptr::null_mut(),
            events: Mutex::default(),
            modules: Mutex::default(),
        };
        gpu.context = api.context(&gpu.properties.name, gpu.device)?;
        on!(gpu, stream_create(&mut gpu.stream, NON_BLOCKING))?;
        count_stream();
        on!(gpu, stream_create(&mut gpu.recording, NON_BLOCKING))?;
        count_stream();
        Ok(gpu)
    }

    /// Makes the device the current one of this thread. Asked for every time, as others in this
    /// process may have chosen another; the driver does nothing where it is current already.
    fn enter(&self) -> Result<()> {
        let (name, code) = self.api.current.enter(self.context, self.device);
        self.api.check(&self.properties.name, name, code)
    }

    fn is_recording(&self) -> bool {
        RECORDING.get() == self.recording
    }

    /// Where this thread's work goes.
    fn queue(&self) -> Opaque {
        if self.is_recording() {
            self.recording
        } else {
            self.stream
        }
    }

    /// Does what is no part of the recorded work but may be done meanwhile.
    fn aside<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.is_recording() {
            return work();
        }
        let mut mode = RELAXED;
        on!(self, capture_mode(&mut mode))?;
        let result = work();
        on!(self, capture_mode(&mut mode))?;
        result
    }

    fn flags(&self) -> &FlagFunctions {
        self.api.flags.as_ref().expect("asked for before")
    }

    /// Queues operations on numbers in memory of the host.
    fn queue_flags<const N: usize>(&self, mut operations: [FlagOperation; N]) -> Result<()> {
        self.enter()?;
        let batch = &self.flags().batch;
        let (queue, operations) = (self.queue(), operations.as_mut_ptr());
        // SAFETY: numbers in pinned memory that is given back when the stream is idle, and as many operations as it says.
        let code = unsafe { (batch.pointer)(queue, N as u32, operations, 0) };
        self.api.check(&self.properties.name, batch.name, code)
    }

    fn new_event(&self) -> Result<Handle> {
        if let Some(event) = lock(&self.events).pop() {
            return Ok(event);
        }
        let mut event = ptr::null_mut();
        on!(self, event_create(&mut event, 0))?;
        Ok(event as Handle)
    }
}

impl Drop for CudaGpu {
    /// Gives back all that was made. Failures cannot be reported here; after the end of the driver all calls fail.
    fn drop(&mut self) {
        for &event in lock(&self.events).iter() {
            let _ = on!(self, event_free(pointer(event)));
        }
        for &module in lock(&self.modules).iter() {
            let _ = on!(self, module_unload(pointer(module)));
        }
        for stream in [self.stream, self.recording] {
            if !stream.is_null() {
                let _ = on!(self, stream_free(stream));
                count_closed_stream();
            }
        }
        self.api.release_context(self.context, self.device);
    }
}

fn pointer(handle: Handle) -> Opaque {
    handle as usize as Opaque
}

/// Where the value of an argument is.
fn place(argument: &Argument) -> Opaque {
    let place: *const c_void = match argument {
        Argument::Address(value) | Argument::U64(value) => ptr::from_ref(value).cast(),
        Argument::I32(value) => ptr::from_ref(value).cast(),
        Argument::U32(value) => ptr::from_ref(value).cast(),
        Argument::I64(value) => ptr::from_ref(value).cast(),
        Argument::F32(value) => ptr::from_ref(value).cast(),
        Argument::F64(value) => ptr::from_ref(value).cast(),
        Argument::C32(value) => ptr::from_ref(value).cast(),
        Argument::C64(value) => ptr::from_ref(value).cast(),
    };
    place.cast_mut()
}

impl Driver for CudaGpu {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn vendor_stream(&self) -> Result<Option<Handle>> {
        self.enter()?;
        Ok(Some(self.queue() as Handle))
    }

    fn order(&self, before: Option<Handle>, after: Option<Handle>) -> Result<()> {
        let stream = |of: Option<Handle>| of.map_or(self.stream, pointer);
        let event = self.new_event()?;
        on!(self, event_record(pointer(event), stream(before)))?;
        on!(self, stream_follow(stream(after), pointer(event), 0))?;
        // The waiting stream has noted the place already: the event may be recorded again.
        self.free_event(event);
        Ok(())
    }

    fn check_address(&self, address: Address) -> Result<()> {
        let mut device = -1_i32;
        let place = ptr::from_mut(&mut device).cast();
        let found = match on!(self, address_fact(place, DEVICE_ORDINAL, address)) {
            Ok(()) if device == self.device => return Ok(()),
            Ok(()) => format!("it is of {}:{device}", self.api.vendor.name()),
            Err(error) => error.to_string(),
        };
        Err(Error::Elsewhere {
            device: self.properties.name.clone(),
            address,
            found,
        })
    }

    fn synchronize_all(&self) -> Result<()> {
        on!(self, all_wait())
    }

    fn free_memory(&self) -> Result<usize> {
        let (mut free, mut total) = (0, 0);
        self.aside(|| on!(self, memory_info(&mut free, &mut total)))?;
        Ok(free)
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        let mut address = 0;
        match on!(self, allocate(&mut address, bytes)) {
            Err(Error::Call {
                code: api::OUT_OF_MEMORY,
                ..
            }) => {
                let free = self.free_memory().unwrap_or(0);
                Err(Error::out_of_memory(&self.properties, bytes, free))
            }
            result => result.map(|()| address),
        }
    }

    fn free(&self, address: Address) {
        // A failure cannot be reported here; the next call reports a lost device.
        let _ = self.aside(|| on!(self, free(address)));
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        let mut place = ptr::null_mut();
        self.aside(|| on!(self, allocate_host(&mut place, bytes, 0)))?;
        Ok(place.cast())
    }

    fn maps_pinned(&self) -> bool {
        true
    }

    fn free_pinned(&self, pointer: *mut u8) {
        let _ = self.aside(|| on!(self, free_host(pointer.cast())));
    }

    unsafe fn upload(&self, to: Address, from: *const u8, bytes: usize) -> Result<()> {
        on!(self, upload(to, from.cast(), bytes, self.queue()))
    }

    unsafe fn download(&self, to: *mut u8, from: Address, bytes: usize) -> Result<()> {
        on!(self, download(to.cast(), from, bytes, self.queue()))
    }

    fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<()> {
        on!(self, copy(to, from, bytes, self.queue()))
    }

    fn clear(&self, address: Address, bytes: usize) -> Result<()> {
        on!(self, fill(address, 0, bytes, self.queue()))
    }

    fn compile(&self, source: &Source) -> Result<Vec<u8>> {
        Compiler::of(self.api.vendor)?.compile(&self.properties.architecture, source)
    }

    fn load(&self, code: &[u8], _source: &Source) -> Result<Handle> {
        let mut module = ptr::null_mut();
        self.aside(|| on!(self, module_load(&mut module, code.as_ptr().cast())))?;
        lock(&self.modules).push(module as Handle);
        Ok(module as Handle)
    }

    fn kernel(&self, module: Handle, name: &str) -> Result<Option<Handle>> {
        let Ok(name) = CString::new(name) else {
            return Ok(None);
        };
        let mut kernel = ptr::null_mut();
        let found = self.aside(|| {
            on!(
                self,
                module_function(&mut kernel, pointer(module), name.as_ptr())
            )
        });
        match found {
            Err(Error::Call {
                code: api::NOT_FOUND,
                ..
            }) => Ok(None),
            result => result.map(|()| Some(kernel as Handle)),
        }
    }

    fn launch(&self, kernel: Handle, shape: Shape, arguments: &[Argument]) -> Result<()> {
        let mut places = [ptr::null_mut(); MOST_ARGUMENTS];
        assert!(
            arguments.len() <= MOST_ARGUMENTS,
            "a kernel of that many arguments"
        );
        for (to, argument) in places.iter_mut().zip(arguments) {
            *to = place(argument);
        }
        let Shape { blocks, threads } = shape;
        let (kernel, queue) = (pointer(kernel), self.queue());
        let (places, none) = (places.as_mut_ptr(), ptr::null_mut());
        on!(
            self,
            launch(kernel, blocks, 1, 1, threads, 1, 1, 0, queue, places, none)
        )
    }

    fn begin_capture(&self) -> Result<()> {
        on!(self, capture_begin(self.recording, THREAD_LOCAL))?;
        RECORDING.set(self.recording);
        Ok(())
    }

    fn end_capture(&self) -> Result<Handle> {
        RECORDING.set(ptr::null_mut());
        let mut recorded = ptr::null_mut();
        on!(self, capture_end(self.recording, &mut recorded))?;
        let mut graph = ptr::null_mut();
        let instantiated = on!(self, graph_instantiate(&mut graph, recorded, 0));
        on!(self, graph_free(recorded))?;
        instantiated?;
        Ok(graph as Handle)
    }

    fn replay(&self, graph: Handle) -> Result<()> {
        on!(self, graph_launch(pointer(graph), self.queue()))
    }

    fn free_graph(&self, graph: Handle) {
        let _ = self.aside(|| on!(self, graph_exec_free(pointer(graph))));
    }

    fn host_task_method(&self) -> Option<HostTaskMethod> {
        self.api.flags.as_ref().map(|_| HostTaskMethod::Flags)
    }

    fn begin_host_task(&self, task: &HostTask) -> Result<()> {
        let flags = task.flags().expect("host tasks here have flags");
        self.queue_flags([FlagOperation::write(flags.begun(), task.number)])
    }

    fn end_host_task(&self, task: &HostTask) -> Result<()> {
        let flags = task.flags().expect("host tasks here have flags");
        let is_over = flags.ended();
        self.queue_flags([
            FlagOperation::wait(is_over, 1),
            FlagOperation::write(is_over, 0),
        ])
    }

    fn make_ready(&self, graph: Handle) -> Result<()> {
        self.enter()?;
        let upload = &self.flags().upload;
        // SAFETY: a graph that was not forgotten, and the stream that it will be launched in.
        let code = unsafe { (upload.pointer)(pointer(graph), self.stream) };
        self.api.check(&self.properties.name, upload.name, code)
    }

    fn record(&self) -> Result<Handle> {
        let event = self.new_event()?;
        on!(self, event_record(pointer(event), self.stream))?;
        Ok(event)
    }

    fn wait(&self, event: Handle) -> Result<()> {
        on!(self, event_wait(pointer(event)))
    }

    fn elapsed(&self, from: Handle, to: Handle) -> Result<f64> {
        let mut milliseconds = 0.0;
        on!(
            self,
            event_elapsed(&mut milliseconds, pointer(from), pointer(to))
        )?;
        Ok(milliseconds.into())
    }

    fn free_event(&self, event: Handle) {
        lock(&self.events).push(event);
    }

    fn synchronize(&self) -> Result<()> {
        on!(self, stream_wait(self.stream))
    }
}
