//! The addresses and copies of device buffers, for kernels and messages.

use std::sync::Arc;

use vcycle_gpu::{Address, Readback};

use super::buffer::{Memory, Side};
use super::mirrored::Mirrored;
use super::{Buffer, Element, Executor};
use crate::error::Result;
use crate::gpu::{Gpu, Passes, Read, Write};
use crate::scalar::bytes_mut;

/// A copy from a device to the host that is in progress.
pub(crate) struct Coming<T> {
    readback: Readback,
    values: Vec<T>,
}

impl<T: Element> Coming<T> {
    /// Waits for the values.
    pub(crate) fn wait(mut self) -> Result<Vec<T>> {
        bytes_mut(&mut self.values).copy_from_slice(self.readback.wait_idly()?);
        Ok(self.values)
    }
}

/// The device of an executor that has one.
fn gpu(executor: &Executor) -> &Arc<Gpu> {
    match executor {
        Executor::Gpu(gpu) => gpu,
        _ => panic!("values of a device alone"),
    }
}

impl<T: Element> Buffer<T> {
    /// `len` values of a device that are not initialised.
    pub(crate) fn room(executor: &Executor, len: usize) -> Result<Self> {
        let memory = Mirrored::room(gpu(executor), len)?;
        Ok(Self::on_device(executor, memory))
    }

    /// Separate arrays of the host, one after the other on a device.
    pub(crate) fn gathered(executor: &Executor, parts: &[Vec<T>]) -> Result<Self> {
        let memory = Mirrored::gathered(gpu(executor), parts)?;
        Ok(Self::on_device(executor, memory))
    }

    /// Begins to copy values that a kernel has written to the host. Work that is queued afterwards runs during the copy.
    pub(crate) fn begin_read(&self) -> Result<Coming<T>> {
        Ok(Coming {
            readback: self.read_begin(self.len())?,
            values: vec![T::default(); self.len()],
        })
    }

    /// Begins to copy the first values to the host, which waits when it reads the copy.
    pub(crate) fn read_begin(&self, len: usize) -> Result<Readback> {
        self.mirrored().read_begin(len)
    }

    /// Copies values of the host to a device without waiting; dropping the returned object waits.
    pub(crate) fn send(&self) -> Result<Option<Readback>> {
        match &self.memory {
            Memory::Device(memory) => memory.send(),
            _ => Ok(None),
        }
    }

    /// The address on the device, with the newest values.
    pub(crate) fn device(&self) -> Result<Address> {
        self.mirrored().device()
    }

    fn mirrored(&self) -> &Mirrored<T> {
        match self.memory.side() {
            Side::Host(_) => panic!("memory of a host executor has no device address"),
            Side::Device(memory) => memory,
        }
    }

    /// The address on the device, for kernels that write.
    pub(crate) fn device_mut(&mut self) -> Result<Address> {
        match &mut self.memory {
            Memory::Device(memory) => memory.device_mut(),
            _ => panic!("memory of a host executor has no device address"),
        }
    }

    /// The array as kernels read it, with the newest values.
    pub(crate) fn pointer(&self) -> Result<Read<T>> {
        Ok(Read::new(self.device()?))
    }

    /// The array as kernels write it.
    pub(crate) fn pointer_mut(&mut self) -> Result<Write<T>> {
        Ok(Write::new(self.device_mut()?))
    }
}

impl<T: Element> Passes<Read<T>> for &Buffer<T> {
    fn pass(self) -> Result<Read<T>> {
        self.pointer()
    }
}

impl<T: Element> Passes<Write<T>> for &mut Buffer<T> {
    fn pass(self) -> Result<Write<T>> {
        self.pointer_mut()
    }
}

/// Offsets have 64 bits on devices.
impl Passes<Read<u64>> for &Buffer<usize> {
    fn pass(self) -> Result<Read<u64>> {
        Ok(self.pointer()?.cast())
    }
}

impl Passes<Write<u64>> for &mut Buffer<usize> {
    fn pass(self) -> Result<Write<u64>> {
        Ok(self.pointer_mut()?.cast())
    }
}
