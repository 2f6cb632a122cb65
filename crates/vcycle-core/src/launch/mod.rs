//! Launches of kernels on arrays of a device, and what operations share of them.
//!
//! The sources are in `gpu/kernels`, compiled at run time for the types they are used with. Here are the queue of a device,
//! how rows are shared among threads, and how devices store matrices for products. Nothing here names a method.

pub(crate) mod csr;
pub(crate) mod groups;
pub(crate) mod layout;
pub(crate) mod new_rows;
pub(crate) mod packed;
mod pattern;
pub(crate) mod prelude;
pub(crate) mod queue;
pub mod rows;
mod scan;
mod sliced;
pub(crate) mod slices;
pub(crate) mod strips;

pub use queue::Queue;
