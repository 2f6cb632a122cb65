//! Places of memory and kernels.
//!
//! An [`Executor`] is a cheap handle, chosen at run time. Every [`Buffer`] has an
//! executor, and operations run on the executor of their operands. Algorithms do not depend on the
//! executor: they call vector and operator methods, which choose the backend's kernel.

mod borrowed;
mod buffer;
mod device;
mod device_buffer;
mod devices;
mod events;
mod memory;
mod messages;
mod mirrored;
mod tasks;
mod team;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use crate::host::Host;
pub use crate::scalar::Element;
pub use buffer::Buffer;
pub use device::Recording;
pub use events::{Listening, MemoryEvent};
pub use memory::{available_memory, check_memory, fits};
pub use tasks::cut;
pub use vcycle_gpu::Moment;

use crate::cpu::Threads;
use crate::error::{Error, Result};
use crate::gpu::Gpu;

/// A place with memory and kernels; see the [module](self).
#[derive(Clone, Debug)]
pub enum Executor {
    /// Plain serial loops.
    Reference,
    /// Threads and SIMD on the host.
    Cpu(Arc<Host>),
    /// A GPU. Set-ups that have no kernels run on all cores of the host.
    Gpu(Arc<Gpu>),
}

impl Executor {
    /// The serial reference.
    pub fn reference() -> Self {
        Executor::Reference
    }

    /// Refuses unknown values of environment variables for kernels. All constructors that can fail call it. For
    /// [`cpu`](Self::cpu), which cannot fail, a wrong `VCYCLE_SIMD` allows everything.
    ///
    /// # Errors
    /// If `VCYCLE_SIMD` is none of `portable`, `avx2` and `avx512`.
    pub fn check_environment() -> Result<()> {
        crate::simd::asked()?;
        Ok(())
    }

    /// All cores of the host (or `RAYON_NUM_THREADS` of them). Every call returns the same executor.
    pub fn cpu() -> Self {
        Executor::Cpu(Arc::clone(Self::all_cores()))
    }

    fn all_cores() -> &'static Arc<Host> {
        static ALL_CORES: OnceLock<Arc<Host>> = OnceLock::new();
        ALL_CORES.get_or_init(|| Arc::new(Host::of(Arc::new(Threads::all_cores()))))
    }

    /// A thread pool of its own with the given number of threads of the host.
    ///
    /// # Errors
    /// For zero threads, when threads cannot be started, and as [`check_environment`](Self::check_environment).
    pub fn cpu_with_threads(threads: usize) -> Result<Self> {
        Self::check_environment()?;
        let threads = Arc::new(Threads::new(threads)?);
        Ok(Executor::Cpu(Arc::new(Host::of(threads))))
    }

    /// A GPU by its name: `cuda:0`, `hip:0`, `opencl:0`. Every call returns the same executor.
    ///
    /// # Errors
    /// When there is no such device, or its driver cannot be used; the message says what to do. And as [`check_environment`](Self::check_environment).
    pub fn gpu(name: &str) -> Result<Self> {
        Self::check_environment()?;
        static OPEN: OnceLock<Mutex<HashMap<String, Arc<Gpu>>>> = OnceLock::new();
        let open = OPEN.get_or_init(Mutex::default);
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = open.get(name) {
            return Ok(Executor::Gpu(Arc::clone(gpu)));
        }
        let gpu = Arc::new(Gpu::open(name)?);
        open.insert(name.to_owned(), Arc::clone(&gpu));
        Ok(Executor::Gpu(gpu))
    }

    /// The name on the command line: `reference`, `cpu`, `cuda:0` ...
    pub fn name(&self) -> &str {
        match self {
            Executor::Reference => "reference",
            Executor::Cpu(_) => "cpu",
            Executor::Gpu(gpu) => &gpu.device().properties().name,
        }
    }

    /// The number of host threads for one operation.
    pub fn threads(&self) -> usize {
        match self.on_host() {
            Executor::Cpu(threads) => threads.count(),
            _ => 1,
        }
    }

    /// The executor of the host for operations without a kernel on the device. Itself, if it is one of
    /// the host.
    pub fn on_host(&self) -> Self {
        match self {
            Executor::Gpu(gpu) => gpu
                .rank()
                .map_or_else(Self::cpu, |host| Self::Cpu(Arc::clone(host))),
            host => host.clone(),
        }
    }

    /// Fails, reporting what is free, if a device has no memory for this many bytes: before anything is copied.
    #[doc(hidden)]
    pub fn check_room(&self, bytes: usize) -> Result<()> {
        match self {
            Executor::Gpu(gpu) => Ok(gpu.device().check_room(bytes)?),
            _ => Ok(()),
        }
    }

    /// Whether buffers of the two can be operands of one operation.
    pub fn shares_memory_with(&self, other: &Executor) -> bool {
        match (self, other) {
            (Executor::Reference, Executor::Reference) => true,
            (Executor::Cpu(a), Executor::Cpu(b)) => Arc::ptr_eq(a, b),
            (Executor::Gpu(a), Executor::Gpu(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Fails, naming both, unless the two can be operands of one operation.
    pub fn check_same(&self, other: &Executor, operation: &'static str) -> Result<()> {
        if self.shares_memory_with(other) {
            return Ok(());
        }
        Err(Error::ExecutorMismatch {
            operation,
            left: format!("{self:?}"),
            right: format!("{other:?}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_refused;

    #[test]
    fn executors_are_told_apart() {
        let one = Executor::cpu_with_threads(1).unwrap();
        let other = Executor::cpu_with_threads(1).unwrap();
        assert!(one.shares_memory_with(&one.clone()));
        assert!(one.check_same(&other, "axpy").is_err());
        assert!(Executor::cpu().shares_memory_with(&Executor::cpu()));
    }

    #[test]
    fn zero_threads_are_refused() {
        assert_refused!(Executor::cpu_with_threads(0), BadParameter { .. });
    }
}
