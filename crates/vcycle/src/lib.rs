//! Sparse linear systems, solved fast and honestly.
//!
//! Everything is a linear operator ([`linop`]); where it runs is chosen at run time
//! ([`executor`]); in which precision each part is stored is up to you ([`scalar`]).

pub mod config;
pub mod eigen;
pub mod executor;
pub mod gallery;
pub mod io;
pub mod linop;
pub mod log;
pub mod matrix;
pub mod multigrid;
pub mod precond;
pub mod scalar;
pub mod solver;
pub mod stop;
pub mod structured;
pub mod vector;

mod backend;
mod error;

pub use error::{Error, Result};

/// The example of the README, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The example of the tutorial, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tutorial.md")]
struct Tutorial;
