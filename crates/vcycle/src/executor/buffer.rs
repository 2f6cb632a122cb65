//! Memory that knows its executor.

use super::mirrored::Mirrored;
use super::{Element, Executor, check_memory};
use crate::error::{Error, Result};

/// A run of values in the memory of an [`Executor`].
///
/// Values of a host executor are in place. Those of a device are copied when somebody asks for
/// them on the other side, and not before: what a set-up makes and never uses on the device never
/// travels. The side that was written to last counts.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    executor: Executor,
    memory: Memory<T>,
}

/// The storage behind a buffer, one variant per kind of memory.
#[derive(Clone, Debug)]
enum Memory<T> {
    Host(Vec<T>),
    Device(Mirrored<T>),
}

impl<T: Element> Buffer<T> {
    /// `len` copies of `value`.
    pub fn filled(executor: &Executor, len: usize, value: T) -> Result<Self> {
        if let Executor::Gpu(gpu) = executor {
            return Ok(Self::on_device(
                executor,
                Mirrored::filled(gpu, len, value)?,
            ));
        }
        check_memory(executor, len, size_of::<T>())?;
        // Zeros come from the system: their pages are touched by the threads that write them.
        Ok(Self::from_vec(executor, vec![value; len]))
    }

    /// Takes over host memory; no copy on host executors.
    pub fn from_vec(executor: &Executor, values: Vec<T>) -> Self {
        let memory = match executor {
            Executor::Gpu(gpu) => Memory::Device(Mirrored::from_host(gpu, values)),
            _ => Memory::Host(values),
        };
        Self {
            executor: executor.clone(),
            memory,
        }
    }

    /// `len` values of a device that nobody has written yet.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn room(executor: &Executor, len: usize) -> Result<Self> {
        match executor {
            Executor::Gpu(gpu) => Ok(Self::on_device(executor, Mirrored::room(gpu, len)?)),
            _ => panic!("rooms without values are on devices alone"),
        }
    }

    fn on_device(executor: &Executor, memory: Mirrored<T>) -> Self {
        Self {
            executor: executor.clone(),
            memory: Memory::Device(memory),
        }
    }

    /// The values, copied to the host.
    ///
    /// # Panics
    /// When a device fails; [`host`](Self::host) says so as an error.
    pub fn to_vec(&self) -> Vec<T> {
        match &self.memory {
            Memory::Host(values) => values.clone(),
            Memory::Device(memory) => memory.to_vec().expect("the device still answers"),
        }
    }

    /// The values, copied only where they are not on the host already.
    ///
    /// # Panics
    /// As [`to_vec`](Self::to_vec).
    pub fn into_vec(self) -> Vec<T> {
        match self.memory {
            Memory::Host(values) => values,
            Memory::Device(memory) => memory.to_vec().expect("the device still answers"),
        }
    }

    /// The same values on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        match executor {
            Executor::Gpu(gpu) => Ok(Self::on_device(
                executor,
                Mirrored::copied(gpu, self.host()?)?,
            )),
            _ => Ok(Self::from_vec(executor, self.host()?.to_vec())),
        }
    }

    /// Where the values live.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Host(values) => values.len(),
            Memory::Device(memory) => memory.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// The values on the host: in place, or copied from the device where that has newer ones.
    #[inline]
    pub fn host(&self) -> Result<&[T]> {
        match &self.memory {
            Memory::Host(values) => Ok(values),
            Memory::Device(memory) => memory.host(),
        }
    }

    /// The values on the host, to be changed there.
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        match &mut self.memory {
            Memory::Host(values) => Ok(values),
            Memory::Device(memory) => memory.host_mut(),
        }
    }

    /// The values in place, on host executors only: kernels never copy behind one's back.
    pub(crate) fn in_place(&self) -> Result<&[T]> {
        match &self.memory {
            Memory::Host(values) => Ok(values),
            Memory::Device(_) => Err(self.not_addressable()),
        }
    }

    /// The values in place, to be changed, on host executors only.
    pub(crate) fn in_place_mut(&mut self) -> Result<&mut [T]> {
        if let Memory::Device(_) = self.memory {
            return Err(self.not_addressable());
        }
        self.host_mut()
    }

    fn not_addressable(&self) -> Error {
        Error::NotAddressable {
            executor: self.executor.name().to_owned(),
        }
    }

    /// One value, copied to the host by itself.
    pub(crate) fn get(&self, place: usize) -> Result<T> {
        match &self.memory {
            Memory::Host(values) => Ok(values[place]),
            Memory::Device(memory) => memory.get(place),
        }
    }

    /// The address on the device, with the newest values there.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn device(&self) -> Result<vcycle_gpu::Address> {
        match &self.memory {
            Memory::Device(memory) => memory.device(),
            Memory::Host(_) => panic!("memory of a host executor has no device address"),
        }
    }

    /// The address on the device, where kernels are about to write.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn device_mut(&mut self) -> Result<vcycle_gpu::Address> {
        match &mut self.memory {
            Memory::Device(memory) => memory.device_mut(),
            Memory::Host(_) => panic!("memory of a host executor has no device address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn impossible_size_is_a_typed_error() {
        let result = Buffer::filled(&Executor::reference(), usize::MAX / 16, 0.0_f64);
        assert!(matches!(result, Err(Error::OutOfMemory { .. })));
    }

    #[test]
    fn moving_between_executors_keeps_values() {
        let here = Buffer::from_vec(&Executor::reference(), vec![1_u32, 2, 3]);
        let there = here.copy_to(&Executor::cpu()).unwrap();
        assert_eq!(there.executor().name(), "cpu");
        assert_eq!(there.into_vec(), vec![1, 2, 3]);
    }
}
