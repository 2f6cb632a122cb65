//! OpenCL 3, or 2 with shared virtual memory: Intel, and any other device that has a driver.
//!
//! Memory is coarse-grained shared virtual memory, so that addresses are plain pointers as with the
//! other vendors.

mod api;
mod device;
mod kept;
mod platform;
mod program;
mod queue;
mod status;
#[cfg(test)]
mod tests;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::CString;
use std::thread;

use self::api::{Object, OpenClApi, api};
use self::device::OpenCl;
use self::kept::{Called, QueueCommand, Recording};
use crate::driver::Driver;
use crate::prelude::*;
use crate::proxy::{HostTask, HostTaskMethod};

/// What addresses are a multiple of.
const ALIGNMENT: usize = 256;
/// Host memory begins with a page.
const PAGE: usize = 4096;

/// All devices of all platforms.
pub(crate) fn devices() -> Result<Vec<Properties>> {
    let listed = platform::list(api()?)?;
    Ok(listed.into_iter().map(|listed| listed.properties).collect())
}

/// A device by its number in [`devices`].
pub(crate) fn open(index: usize) -> Result<Box<dyn Driver>> {
    Ok(Box::new(opened(api()?, index)?))
}

fn opened(api: &'static OpenClApi, index: usize) -> Result<OpenCl> {
    let listed = platform::list(api)?.into_iter().nth(index);
    let listed = listed.ok_or_else(|| Error::NoDevice {
        name: format!("opencl:{index}"),
        known: "it is no longer listed".to_owned(),
    })?;
    OpenCl::new(api, listed)
}

impl Driver for OpenCl {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn check_address(&self, address: Address) -> Result<()> {
        let place = address as usize;
        let allocations = lock(&self.allocations);
        let mut all = allocations.by_address.values();
        if all.any(|&(begin, size)| (begin..begin + size).contains(&place)) {
            return Ok(());
        }
        Err(Error::Elsewhere {
            device: self.properties.name.clone(),
            address,
            found: "others cannot share memory with OpenCL devices".to_owned(),
        })
    }

    fn free_memory(&self) -> Result<usize> {
        let used = lock(&self.allocations).bytes;
        Ok(self.properties.memory.saturating_sub(used))
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        // The driver is not asked for more than there is: many promise memory and fail when it is used.
        let mut allocations = lock(&self.allocations);
        let size = bytes.saturating_add(ALIGNMENT);
        let left = self.properties.memory.saturating_sub(allocations.bytes);
        let free = left.min(self.largest);
        let refused = || Error::out_of_memory(&self.properties, bytes, free);
        if size > free {
            return Err(refused());
        }
        // SAFETY: no pointer is passed; failure is null. Alignments above 128 may be refused, so it
        // is done below.
        let begin =
            unsafe { (self.api.svm_alloc)(self.context, api::MEM_READ_WRITE, size, 0) } as usize;
        if begin == 0 {
            return Err(refused());
        }
        let address = begin.next_multiple_of(ALIGNMENT) as Address;
        allocations.by_address.insert(address, (begin, size));
        allocations.bytes += size;
        Ok(address)
    }

    fn free(&self, address: Address) {
        // What failed in the queue is reported where it is waited for.
        let _ = self.finish();
        let mut allocations = lock(&self.allocations);
        let Some((begin, size)) = allocations.by_address.remove(&address) else {
            return;
        };
        allocations.bytes -= size;
        // SAFETY: memory of `svm_alloc`, freed once; all work that was queued is done.
        unsafe { (self.api.svm_free)(self.context, begin as *mut _) };
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        let refused = || Error::OutOfMemory {
            device: "the host".to_owned(),
            bytes,
            free: 0,
            total: 0,
        };
        let layout = Layout::from_size_align(bytes.max(1), PAGE).map_err(|_| refused())?;
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            return Err(refused());
        }
        lock(&self.pinned).insert(pointer as usize, layout);
        Ok(pointer)
    }

    fn free_pinned(&self, pointer: *mut u8) {
        if let Some(layout) = lock(&self.pinned).remove(&(pointer as usize)) {
            // SAFETY: allocated with this layout, freed once.
            unsafe { dealloc(pointer, layout) };
        }
    }

    unsafe fn upload(&self, to: Address, from: *const u8, bytes: usize) -> Result<()> {
        self.submit(QueueCommand::Copy {
            to,
            from: from as Address,
            bytes,
        })
    }

    unsafe fn download(&self, to: *mut u8, from: Address, bytes: usize) -> Result<()> {
        self.submit(QueueCommand::Copy {
            to: to as Address,
            from,
            bytes,
        })
    }

    fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<()> {
        self.submit(QueueCommand::Copy { to, from, bytes })
    }

    fn clear(&self, address: Address, bytes: usize) -> Result<()> {
        self.submit(QueueCommand::Clear { address, bytes })
    }

    fn compile(&self, source: &Source) -> Result<Vec<u8>> {
        let program = self.program_of_source(source)?;
        let binary = self.binary(program);
        self.release(program);
        binary
    }

    fn load(&self, code: &[u8], source: &Source) -> Result<Handle> {
        let program = match self.program_of_binary(code) {
            Some(program) => program,
            None => self.program_of_source(source)?,
        };
        lock(&self.programs).push(program as Handle);
        Ok(program as Handle)
    }

    fn kernel(&self, module: Handle, name: &str) -> Result<Option<Handle>> {
        let Ok(name) = CString::new(name) else {
            return Ok(None);
        };
        let mut code = 0;
        // SAFETY: a name that ends with zero.
        let kernel =
            unsafe { (self.api.create_kernel)(module as Object, name.as_ptr(), &mut code) };
        if code == api::INVALID_KERNEL_NAME {
            return Ok(None);
        }
        self.check("clCreateKernel", code)?;
        lock(&self.kernels).push(kernel as Handle);
        Ok(Some(kernel as Handle))
    }

    fn launch(&self, kernel: Handle, shape: Shape, arguments: &[Argument]) -> Result<()> {
        self.submit(QueueCommand::Launch {
            kernel,
            shape,
            arguments: arguments.to_vec(),
        })
    }

    fn begin_capture(&self) -> Result<()> {
        *lock(&self.recording) = Some(Recording {
            thread: thread::current().id(),
            commands: Vec::new(),
        });
        Ok(())
    }

    fn end_capture(&self) -> Result<Handle> {
        let recording = lock(&self.recording).take();
        let recording = recording.expect("a recording ends after it began");
        let mut graphs = lock(&self.graphs);
        graphs.last += 1;
        let handle = graphs.last;
        graphs
            .by_handle
            .insert(handle, Arc::new(recording.commands));
        Ok(handle)
    }

    fn replay(&self, graph: Handle) -> Result<()> {
        let commands = lock(&self.graphs).by_handle.get(&graph).cloned();
        let commands = commands.expect("a graph is replayed before it is forgotten");
        let mut kernels = lock(&self.queueing);
        commands
            .iter()
            .try_for_each(|command| self.enqueue(command, &mut kernels))?;
        self.flush()
    }

    fn free_graph(&self, graph: Handle) {
        lock(&self.graphs).by_handle.remove(&graph);
    }

    fn host_task_method(&self) -> Option<HostTaskMethod> {
        Some(HostTaskMethod::Queue)
    }

    fn begin_host_task(&self, _task: &HostTask) -> Result<()> {
        self.submit(QueueCommand::Mark)
    }

    fn end_host_task(&self, task: &HostTask) -> Result<()> {
        self.submit(QueueCommand::Call(Called(task.work.clone())))
    }

    fn record(&self) -> Result<Handle> {
        self.marker()
    }

    fn wait(&self, event: Handle) -> Result<()> {
        self.await_event(event)
    }

    fn elapsed(&self, from: Handle, to: Handle) -> Result<f64> {
        let nanoseconds = self.ended(to)?.saturating_sub(self.ended(from)?);
        Ok(nanoseconds as f64 * 1e-6)
    }

    fn free_event(&self, event: Handle) {
        self.forget_event(event);
    }

    fn synchronize(&self) -> Result<()> {
        self.finish()
    }
}
