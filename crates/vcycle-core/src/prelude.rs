//! What nearly every operation and matrix names: numbers, arrays, and where they are.

pub(crate) use std::sync::Arc;

pub(crate) use crate::arrays::{Coefficient, Csr, Pattern, Scalars, Vector};
pub(crate) use crate::error::{Error, Result};
pub(crate) use crate::executor::{Buffer, Executor};
pub(crate) use crate::kept::kept;
pub(crate) use crate::scalar::{Field, Kind, Mixes, Real, Scalar, bf16, c32, c64, f16};
pub(crate) use crate::size::Size;
pub(crate) use crate::workspace::{Scratch, Workspace};

#[cfg(test)]
pub(crate) use crate::{assert_refused, testing::device};
