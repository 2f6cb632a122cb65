//! Where memory lives and kernels run.
//!
//! An [`Executor`] is a cheap handle, chosen at run time. Every [`Buffer`] knows the one it lives
//! on, and operations run where their operands live. Algorithms never ask which executor they
//! have: they call vector and operator methods, and those pick the backend's kernel.
//!
//! - `reference`: one thread, plain loops, written to be read. The oracle of every test.
//! - `cpu`: threads and SIMD. Results do not depend on the number of threads.
//! - `cuda:0`, `hip:0`, `opencl:0` and so on: a GPU. Its driver is loaded when it is asked for.
//!
//! ```
//! use vcycle::executor::Executor;
//! let cpu = Executor::cpu_with_threads(2)?;
//! assert_eq!((cpu.name(), cpu.threads()), ("cpu", 2));
//! # Ok::<(), vcycle::Error>(())
//! ```
//!
//! Scratch memory belongs to a run, not to an operator: a [`Workspace`] hands it out and takes it back.

#[doc(inline)]
pub use vcycle_core::executor::{Buffer, Element, Executor};
#[doc(inline)]
pub use vcycle_core::operations::HostStage;
#[doc(inline)]
pub use vcycle_core::workspace::{Pooled, Scratch, Workspace};
