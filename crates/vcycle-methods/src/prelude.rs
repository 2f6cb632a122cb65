//! What nearly every method names: numbers, vectors, matrices and operators, and where they are.

pub(crate) use std::sync::Arc;

pub(crate) use crate::error::{Error, Result};
pub(crate) use crate::executor::{Buffer, Executor, Scratch, Workspace};
pub(crate) use crate::linop::{Factory, Footprint, LinOp, Size, Transpose};
pub(crate) use crate::matrix::{Csr, Distributed, Pattern};
pub(crate) use crate::scalar::{Field, Kind, Mixes, Real, Scalar, bf16, c32, c64, f16};
pub(crate) use crate::vector::{Coefficient, Scalars, Vector};
pub(crate) use vcycle_core::{forward, kept::kept};

#[cfg(test)]
pub(crate) use vcycle_core::testing::{device, on_ranks};
#[cfg(test)]
pub(crate) use vcycle_core::{assert_refused, matrix::on_parts};
