//! Memory of an executor.

use std::sync::Arc;

use super::borrowed::Borrowed;
use super::events::{MemoryEvent, note};
use super::mirrored::Mirrored;
use super::{Element, Executor, check_memory};
use crate::error::{Error, Result};

/// An array of values in the memory of an [`Executor`].
///
/// Values of a host executor are in place. Those of a device are copied at the first use on the
/// other side: what a set-up makes and never uses on the device is never copied. The side that was
/// written to last is valid.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    executor: Executor,
    pub(super) memory: Memory<T>,
}

/// The storage behind a buffer, one variant per kind of memory.
#[derive(Clone, Debug)]
pub(super) enum Memory<T> {
    Host(Vec<T>),
    Borrowed(Borrowed<T>),
    Device(Mirrored<T>),
}

/// Values that can be read on the host.
pub(super) enum Side<'b, T> {
    Host(&'b [T]),
    Device(&'b Mirrored<T>),
}

impl<T> Memory<T> {
    #[inline]
    pub(super) fn side(&self) -> Side<'_, T> {
        match self {
            Memory::Host(values) => Side::Host(values),
            Memory::Borrowed(values) => Side::Host(values.slice()),
            Memory::Device(memory) => Side::Device(memory),
        }
    }
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
        // Zeros are allocated by the system: the threads that first write to the pages place them.
        Ok(Self::from_vec(executor, vec![value; len]))
    }

    /// Uses host memory; without a copy on host executors.
    pub fn from_vec(executor: &Executor, values: Vec<T>) -> Self {
        let memory = match executor {
            Executor::Gpu(gpu) => Memory::Device(Mirrored::from_host(gpu, values)),
            _ => Memory::Host(values),
        };
        Self {
            executor: executor.clone(),
            memory,
        }
        .noted()
    }

    /// Records its allocation, for listeners.
    fn noted(self) -> Self {
        note(|| MemoryEvent::Allocated {
            executor: self.executor.name().to_owned(),
            bytes: self.bytes(),
        });
        self
    }

    /// `len` values in the memory of an executor that belong to another owner: they are used without a
    /// copy, and never written to. Changing the buffer makes a copy.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::executor::{Buffer, Executor};
    /// let theirs = Arc::new(vec![1.0, 2.0]);
    /// // SAFETY: the owner holds the values, and nobody changes them.
    /// let ours = unsafe {
    ///     Buffer::<f64>::borrowed(&Executor::cpu(), theirs.as_ptr() as u64, 2, Box::new(Arc::clone(&theirs)))
    /// }?;
    /// assert_eq!(ours.host()?.as_ptr(), theirs.as_ptr());
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the address is not in the memory of the device.
    ///
    /// # Safety
    /// At `address`, of the host or of the device, there are `len` values, aligned as their type
    /// requires. Until `owner` is dropped nobody frees or changes them.
    pub unsafe fn borrowed(
        executor: &Executor,
        address: u64,
        len: usize,
        owner: vcycle_gpu::Owner,
    ) -> Result<Self> {
        let memory = match executor {
            Executor::Gpu(gpu) => {
                // SAFETY: at `address` the device has `len` values, which nobody frees or changes before `owner` is
                // dropped, a condition of this function.
                Memory::Device(unsafe { Mirrored::adopted(gpu, address, len, owner) }?)
            }
            // SAFETY: at `address` are `len` aligned values, which nobody frees or changes before `owner` is
            // dropped, a condition of this function.
            _ => Memory::Borrowed(unsafe { Borrowed::new(address, len, owner) }),
        };
        Ok(Self {
            executor: executor.clone(),
            memory,
        })
    }

    /// Values of the host that a shared owner holds, without a copy.
    pub(crate) fn lent<O: Send + Sync + 'static>(
        executor: &Executor,
        owner: &Arc<O>,
        values: impl FnOnce(&O) -> &[T],
    ) -> Self {
        let lent = values(owner);
        let (address, len) = (lent.as_ptr() as u64, lent.len());
        // SAFETY: the values belong to the owner, which is held; as others may hold it as well, nobody changes it.
        let lent = unsafe { Borrowed::new(address, len, Box::new(Arc::clone(owner))) };
        Self {
            executor: executor.clone(),
            memory: Memory::Borrowed(lent),
        }
    }

    /// The address of the values in the memory of the executor, for other libraries. They are valid
    /// once all queued work is done.
    pub fn address(&self) -> Result<u64> {
        match &self.memory {
            Memory::Device(memory) => memory.device(),
            _ => Ok(self.host()?.as_ptr() as u64),
        }
    }

    pub(super) fn on_device(executor: &Executor, memory: Mirrored<T>) -> Self {
        Self {
            executor: executor.clone(),
            memory: Memory::Device(memory),
        }
        .noted()
    }

    /// The values, copied to the host.
    ///
    /// # Panics
    /// When a device fails; [`host`](Self::host) returns an error instead.
    pub fn to_vec(&self) -> Vec<T> {
        match self.memory.side() {
            Side::Host(values) => values.to_vec(),
            Side::Device(memory) => memory.to_vec().expect("the device still answers"),
        }
    }

    /// The values, copied only if they are not on the host.
    ///
    /// # Panics
    /// As [`to_vec`](Self::to_vec).
    pub fn into_vec(self) -> Vec<T> {
        match self.memory {
            Memory::Host(values) => values,
            _ => self.to_vec(),
        }
    }

    /// The same values on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        // A copy to the host is recorded by the device.
        let on_device = |executor: &Executor| matches!(executor, Executor::Gpu(_));
        if on_device(executor) || !on_device(&self.executor) {
            note(|| MemoryEvent::Copied {
                from: self.executor.name().to_owned(),
                to: executor.name().to_owned(),
                bytes: self.bytes(),
            });
        }
        match executor {
            Executor::Gpu(gpu) => Ok(Self::on_device(
                executor,
                Mirrored::copied(gpu, self.host()?)?,
            )),
            _ => Ok(Self::from_vec(executor, self.host()?.to_vec())),
        }
    }

    /// The values in the memory of an executor, copied only if they are elsewhere.
    pub(crate) fn brought(&self, executor: &Executor) -> Result<Self> {
        match self.executor.shares_memory_with(executor) {
            true => Ok(self.clone()),
            false => self.copy_to(executor),
        }
    }

    /// The executor of the values.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        match self.memory.side() {
            Side::Host(values) => values.len(),
            Side::Device(memory) => memory.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// The values on the host: in place, or copied from the device if that has newer ones.
    #[inline]
    pub fn host(&self) -> Result<&[T]> {
        match self.memory.side() {
            Side::Host(values) => Ok(values),
            Side::Device(memory) => memory.host(),
        }
    }

    /// The same without an error to pass on: for entries of matrices, which are read by the million.
    ///
    /// # Panics
    /// When a device fails, from which values are copied to the host.
    #[inline]
    pub fn on_host(&self) -> &[T] {
        match self.memory.side() {
            Side::Host(values) => values,
            Side::Device(memory) => fetched(memory),
        }
    }

    /// The values on the host, to be changed.
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        if let Memory::Borrowed(values) = &self.memory {
            self.memory = Memory::Host(values.slice().to_vec());
        }
        match &mut self.memory {
            Memory::Host(values) => Ok(values),
            Memory::Borrowed(_) => unreachable!("copied just now"),
            Memory::Device(memory) => memory.host_mut(),
        }
    }

    /// The values in place, on host executors only, so that kernels never copy implicitly.
    #[doc(hidden)]
    pub fn in_place(&self) -> Result<&[T]> {
        match self.memory.side() {
            Side::Host(values) => Ok(values),
            Side::Device(_) => Err(self.not_addressable()),
        }
    }

    /// The values in place, to be changed, on host executors only.
    #[doc(hidden)]
    pub fn in_place_mut(&mut self) -> Result<&mut [T]> {
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

    /// Whether the host has the values without copying them from a device.
    #[doc(hidden)]
    pub fn is_at_hand(&self) -> bool {
        match &self.memory {
            Memory::Device(memory) => memory.is_at_hand(),
            _ => true,
        }
    }

    /// One value, copied to the host alone.
    #[doc(hidden)]
    pub fn get(&self, place: usize) -> Result<T> {
        match &self.memory {
            Memory::Device(memory) => memory.get(place),
            _ => Ok(self.host()?[place]),
        }
    }

    /// Copies all values to `values`, without a second copy on the host.
    ///
    /// # Panics
    /// For another number of values.
    pub fn read(&self, values: &mut [T]) -> Result<()> {
        assert_eq!(values.len(), self.len(), "room for all values");
        match &self.memory {
            Memory::Device(memory) => memory.read(0, values),
            _ => {
                values.copy_from_slice(self.host()?);
                Ok(())
            }
        }
    }

    /// Replaces all values by those of the host.
    ///
    /// # Panics
    /// For another number of values.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        assert_eq!(values.len(), self.len(), "as many values as before");
        match &mut self.memory {
            Memory::Device(memory) => memory.write(values),
            _ => {
                self.host_mut()?.copy_from_slice(values);
                Ok(())
            }
        }
    }

    /// The first values, copied to the host without the others.
    #[doc(hidden)]
    pub fn first(&self, len: usize) -> Result<Vec<T>> {
        match &self.memory {
            Memory::Device(memory) => {
                let mut values = vec![T::default(); len];
                memory.read(0, &mut values)?;
                Ok(values)
            }
            _ => Ok(self.host()?[..len].to_vec()),
        }
    }
}

/// The values of a device on the host: a separate function, so that the common case stays short.
#[cold]
fn fetched<T: Element>(memory: &Mirrored<T>) -> &[T] {
    memory.host().expect("the device still answers")
}

#[cfg(test)]
#[path = "buffer_tests.rs"]
mod tests;
