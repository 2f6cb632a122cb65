//! Systems on grids.

use std::path::Path;
use std::sync::Arc;

use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::LinOp;
use vcycle::solver::{Cg, Fgmres, Solver};
use vcycle::stop::Stop;
use vcycle::structured::{Generated, StencilMatrix, StructMg};
use vcycle::vector::Vector;

use super::settings::Settings;
use crate::common::Result;
use crate::problem;

/// Vectors that GMRES keeps: more of them save iterations, but take longer than these would. `oil:112` took 76, 67,
/// 63 and 59 iterations and 5.6, 5.6, 5.8 and 6.3 s with 10, 15, 20 and 30.
const RESTART: usize = 10;

/// A matrix on a grid, and ones on the right.
pub(super) struct Problem {
    pub name: String,
    pub a: Arc<StencilMatrix<f64>>,
    pub b: Vector<f64>,
    pub symmetric: bool,
}

impl Problem {
    pub fn new(executor: &Executor, name: &str) -> Result<Self> {
        let a = match gallery::is_problem(name) {
            true => gallery::build_stencil(name, executor)?,
            false => StencilMatrix::from_csr(&problem::matrix(executor, name)?)?,
        };
        Ok(Self {
            name: name.to_owned(),
            b: Vector::filled(executor, a.size().rows, 1, 1.0)?,
            symmetric: is_symmetric(&a)?,
            a: Arc::new(a),
        })
    }

    /// The same on another executor.
    pub fn on(self, executor: &Executor) -> Result<Self> {
        if self.a.executor().shares_memory_with(executor) {
            return Ok(self);
        }
        Ok(Self {
            a: Arc::new(self.a.copy_to(executor)?),
            b: self.b.copy_to(executor)?,
            ..self
        })
    }

    /// The solver that the matrix needs, with what structured multigrid made of it. GMRES has to be flexible: a cycle in
    /// single precision is not the same operator twice, to the last digits that are asked for.
    pub fn solver(&self, settings: &Settings, made: &Generated<f64>) -> Result<Solver<f64>> {
        let a = made.matrix.clone().unwrap_or_else(|| self.a.clone());
        let solver = match self.symmetric {
            true => Solver::new(Cg::default(), a)?,
            false => {
                let mut method = Fgmres::default();
                method.restart = RESTART;
                Solver::new(method, a)?
            }
        };
        let solver = solver.with_preconditioner(Arc::clone(&made.operator))?;
        Ok(solver.stopping(Stop::relative(settings.rtol).max_iterations(300)))
    }

    /// The residuals of a solve, relative to the right-hand side.
    pub fn solved(&self, settings: &Settings, parameters: &StructMg) -> Result<Vec<f64>> {
        let a: Arc<dyn LinOp<f64>> = self.a.clone();
        let made = parameters.generate_with_report(&a, &Workspace::new())?;
        let solver = self.solver(settings, &made)?;
        let mut x = Vector::zeros_like(&self.b)?;
        Ok(solver.solve(&self.b, &mut x)?.history)
    }

    /// The name before the size.
    pub fn family(&self) -> &str {
        let file = Path::new(&self.name)
            .file_name()
            .and_then(|name| name.to_str());
        file.unwrap_or(&self.name)
            .split(':')
            .next()
            .unwrap_or_default()
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let a = &self.a;
        let (stencil, grid, unknowns) = (a.stencil(), a.grid(), a.unknowns());
        let megabytes = a.bytes() / 1_000_000;
        write!(
            f,
            "{}: stencil {stencil} on {grid} cells, unknowns {unknowns}, {megabytes} MB in f64",
            self.name
        )
    }
}

/// Whether `<A x, y> = <x, A y>` for two vectors that have nothing to do with each other.
fn is_symmetric(a: &StencilMatrix<f64>) -> Result<bool> {
    let (rows, ws) = (a.size().rows, Workspace::new());
    let vector = |factor: usize| {
        let values = (0..rows).map(|row| (row.wrapping_mul(factor) >> 7 & 63) as f64 - 31.0);
        Vector::from_column(a.executor(), values.collect())
    };
    let (x, y) = (vector(40_503), vector(60_493));
    let (mut ax, mut ay) = (Vector::zeros_like(&x)?, Vector::zeros_like(&y)?);
    a.apply(&x, &mut ax, &ws)?;
    a.apply(&y, &mut ay, &ws)?;
    let dot = |u: &Vector<f64>, v: &Vector<f64>| -> f64 {
        u.to_vec().iter().zip(v.to_vec()).map(|(u, v)| u * v).sum()
    };
    let (left, right) = (dot(&ax, &y), dot(&x, &ay));
    let scale = dot(&ax, &ax).sqrt() * dot(&y, &y).sqrt();
    Ok((left - right).abs() <= 1e-12 * scale)
}
