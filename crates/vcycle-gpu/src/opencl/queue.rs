//! What is queued: at once, or recorded and queued again and again.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::thread;

use super::api;
use super::device::OpenCl;
use super::kept::{Kernels, QueueCommand, Recording};
use crate::opencl::api::Object;
use crate::prelude::*;

impl OpenCl {
    /// Queues a command, or records it if this thread is recording.
    pub(super) fn submit(&self, command: QueueCommand) -> Result<()> {
        let mut recording = lock(&self.recording);
        if let Some(recording) = mine(&mut recording) {
            recording.commands.push(command);
            return Ok(());
        }
        drop(recording);
        self.enqueue(&command, &mut lock(&self.queueing))
    }

    pub(super) fn enqueue(&self, command: &QueueCommand, kernels: &mut Kernels) -> Result<()> {
        match command {
            QueueCommand::Copy { bytes: 0, .. } | QueueCommand::Clear { bytes: 0, .. } => Ok(()),
            QueueCommand::Copy { to, from, bytes } => self.enqueue_copy(*to, *from, *bytes),
            QueueCommand::Clear { address, bytes } => self.enqueue_clear(*address, *bytes),
            QueueCommand::Launch {
                kernel,
                shape,
                arguments,
            } => {
                let kernel = self.kernel_for(*kernel, arguments, kernels)?;
                self.enqueue_launch(kernel, *shape, arguments)
            }
            QueueCommand::Mark => {
                let former = lock(&self.marked).replace(self.marker()?);
                former
                    .into_iter()
                    .for_each(|event| self.forget_event(event));
                Ok(())
            }
            QueueCommand::Call(work) => {
                let marked = lock(&self.marked).take();
                let come = marked.map_or(Ok(()), |event| {
                    let come = self.await_event(event);
                    self.forget_event(event);
                    come
                });
                come.map(|()| (work.0)())
            }
        }
    }

    fn enqueue_copy(&self, to: Address, from: Address, bytes: usize) -> Result<()> {
        let (to, from) = (to as *mut c_void, from as *const c_void);
        // SAFETY: memory of the device or of the host that lives until the copy is done, as the
        // callers of the driver see to; not blocking; no events.
        let code = unsafe {
            (self.api.enqueue_svm_memcpy)(self.queue, 0, to, from, bytes, 0, null(), null_mut())
        };
        self.check("clEnqueueSVMMemcpy", code)
    }

    fn enqueue_clear(&self, address: Address, bytes: usize) -> Result<()> {
        let pattern = [0_u8; 16];
        let whole = bytes.is_multiple_of(16) && address.is_multiple_of(16);
        let width = if whole { 16 } else { 1 };
        let (to, pattern) = (address as *mut c_void, pattern.as_ptr().cast());
        // SAFETY: memory of the device; address and size are multiples of the pattern's, which is
        // copied before the call returns.
        let code = unsafe {
            (self.api.enqueue_svm_mem_fill)(
                self.queue,
                to,
                pattern,
                width,
                bytes,
                0,
                null(),
                null_mut(),
            )
        };
        self.check("clEnqueueSVMMemFill", code)
    }

    fn kernel_for(
        &self,
        kernel: Handle,
        arguments: &[Argument],
        kernels: &mut Kernels,
    ) -> Result<Object> {
        let null = |(number, argument): (usize, &Argument)| match argument {
            Argument::Address(0) => 1_u64 << number,
            _ => 0,
        };
        let nulls = arguments.iter().enumerate().map(null).sum();
        if let Some(kernel) = kernels.get(&(kernel, nulls)) {
            return Ok(*kernel as Object);
        }
        let mut code = 0;
        // SAFETY: a kernel that no argument was ever set of.
        let clone = unsafe { (self.api.clone_kernel)(kernel as Object, &mut code) };
        self.check("clCloneKernel", code)?;
        kernels.insert((kernel, nulls), clone as Handle);
        Ok(clone)
    }

    fn enqueue_launch(&self, kernel: Object, shape: Shape, arguments: &[Argument]) -> Result<()> {
        for (number, argument) in arguments.iter().enumerate() {
            self.set_argument(kernel, number, argument)?;
        }
        let threads = shape.threads as usize;
        let all = shape.blocks as usize * threads;
        // SAFETY: one dimension, no offset, no events.
        let code = unsafe {
            (self.api.enqueue_nd_range_kernel)(
                self.queue,
                kernel,
                1,
                null(),
                &all,
                &threads,
                0,
                null(),
                null_mut(),
            )
        };
        self.check("clEnqueueNDRangeKernel", code)
    }

    fn set_argument(&self, kernel: Object, number: usize, argument: &Argument) -> Result<()> {
        let (call, code) = match argument {
            Argument::Address(0) => self.set_value(kernel, number, &null::<c_void>()),
            Argument::Address(address) => {
                let pointer = *address as *const c_void;
                // SAFETY: memory of this device.
                let code = unsafe {
                    (self.api.set_kernel_arg_svm_pointer)(kernel, number as u32, pointer)
                };
                ("clSetKernelArgSVMPointer", code)
            }
            Argument::I32(value) => self.set_value(kernel, number, value),
            Argument::U32(value) => self.set_value(kernel, number, value),
            Argument::I64(value) => self.set_value(kernel, number, value),
            Argument::U64(value) => self.set_value(kernel, number, value),
            Argument::F32(value) => self.set_value(kernel, number, value),
            Argument::F64(value) => self.set_value(kernel, number, value),
            Argument::C32(value) => self.set_value(kernel, number, value),
            Argument::C64(value) => self.set_value(kernel, number, value),
        };
        self.check(call, code)
            .map_err(|error| with_number(error, number))
    }

    fn set_value<T>(&self, kernel: Object, number: usize, value: &T) -> (&'static str, i32) {
        let place = (&raw const *value).cast();
        // SAFETY: the value is copied before the call returns.
        let code =
            unsafe { (self.api.set_kernel_arg)(kernel, number as u32, size_of::<T>(), place) };
        ("clSetKernelArg", code)
    }

    /// An event that passes when all that was queued before is done. What was queued is begun.
    pub(super) fn marker(&self) -> Result<Handle> {
        let mut event = null_mut();
        // SAFETY: one event comes back.
        let code = unsafe { (self.api.enqueue_marker)(self.queue, 0, null(), &mut event) };
        self.check("clEnqueueMarkerWithWaitList", code)?;
        self.flush()?;
        Ok(event as Handle)
    }

    /// Waits until an event has passed.
    pub(super) fn await_event(&self, event: Handle) -> Result<()> {
        let event = event as Object;
        // SAFETY: an event that was not forgotten.
        self.check("clWaitForEvents", unsafe {
            (self.api.wait_for_events)(1, &event)
        })
    }

    pub(super) fn forget_event(&self, event: Handle) {
        // SAFETY: an event that was not forgotten. Its code reports bugs of ours only.
        unsafe { (self.api.release_event)(event as Object) };
    }

    /// Nanoseconds on the device's clock when an event passed.
    pub(super) fn ended(&self, event: Handle) -> Result<u64> {
        let mut time = 0_u64;
        let place = (&raw mut time).cast();
        let end = api::PROFILING_COMMAND_END;
        // SAFETY: an event that was not forgotten, and room for the number.
        let code = unsafe {
            (self.api.get_event_profiling_info)(
                event as Object,
                end,
                size_of::<u64>(),
                place,
                null_mut(),
            )
        };
        self.check("clGetEventProfilingInfo", code)?;
        Ok(time)
    }

    pub(super) fn flush(&self) -> Result<()> {
        // SAFETY: the queue lives as long as the device.
        self.check("clFlush", unsafe { (self.api.flush)(self.queue) })
    }

    pub(super) fn finish(&self) -> Result<()> {
        // SAFETY: the queue lives as long as the device.
        self.check("clFinish", unsafe { (self.api.finish)(self.queue) })
    }
}

/// The recording of this thread.
fn mine(recording: &mut Option<Recording>) -> Option<&mut Recording> {
    recording
        .as_mut()
        .filter(|recording| recording.thread == thread::current().id())
}

fn with_number(mut error: Error, number: usize) -> Error {
    if let Error::Call { meaning, .. } = &mut error {
        *meaning = format!("argument {number}: {meaning}");
    }
    error
}
