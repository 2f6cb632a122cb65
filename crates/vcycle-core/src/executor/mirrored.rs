//! Values on a device and on the host, copied when the other side uses them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vcycle_gpu::{Address, Memory, Owner, Readback};

use super::events::{MemoryEvent, note};
use crate::error::Result;
use crate::gpu::Gpu;
use crate::kept::kept;
use crate::scalar::{Element, bytes, bytes_mut};

/// The name of the host in events.
const HOST: &str = "cpu";

/// The alignment of addresses that kernels expect.
const ALIGNMENT: u64 = 256;

/// An array of values of a device.
#[derive(Debug)]
pub(super) struct Mirrored<T> {
    gpu: Arc<Gpu>,
    len: usize,
    /// The device's side.
    device: Mutex<MirrorSide>,
    /// The host's side; none if the device has newer values.
    host: OnceLock<Vec<T>>,
}

#[derive(Clone, Debug, Default)]
struct MirrorSide {
    /// Shared by clones until one of them is written to; none before the first use.
    memory: Option<Arc<Memory>>,
    /// Whether it holds the newest values.
    current: bool,
}

impl<T: Element> Mirrored<T> {
    /// Takes values of the host; copies nothing yet.
    pub fn from_host(gpu: &Arc<Gpu>, values: Vec<T>) -> Self {
        Self {
            gpu: Arc::clone(gpu),
            len: values.len(),
            device: Mutex::default(),
            host: OnceLock::from(values),
        }
    }

    /// Copies values of the host to the device, and keeps none on the host.
    pub fn copied(gpu: &Arc<Gpu>, values: &[T]) -> Result<Self> {
        let memory = gpu.device().allocate(size_of_val(values))?;
        gpu.device().upload(&memory, bytes(values))?;
        Ok(Self::from_memory(gpu, values.len(), memory))
    }

    /// The same with several arrays.
    pub fn gathered(gpu: &Arc<Gpu>, parts: &[Vec<T>]) -> Result<Self> {
        let len = parts.iter().map(Vec::len).sum();
        let memory = gpu.device().allocate(len * size_of::<T>())?;
        let mut first = 0;
        for part in parts {
            gpu.device().upload_part(&memory, first, bytes(part))?;
            first += size_of_val(part.as_slice());
        }
        Ok(Self::from_memory(gpu, len, memory))
    }

    /// `len` times `value`; zeros are made on the device.
    pub fn filled(gpu: &Arc<Gpu>, len: usize, value: T) -> Result<Self> {
        if value != T::default() {
            return Ok(Self::from_host(gpu, vec![value; len]));
        }
        let memory = gpu.device().allocate(len.saturating_mul(size_of::<T>()))?;
        gpu.device().clear(&memory)?;
        Ok(Self::from_memory(gpu, len, memory))
    }

    /// `len` values that are not initialised.
    pub fn room(gpu: &Arc<Gpu>, len: usize) -> Result<Self> {
        let memory = gpu.device().allocate(len.saturating_mul(size_of::<T>()))?;
        Ok(Self::from_memory(gpu, len, memory))
    }

    /// Values in memory of another owner; copied if they are not aligned as kernels require.
    ///
    /// # Safety
    /// At `address` the device has `len` values. Until `owner` is dropped nobody frees or changes them.
    pub unsafe fn adopted(
        gpu: &Arc<Gpu>,
        address: Address,
        len: usize,
        owner: Owner,
    ) -> Result<Self> {
        let (device, bytes) = (gpu.device(), len * size_of::<T>());
        // SAFETY: at `address` the device has `len` values, which nobody frees or changes before `owner` is
        // dropped, a condition of this function.
        let theirs = unsafe { device.adopt(address, bytes, owner) }?;
        if address.is_multiple_of(ALIGNMENT) {
            return Ok(Self::from_memory(gpu, len, theirs));
        }
        let ours = device.allocate(bytes)?;
        device.copy(&ours, &theirs, bytes)?;
        Ok(Self::from_memory(gpu, len, ours))
    }

    fn from_memory(gpu: &Arc<Gpu>, len: usize, memory: Memory) -> Self {
        Self {
            gpu: Arc::clone(gpu),
            len,
            device: Mutex::new(MirrorSide {
                memory: Some(Arc::new(memory)),
                current: true,
            }),
            host: OnceLock::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn to_vec(&self) -> Result<Vec<T>> {
        match self.host.get() {
            Some(values) => Ok(values.clone()),
            None => self.download(),
        }
    }

    /// Whether the host has the newest values.
    pub fn is_at_hand(&self) -> bool {
        self.host.get().is_some()
    }

    /// One value; the others are not copied.
    pub fn get(&self, place: usize) -> Result<T> {
        let mut value = [T::default()];
        self.read(place, &mut value)?;
        Ok(value[0])
    }

    /// Values from a position on; the others are not copied.
    pub fn read(&self, place: usize, values: &mut [T]) -> Result<()> {
        if let Some(all) = self.host.get() {
            values.copy_from_slice(&all[place..place + values.len()]);
            return Ok(());
        }
        let side = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = side.memory.as_ref().expect("newer on the device");
        let device = self.gpu.device();
        device.download_part(bytes_mut(values), memory, place * size_of::<T>())?;
        Ok(())
    }

    /// Begins to copy the first values to the host, which does not wait.
    pub fn read_begin(&self, len: usize) -> Result<Readback> {
        let side = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = side.memory.as_ref().expect("the device has the values");
        Ok(self
            .gpu
            .device()
            .download_begin(memory, len * size_of::<T>())?)
    }

    /// Copies values of the host to the device without waiting; dropping the staging block waits for them.
    pub fn send(&self) -> Result<Option<Readback>> {
        let mut side = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let mut block = None;
        self.bring_by(&mut side, |memory, values| {
            let device = self.gpu.device();
            let block = block.insert(device.readback(values.len())?);
            Ok(device.write_begin(block, memory, values)?)
        })?;
        Ok(block)
    }

    /// Replaces all values by those of the host, and keeps no copy on the host.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        let memory = match std::mem::take(self.side()).memory {
            Some(memory) if Arc::strong_count(&memory) == 1 && !memory.is_adopted() => memory,
            _ => Arc::new(self.gpu.device().allocate(size_of_val(values))?),
        };
        self.gpu.device().upload(&memory, bytes(values))?;
        self.host.take();
        *self.side() = MirrorSide {
            memory: Some(memory),
            current: true,
        };
        Ok(())
    }

    pub fn host(&self) -> Result<&[T]> {
        Ok(kept(&self.host, || self.download())?)
    }

    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        self.host()?;
        self.side().current = false;
        Ok(self.host.get_mut().expect("copied just now"))
    }

    /// The address, with the newest values.
    pub fn device(&self) -> Result<Address> {
        let mut side = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        self.bring(&mut side)?;
        Ok(address(&side))
    }

    /// The address for kernels that write, of memory that is not shared.
    pub fn device_mut(&mut self) -> Result<Address> {
        let mut side = std::mem::take(self.side());
        self.bring(&mut side)?;
        side.memory = side.memory.map(|memory| self.alone(memory)).transpose()?;
        self.host.take();
        *self.side() = side;
        Ok(address(self.side()))
    }

    fn side(&mut self) -> &mut MirrorSide {
        self.device
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn bring(&self, side: &mut MirrorSide) -> Result<()> {
        self.bring_by(side, |memory, values| {
            Ok(self.gpu.device().upload(memory, values)?)
        })
    }

    fn bring_by(
        &self,
        side: &mut MirrorSide,
        upload: impl FnOnce(&Memory, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if side.current {
            return Ok(());
        }
        let memory = match side.memory.take() {
            Some(memory) => self.alone(memory)?,
            None => Arc::new(self.gpu.device().allocate(self.len * size_of::<T>())?),
        };
        let values = self.host.get().expect("newer on the host");
        upload(&memory, bytes(values))?;
        note(|| MemoryEvent::Copied {
            from: HOST.to_owned(),
            to: self.gpu.device().properties().name.clone(),
            bytes: self.len * size_of::<T>(),
        });
        *side = MirrorSide {
            memory: Some(memory),
            current: true,
        };
        Ok(())
    }

    fn alone(&self, memory: Arc<Memory>) -> Result<Arc<Memory>> {
        if Arc::strong_count(&memory) == 1 && !memory.is_adopted() {
            return Ok(memory);
        }
        let copy = self.gpu.device().allocate(memory.bytes())?;
        self.gpu.device().copy(&copy, &memory, memory.bytes())?;
        Ok(Arc::new(copy))
    }

    fn download(&self) -> Result<Vec<T>> {
        let side = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = vec![T::default(); self.len];
        let memory = side.memory.as_ref().expect("newer on the device");
        self.gpu.device().download(bytes_mut(&mut values), memory)?;
        note(|| MemoryEvent::Copied {
            from: self.gpu.device().properties().name.clone(),
            to: HOST.to_owned(),
            bytes: self.len * size_of::<T>(),
        });
        Ok(values)
    }
}

fn address(side: &MirrorSide) -> Address {
    side.memory.as_ref().map_or(0, |memory| memory.address())
}

impl<T: Clone> Clone for Mirrored<T> {
    fn clone(&self) -> Self {
        let side = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            gpu: Arc::clone(&self.gpu),
            len: self.len,
            device: Mutex::new(side.clone()),
            host: match side.current {
                true => OnceLock::new(),
                false => self.host.clone(),
            },
        }
    }
}
