//! Sparse linear systems, solved by multigrid in mixed precision.
//!
//! ```
//! use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
//! let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 1, 0, 1]);
//! let values = vec![2.0, -1.0, -1.0, 2.0];
//! let a = Csr::from_triplets(
//!     &Executor::cpu(), Size::square(2), rows, columns, values, Duplicates::Refuse,
//! )?;
//! let solution = vcycle::solve(&a, &[1.0, 4.0])?;
//! assert!(solution.outcome.converged());
//! assert!((solution.x[0] - 2.0).abs() < 1e-7 && (solution.x[1] - 3.0).abs() < 1e-7);
//! # Ok::<(), vcycle::Error>(())
//! ```
//!
//! [`solve()`] chooses a solver and a preconditioner for the matrix, which may also come from another library
//! ([`interop`]) or from a file ([`io`]). [`config`] has options for everything that is chosen.
//!
//! Everything is a linear operator ([`linop`]); where it runs is chosen at run time
//! ([`executor`]); in which precision each part is stored is up to you ([`scalar`]).

pub mod config;
mod configuration;
pub mod driver;
pub mod executor;
pub mod interop;
pub mod io;
pub mod linop;
pub mod log;
pub mod matrix;
pub mod memory;
pub mod scalar;
mod solve;
pub mod stop;
pub mod vector;

pub use solve::{Solution, solve};
pub use vcycle_core::{Error, Result, communicator, programs};
// These modules keep what is not for users to themselves; the core, whose helpers the methods need, cannot.
#[doc(inline)]
pub use vcycle_methods::{
    HOST_STAGES, batch, eigen, gallery, multigrid, precond, registration, saddle, solver,
    structured,
};

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

/// The example of the guide to several processes, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/distributed.md")]
struct DistributedGuide;
