//! The methods of vcycle: [`solver`]s, [`precond`]itioners, algebraic [`multigrid`], multigrid on
//! [`structured`] grids, many small systems ([`batch`]), blocks of [`saddle`] points, eigenvalues ([`eigen`]), and the model problems they are tried on ([`gallery`]).
//!
//! Methods name no backend. They call operations of vectors and matrices, and the executor of these decides where
//! an operation runs. The library `vcycle` is the interface for users; this crate may change with every version.

pub mod batch;
mod dense;
pub mod eigen;
pub mod gallery;
mod host_stages;
pub mod multigrid;
pub mod precision;
pub mod precond;
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

const ALL_HOST_STAGES: &([operations::HostStage; 64], usize) =
    &multigrid::distinct(&[&[multigrid::ON_HOST, host_stages::ALL, &[structured::ON_HOST]]]);

/// What the host does for matrices of a device, copying them back and forth: the rest of a set-up, and every
/// solve, stays on the device.
pub const HOST_STAGES: &[operations::HostStage] = ALL_HOST_STAGES.0.split_at(ALL_HOST_STAGES.1).0;
