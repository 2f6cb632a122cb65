//! The methods of vcycle: [`solver`]s, [`precond`]itioners, algebraic [`multigrid`], multigrid on
//! [`structured`] grids, many small systems ([`batch`]), blocks of [`saddle`] points, eigenvalues ([`eigen`]), and the model problems they are tried on ([`gallery`]).
//!
//! Methods name no backend. They call operations of vectors and matrices, and the executor of these decides where
//! an operation runs. The library `vcycle` is the interface for users; this crate may change with every version.

pub mod batch;
pub mod counts;
mod dense;
pub mod eigen;
pub mod gallery;
mod host_stages;
pub mod multigrid;
pub mod precision;
pub mod precond;
mod prelude;
pub mod registration;
pub mod saddle;
pub mod solver;
pub mod structured;
pub(crate) mod text;

pub(crate) use vcycle_core::{
    arrays, cpu, error, fields, grid, linop, log, matrix, multiversion, operations, reference,
    scalar, stop, vector,
};

/// Where things run, and the workspace of a run.
pub(crate) mod executor {
    pub(crate) use vcycle_core::executor::*;
    pub(crate) use vcycle_core::workspace::*;
}

pub use host_stages::HOST_STAGES;
