//! What nearly every command names: systems, where they are, and errors.

pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::ExitCode;
pub(crate) use std::sync::Arc;

pub(crate) use crate::error::{CliError, Result};
pub(crate) use vcycle::config::{AnySystem, Config, System, Wide};
pub(crate) use vcycle::executor::{Executor, Workspace};
pub(crate) use vcycle::matrix::Csr;
pub(crate) use vcycle::vector::Vector;
