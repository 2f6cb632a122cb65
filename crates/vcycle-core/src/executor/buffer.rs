//! Memory that knows its executor.

use std::sync::Arc;

use vcycle_gpu::Readback;

use super::borrowed::Borrowed;
use super::events::{MemoryEvent, note};
use super::mirrored::Mirrored;
use super::{Element, Executor, check_memory};
use crate::error::{Error, Result};
use crate::scalar::bytes_mut;

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

/// Values on their way from a device to the host.
pub(crate) struct Coming<T> {
    readback: Readback,
    values: Vec<T>,
}

impl<T: Element> Coming<T> {
    /// Waits until they are here.
    pub(crate) fn wait(mut self) -> Result<Vec<T>> {
        bytes_mut(&mut self.values).copy_from_slice(self.readback.wait_idly()?);
        Ok(self.values)
    }
}

/// The storage behind a buffer, one variant per kind of memory.
#[derive(Clone, Debug)]
enum Memory<T> {
    Host(Vec<T>),
    Borrowed(Borrowed<T>),
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
        .noted()
    }

    /// Tells those who listen that it was made.
    fn noted(self) -> Self {
        note(|| MemoryEvent::Allocated {
            executor: self.executor.name().to_owned(),
            bytes: self.bytes(),
        });
        self
    }

    /// `len` values that are in the memory of an executor already and belong to somebody else: they
    /// are used where they are, and never written to. Who changes the buffer has a copy.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::executor::{Buffer, Executor};
    /// let theirs = Arc::new(vec![1.0, 2.0]);
    /// // SAFETY: the owner is what holds the values, and nobody changes them.
    /// let ours = unsafe {
    ///     Buffer::<f64>::borrowed(&Executor::cpu(), theirs.as_ptr() as u64, 2, Box::new(Arc::clone(&theirs)))
    /// }?;
    /// assert_eq!(ours.host()?.as_ptr(), theirs.as_ptr());
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// When memory of a device is not of that device.
    ///
    /// # Safety
    /// At `address`, of the host or of the device, there are `len` values, aligned as their type
    /// wants it. Until `owner` is dropped nobody frees or changes them.
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

    /// Values of the host that something shared holds, without a copy.
    pub(crate) fn lent<O: Send + Sync + 'static>(
        executor: &Executor,
        owner: &Arc<O>,
        values: impl FnOnce(&O) -> &[T],
    ) -> Self {
        let lent = values(owner);
        let (address, len) = (lent.as_ptr() as u64, lent.len());
        // SAFETY: the values belong to the owner, which is held; as others may hold it, nobody changes it.
        let lent = unsafe { Borrowed::new(address, len, Box::new(Arc::clone(owner))) };
        Self {
            executor: executor.clone(),
            memory: Memory::Borrowed(lent),
        }
    }

    /// Where the values are in the memory of the executor, for other libraries: the newest ones,
    /// once what is queued is done.
    ///
    /// # Errors
    /// When a device has no memory for values that were made on the host.
    pub fn address(&self) -> Result<u64> {
        match &self.memory {
            Memory::Device(memory) => memory.device(),
            _ => Ok(self.host()?.as_ptr() as u64),
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

    /// Values of the host that lie apart, behind each other on a device.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn gathered(executor: &Executor, parts: &[Vec<T>]) -> Result<Self> {
        match executor {
            Executor::Gpu(gpu) => Ok(Self::on_device(executor, Mirrored::gathered(gpu, parts)?)),
            _ => panic!("values are gathered on devices alone"),
        }
    }

    fn on_device(executor: &Executor, memory: Mirrored<T>) -> Self {
        Self {
            executor: executor.clone(),
            memory: Memory::Device(memory),
        }
        .noted()
    }

    /// The values, copied to the host.
    ///
    /// # Panics
    /// When a device fails; [`host`](Self::host) says so as an error.
    pub fn to_vec(&self) -> Vec<T> {
        match &self.memory {
            Memory::Host(values) => values.clone(),
            Memory::Borrowed(values) => values.slice().to_vec(),
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
            Memory::Borrowed(values) => values.slice().to_vec(),
            Memory::Device(memory) => memory.to_vec().expect("the device still answers"),
        }
    }

    /// The same values on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        // What comes to the host is noted where it comes from.
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

    /// Where the values live.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Host(values) => values.len(),
            Memory::Borrowed(values) => values.slice().len(),
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
            Memory::Borrowed(values) => Ok(values.slice()),
            Memory::Device(memory) => memory.host(),
        }
    }

    /// The same where no error can be handed on: entries of matrices are read by the million.
    ///
    /// # Panics
    /// When a device fails, from which values are copied to the host.
    #[inline]
    pub fn on_host(&self) -> &[T] {
        match &self.memory {
            Memory::Host(values) => values,
            Memory::Borrowed(values) => values.slice(),
            Memory::Device(memory) => fetched(memory),
        }
    }

    /// The values on the host, to be changed there.
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

    /// The values in place, on host executors only: kernels never copy behind one's back.
    #[doc(hidden)]
    pub fn in_place(&self) -> Result<&[T]> {
        match &self.memory {
            Memory::Device(_) => Err(self.not_addressable()),
            _ => self.host(),
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

    /// One value, copied to the host by itself.
    #[doc(hidden)]
    pub fn get(&self, place: usize) -> Result<T> {
        match &self.memory {
            Memory::Device(memory) => memory.get(place),
            _ => Ok(self.host()?[place]),
        }
    }

    /// Begins to copy values that a kernel has written to the host: what is queued after this runs while they are on their way.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn begin_read(&self) -> Result<Coming<T>> {
        Ok(Coming {
            readback: self.read_begin(self.len())?,
            values: vec![T::default(); self.len()],
        })
    }

    /// Copies all values to the host, which keeps no other copy of them.
    ///
    /// # Errors
    /// When a device fails.
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
    /// # Errors
    /// When a device fails.
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

    /// Begins to copy the first values to the host, which waits where it reads the copy, and not here.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn read_begin(&self, len: usize) -> Result<vcycle_gpu::Readback> {
        match &self.memory {
            Memory::Device(memory) => memory.read_begin(len),
            _ => panic!("memory of a host executor is in place"),
        }
    }

    /// Brings values of the host to a device without waiting; who drops what is returned waits.
    pub(crate) fn send(&self) -> Result<Option<vcycle_gpu::Readback>> {
        match &self.memory {
            Memory::Device(memory) => memory.send(),
            _ => Ok(None),
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

    /// The address on the device, with the newest values there.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn device(&self) -> Result<vcycle_gpu::Address> {
        match &self.memory {
            Memory::Device(memory) => memory.device(),
            _ => panic!("memory of a host executor has no device address"),
        }
    }

    /// The address on the device, where kernels are about to write.
    ///
    /// # Panics
    /// On a host executor.
    pub(crate) fn device_mut(&mut self) -> Result<vcycle_gpu::Address> {
        match &mut self.memory {
            Memory::Device(memory) => memory.device_mut(),
            _ => panic!("memory of a host executor has no device address"),
        }
    }
}

/// What a device has, on the host: a call of its own, which leaves the usual way short.
#[cold]
fn fetched<T: Element>(memory: &Mirrored<T>) -> &[T] {
    memory.host().expect("the device still answers")
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
    fn what_is_borrowed_is_copied_before_it_changes() {
        let theirs = std::sync::Arc::new(vec![1_u32, 2, 3]);
        let (address, owner) = (theirs.as_ptr() as u64, std::sync::Arc::clone(&theirs));
        // SAFETY: the owner is what holds the values.
        let ours = unsafe { Buffer::borrowed(&Executor::reference(), address, 3, Box::new(owner)) };
        let mut ours: Buffer<u32> = ours.unwrap();
        let kept = ours.clone();
        assert_eq!((ours.address().unwrap(), ours.len()), (address, 3));
        ours.host_mut().unwrap()[0] = 7;
        assert_eq!(ours.into_vec(), [7, 2, 3]);
        assert_eq!(kept.in_place().unwrap(), *theirs);
        drop(kept);
        assert_eq!(std::sync::Arc::strong_count(&theirs), 1);
    }

    #[test]
    fn what_is_borrowed_of_a_device_is_left_alone() {
        let Some(executor) = crate::testing::device() else {
            return;
        };
        let theirs = Buffer::from_vec(&executor, (0..100).collect::<Vec<u32>>());
        let address = theirs.address().unwrap();
        // A part that begins where kernels do not expect it is copied.
        for first in [0, 4, 64] {
            let (part, owner) = (address + 4 * first, Box::new(theirs.clone()));
            // SAFETY: the owner shares the memory.
            let ours = unsafe { Buffer::borrowed(&executor, part, 36, owner) };
            let mut ours: Buffer<u32> = ours.unwrap();
            assert_eq!(ours.address().unwrap() == part, first != 4);
            assert_eq!(ours.host().unwrap()[0], first as u32);
            ours.host_mut().unwrap()[0] = 1000;
            assert_ne!(ours.address().unwrap(), part);
        }
        assert!(theirs.to_vec().into_iter().eq(0..100));
    }

    #[test]
    fn moving_between_executors_keeps_values() {
        let here = Buffer::from_vec(&Executor::reference(), vec![1_u32, 2, 3]);
        let there = here.copy_to(&Executor::cpu()).unwrap();
        assert_eq!(there.executor().name(), "cpu");
        assert_eq!(there.into_vec(), vec![1, 2, 3]);
    }
}
