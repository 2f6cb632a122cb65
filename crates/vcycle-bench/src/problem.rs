//! The systems of the benchmarks.

use std::path::Path;
use std::sync::Arc;

use vcycle::config::System;
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::multigrid::NearNullspace;
use vcycle::vector::Vector;

use crate::common::Result;

/// A linear system, with what a solver may want to know of it.
pub(crate) struct BenchSystem {
    pub(crate) matrix: Csr<f64>,
    pub(crate) rhs: Vec<f64>,
    /// Vectors the matrix nearly annihilates, where they are more than the constant.
    pub(crate) near_nullspace: Option<NearNullspace>,
}

impl BenchSystem {
    /// A matrix of which nothing is known.
    pub(crate) fn plain(matrix: Csr<f64>, rhs: Vec<f64>) -> Self {
        Self {
            matrix,
            rhs,
            near_nullspace: None,
        }
    }

    /// Unknowns of a node.
    pub(crate) fn block_size(&self) -> usize {
        self.near_nullspace
            .as_ref()
            .map_or(1, NearNullspace::block_size)
    }

    /// The relative residual of a solution, in double precision, whoever has solved.
    pub(crate) fn residual(&self, x: Vec<f64>) -> Result<f64> {
        let a = &self.matrix;
        let x = Vector::from_column(a.executor(), x);
        let b = Vector::from_column(a.executor(), self.rhs.clone());
        let mut r = Vector::zeros_like(&b)?;
        a.residual(&b, &x, &mut r, &Workspace::new())?;
        Ok(r.norms()?[0] / b.norms()?[0])
    }

    /// A matrix with what is known of this one.
    pub(crate) fn known(&self, matrix: Csr<f64>) -> System<f64> {
        let known = System::new(Arc::new(matrix));
        match &self.near_nullspace {
            None => known,
            Some(near) => known.with_near_nullspace(near.clone()),
        }
    }

    /// The vectors of the near-nullspace.
    pub(crate) fn modes(&self) -> &[Vec<f64>] {
        self.near_nullspace
            .as_ref()
            .map_or(&[], NearNullspace::vectors)
    }
}

/// A problem of the gallery, or a file with a real matrix and ones on the right.
pub(crate) fn system(executor: &Executor, name: &str) -> Result<BenchSystem> {
    if gallery::is_problem(name) {
        let problem = gallery::build(name, executor)?;
        return Ok(BenchSystem {
            matrix: problem.matrix,
            rhs: problem.rhs,
            near_nullspace: problem.near_nullspace,
        });
    }
    match load_matrix(Path::new(name), executor)? {
        AnyMatrix::Real(matrix) => {
            let ones = vec![1.0; matrix.size().rows];
            Ok(BenchSystem::plain(matrix, ones))
        }
        AnyMatrix::Complex(_) => Err(format!("{name} is complex; a real matrix is needed").into()),
    }
}

/// The matrix of a system.
pub(crate) fn matrix(executor: &Executor, name: &str) -> Result<Csr<f64>> {
    Ok(system(executor, name)?.matrix)
}
