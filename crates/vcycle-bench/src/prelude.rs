//! What nearly every benchmark names: systems, where they are, and tables.

pub(crate) use std::sync::Arc;

pub(crate) use crate::args::Args;
pub(crate) use crate::common::Result;
pub(crate) use crate::table::{Cell, Report, Table, row};
pub(crate) use vcycle::config::Config;
pub(crate) use vcycle::executor::{Executor, Workspace};
pub(crate) use vcycle::linop::LinOp;
pub(crate) use vcycle::matrix::Csr;
pub(crate) use vcycle::scalar::{Kind, Mixes, Scalar};
pub(crate) use vcycle::vector::Vector;
