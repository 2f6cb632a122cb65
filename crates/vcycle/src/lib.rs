//! Sparse linear systems, solved fast and honestly.
//!
//! Everything is a linear operator ([`linop`]); where it runs is chosen at run time
//! ([`executor`]); in which precision each part is stored is up to you ([`scalar`]).

pub mod config;
pub mod io;

pub use vcycle_core::{Error, Result};
pub use vcycle_core::{linop, log, matrix, scalar, stop, vector};
pub use vcycle_methods::{eigen, gallery, multigrid, precond, registration, solver, structured};

pub(crate) use vcycle_core::error;

/// Where memory lives and kernels run, and the scratch memory of a run; see [`vcycle_core::executor`].
pub mod executor {
    pub use vcycle_core::executor::*;
    pub use vcycle_core::workspace::{Pooled, Scratch, Workspace};
}

/// The example of the README, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The example of the tutorial, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tutorial.md")]
struct Tutorial;

/// The example of the guide to GPUs, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gpu.md")]
struct GpuGuide;
