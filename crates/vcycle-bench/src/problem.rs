//! The matrices of the benchmarks.

use std::path::Path;

use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::matrix::Csr;

use crate::Result;

/// A problem of the gallery or a file with a real matrix.
pub(crate) fn matrix(executor: &Executor, name: &str) -> Result<Csr<f64>> {
    if gallery::is_problem(name) {
        return Ok(gallery::build(name, executor)?.matrix);
    }
    match load_matrix(Path::new(name), executor)? {
        AnyMatrix::Real(matrix) => Ok(matrix),
        AnyMatrix::Complex(_) => Err(format!("{name} is complex; a real matrix is needed").into()),
    }
}
