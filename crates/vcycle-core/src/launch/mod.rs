//! Launches of the kernels of GPUs, on arrays.
//!
//! The sources are in `gpu/kernels`, compiled at run time for the types they are used with. The functions here
//! take vectors and matrices as the arrays they hold, choose kernel and shape, and queue it. They name no method.

pub mod blocks;
pub mod csr;
pub(crate) mod layout;
pub mod packed;
mod pattern;
pub mod rows;
pub mod scalars;
pub mod setup;
mod sliced;
pub mod vector;
