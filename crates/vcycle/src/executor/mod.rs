//! Where memory lives and kernels run.
//!
//! An [`Executor`] is a cheap handle, chosen at run time. Every [`Buffer`] knows the one it lives
//! on, and operations run where their operands live. Algorithms never ask which executor they
//! have: they call vector and operator methods, and those pick the backend's kernel.
//!
//! - `reference`: one thread, plain loops, written to be read. The oracle of every test.
//! - `cpu`: threads and SIMD. Results do not depend on the number of threads.
//!
//! ```
//! use vcycle::executor::Executor;
//! let cpu = Executor::cpu_with_threads(2)?;
//! assert_eq!((cpu.name(), cpu.threads()), ("cpu", 2));
//! # Ok::<(), vcycle::Error>(())
//! ```

mod buffer;
mod memory;
mod tasks;
mod workspace;

use std::sync::{Arc, OnceLock};

pub use buffer::Buffer;
pub(crate) use memory::{check_memory, fits};
pub(crate) use tasks::cut;
pub use workspace::{Pooled, Scratch, Workspace};

use crate::backend::cpu::Threads;
use crate::error::{Error, Result};

/// A place with memory and kernels; see the [module](self).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Executor {
    /// Plain serial loops.
    Reference,
    /// Threads and SIMD on the host.
    Cpu(Arc<Threads>),
}

impl Executor {
    /// The serial oracle.
    pub fn reference() -> Self {
        Executor::Reference
    }

    /// All cores of the host (or `RAYON_NUM_THREADS` of them). Every call returns the same executor.
    pub fn cpu() -> Self {
        static ALL_CORES: OnceLock<Arc<Threads>> = OnceLock::new();
        Executor::Cpu(Arc::clone(
            ALL_CORES.get_or_init(|| Arc::new(Threads::all_cores())),
        ))
    }

    /// A given number of threads of the host, its own.
    pub fn cpu_with_threads(threads: usize) -> Result<Self> {
        Ok(Executor::Cpu(Arc::new(Threads::new(threads)?)))
    }

    /// The name on the command line: `reference` or `cpu`.
    pub fn name(&self) -> &'static str {
        match self {
            Executor::Reference => "reference",
            Executor::Cpu(_) => "cpu",
        }
    }

    /// How many threads work on one operation.
    pub fn threads(&self) -> usize {
        match self {
            Executor::Reference => 1,
            Executor::Cpu(threads) => threads.count(),
        }
    }

    /// Whether buffers of the two can be operands of one operation.
    pub fn shares_memory_with(&self, other: &Executor) -> bool {
        match (self, other) {
            (Executor::Reference, Executor::Reference) => true,
            (Executor::Cpu(a), Executor::Cpu(b)) => Arc::ptr_eq(a, b),
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
        assert!(matches!(
            Executor::cpu_with_threads(0),
            Err(Error::BadParameter { .. })
        ));
    }
}
