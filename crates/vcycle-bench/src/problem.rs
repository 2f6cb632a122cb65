//! The systems of the benchmarks.

use std::path::Path;

use vcycle::config::{Solution, System, solve_system};
use vcycle::gallery;
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::multigrid::NearNullspace;

use crate::prelude::*;

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
        let near = self.near_nullspace.as_ref();
        near.map_or(1, NearNullspace::block_size)
    }

    /// The relative residual of a solution, in double precision.
    pub(crate) fn residual(&self, x: Vec<f64>) -> Result<f64> {
        let x = Vector::from_column(self.matrix.executor(), x);
        let b = Vector::from_column(self.matrix.executor(), self.rhs.clone());
        residual(&self.matrix, &b, &x)
    }

    /// A matrix with the near-nullspace of this one.
    pub(crate) fn with_matrix(&self, matrix: Csr<f64>) -> System<f64> {
        let mut system = System::new(Arc::new(matrix));
        system.near_nullspace.clone_from(&self.near_nullspace);
        system
    }

    /// The vectors of the near-nullspace.
    pub(crate) fn modes(&self) -> &[Vec<f64>] {
        let near = self.near_nullspace.as_ref();
        near.map_or(&[], NearNullspace::vectors)
    }
}

/// `|b - A x| / |b|`.
pub(crate) fn residual(a: &dyn LinOp<f64>, b: &Vector<f64>, x: &Vector<f64>) -> Result<f64> {
    let mut r = Vector::zeros_like(b)?;
    a.residual(b, x, &mut r, &Workspace::new())?;
    Ok(r.norms()?[0] / b.norms()?[0])
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

/// A problem that is ready to be solved.
pub(crate) struct Ready {
    system: System<f64>,
    b: Vector<f64>,
}

/// A solve, or the reason why there is none: numbers that a precision cannot hold are refused, say.
pub(crate) type Tried = std::result::Result<Solution<f64>, String>;

impl Ready {
    pub(crate) fn new(problem: &str, executor: &Executor) -> Result<Self> {
        Self::of(&system(executor, problem)?, executor)
    }

    /// A system in the memory of an executor.
    pub(crate) fn of(system: &BenchSystem, executor: &Executor) -> Result<Self> {
        Ok(Self {
            system: system.with_matrix(system.matrix.copy_to(executor)?),
            b: Vector::from_column(executor, system.rhs.clone()),
        })
    }

    /// Lets configurations take turns for some rounds; of each the shortest solve, with its shortest set-up. Solves of
    /// several seconds have one round.
    pub(crate) fn race(&self, configs: &[Config], rounds: usize) -> Vec<Tried> {
        let mut best: Vec<Option<Tried>> = vec![None; configs.len()];
        for _ in 0..rounds {
            for (config, best) in configs.iter().zip(&mut best) {
                let is_short = |one: &Solution<f64>| (one.setup + one.solving).as_secs_f64() <= 2.0;
                if matches!(best, Some(tried) if !tried.as_ref().is_ok_and(is_short)) {
                    continue;
                }
                let tried = self.once(config).map_err(|error| error.to_string());
                *best = Some(shorter(best.take(), tried));
            }
        }
        best.into_iter().flatten().collect()
    }

    /// The shortest of three solves.
    pub(crate) fn solve(&self, config: &Config) -> Result<Solution<f64>> {
        let tried = self.race(std::slice::from_ref(config), 3).pop();
        Ok(tried.ok_or("nothing was solved")??)
    }

    pub(crate) fn once(&self, config: &Config) -> vcycle::Result<Solution<f64>> {
        solve_system(config, &self.system, &self.b, &Workspace::new())
    }

    pub(crate) fn matrix(&self) -> &Arc<Csr<f64>> {
        let whole = self.system.matrix.whole();
        whole.expect("one process has all rows")
    }

    pub(crate) fn operator(&self) -> Arc<dyn LinOp<f64>> {
        self.matrix().clone()
    }

    pub(crate) fn rhs(&self) -> &Vector<f64> {
        &self.b
    }
}

fn shorter(old: Option<Tried>, new: Tried) -> Tried {
    match (old, new) {
        (Some(Ok(mut old)), Ok(mut new)) => {
            let setup = old.setup.min(new.setup);
            (old.setup, new.setup) = (setup, setup);
            Ok(if new.solving < old.solving { new } else { old })
        }
        (Some(Ok(old)), Err(_)) => Ok(old),
        (_, new) => new,
    }
}
