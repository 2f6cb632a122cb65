//! The core of vcycle: where things run ([`executor`]), what they are stored in ([`arrays`], [`vector`],
//! [`matrix`]), what they have in common ([`linop`]), and how a run is judged and watched ([`stop`], [`log`]).
//!
//! Methods stand on this layer and name no backend: they call [`operations`] of vectors and matrices, and the
//! executor of the operands decides where these run. The library `vcycle` is the interface for users; this crate may change
//! with every version.
//!
//! Whatever returns a [`Result`] fails where operands do not fit in size or place, memory is short, a device fails, or
//! another rank has failed of those that call it together; what else can go wrong is said under *Errors*. Arrays of a
//! device that are read as slices panic where it does not answer.

pub mod arrays;
pub mod communicator;
pub mod error;
pub mod executor;
mod gpu;
mod host;
#[doc(hidden)]
pub mod kept;
mod launch;
pub mod linop;
pub mod log;
pub mod matrix;
pub mod operations;
mod prelude;
pub mod programs;
pub mod size;
pub mod stop;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod vector;
pub mod workspace;

pub use error::{Error, Result};
pub use vcycle_kernels::{cpu, cut, factor, fields, grid, multiversion, reference, runs, simd};

/// The types numbers are *stored* in and the types they are *computed* in; see [`vcycle_kernels::scalar`].
pub mod scalar {
    pub use vcycle_kernels::convert::convert_slice;
    pub use vcycle_kernels::scalar::*;
}
