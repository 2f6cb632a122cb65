//! OpenCL 3, or 2 with shared virtual memory: Intel, and any other device that has a driver.
//!
//! Memory is coarse-grained shared virtual memory, so that addresses are plain pointers as with the
//! other vendors. A device lives as long as the process; nothing of it is ever released but memory,
//! events and graphs.

mod api;
mod device;
mod kept;
mod memory;
mod platform;
mod program;
mod queue;
mod status;

use self::api::{Object, api};
use self::device::OpenCl;
use self::kept::{Called, QueueCommand};
use crate::driver::Driver;
use crate::errand::{Errand, ErrandWay};
use crate::error::{Error, Result};
use crate::handle::{Address, Handle};
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
        self.submit(QueueCommand::Launch {
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

    fn errand_way(&self) -> Option<ErrandWay> {
        Some(ErrandWay::Queue)
    }

    fn begin_errand(&self, _errand: &Errand) -> Result<()> {
        self.submit(QueueCommand::Mark)
    }

    fn end_errand(&self, errand: &Errand) -> Result<()> {
        self.submit(QueueCommand::Call(Called(errand.work.clone())))
    }

    fn record(&self) -> Result<Handle> {
        self.refuse_recording("an event")?;
        self.marker()
    }

    fn wait(&self, event: Handle) -> Result<()> {
        self.refuse_recording("waiting")?;
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
        self.refuse_recording("waiting")?;
        self.finish()
    }
}
