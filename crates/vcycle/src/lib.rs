//! Sparse linear systems, solved fast and honestly.
//!
//! Everything is a linear operator ([`linop`]); where it runs is chosen at run time
//! ([`executor`]); in which precision each part is stored is up to you ([`scalar`]).

pub mod config;
pub mod driver;
pub mod executor;
pub mod io;
pub mod linop;
pub mod log;
pub mod matrix;
pub mod scalar;
pub mod stop;
pub mod vector;

pub use vcycle_core::{Error, Result};
// These modules keep what is not for users to themselves; the core, whose helpers the methods need, cannot.
#[doc(inline)]
pub use vcycle_methods::{eigen, gallery, multigrid, precond, solver, structured};

pub(crate) use vcycle_core::error;

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
