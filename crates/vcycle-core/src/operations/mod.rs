//! Operations of algorithms, run where their operands live: the one place that chooses between the host and a device.
//!
//! An operation takes vectors, patterns, matrices or buffers and looks at their executor. What every executor can
//! do simply happens. A stage of a set-up whose algorithm of the host stands with the method is asked for first and
//! says nothing where the executor has no kernel for it:
//!
//! ```text
//! if let Some(found) = operations::coarsen::pmis(strength, seed, false)? {
//!     return Ok(Splitting::of_device(found));
//! }
//! // The algorithm of the host.
//! ```
//!
//! A file has one operation or a few of a kind: the kernels of the host are those of `vcycle-kernels`, those of devices are launched here.

/// Calls the kernel of the host that an executor has, that of `cpu` with its threads or that of `reference`; returns what a device is to
/// do, if that is given.
macro_rules! dispatch {
    ($executor:expr, $($kernel:ident)::+($($argument:expr),* $(,)?) $(, $gpu:ident => $launch:expr)? $(,)?) => {
        match $executor {
            $crate::executor::Executor::Cpu(threads) => {
                $crate::cpu::$($kernel)::+(threads, $($argument),*)
            }
            $($crate::executor::Executor::Gpu($gpu) => return $launch,)?
            _ => $crate::reference::$($kernel)::+($($argument),*),
        }
    };
}

/// The queue of the device of an executor; on the host the function returns that there is nothing.
macro_rules! queue_of {
    ($executor:expr) => {
        match $crate::launch::Queue::of($executor) {
            Some(queue) => queue,
            None => return Ok(None),
        }
    };
}

pub(crate) mod assembly;
pub mod batch;
mod binned;
pub mod blocks;
pub(crate) mod cells;
pub mod coarsen;
pub(crate) mod columns;
pub(crate) mod csr;
pub mod entries;
pub mod factor;
pub(crate) mod halo;
pub mod host;
pub mod interpolate;
pub mod islands;
mod loose;
pub(crate) mod monitor;
pub mod multifrontal;
pub(crate) mod packed;
pub(crate) mod parts;
pub(crate) mod pipeline;
pub(crate) mod products;
pub mod reductions;
pub(crate) mod rows;
pub mod stencil;
pub mod stencil_setup;
pub mod strided;
pub(crate) mod tiles;
pub mod transfer;
mod triangles;
pub mod triangular;
pub mod vector;

pub use self::host::{HostStage, HostStages, on_host, remark};
pub use crate::launch::rows::Finish;

use crate::launch::prelude::*;

/// What the kernels of a device make; nothing on the host.
fn on_device<'e, R>(
    executor: &'e Executor,
    work: impl FnOnce(Queue<'e>) -> Result<R>,
) -> Result<Option<R>> {
    Queue::of(executor).map(work).transpose()
}

/// The same for values of `T`: complex ones have no kernels.
fn on_real_device<'e, T: Scalar, R>(
    executor: &'e Executor,
    work: impl FnOnce(Queue<'e>) -> Result<R>,
) -> Result<Option<R>> {
    // A constant: launches are not even compiled for complex numbers.
    if const { T::KIND.is_complex() } {
        return Ok(None);
    }
    Queue::of(executor).map(work).transpose()
}
