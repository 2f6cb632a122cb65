//! `vcycle-bench struct`: what storing stencil matrices in fewer bits gains.

mod ablation;
mod device;
mod kernels;
mod solves;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::LinOp;
use vcycle::solver::{Cg, Fgmres, Solver};
use vcycle::stop::Stop;
use vcycle::structured::{Generated, StencilMatrix, StructMg};
use vcycle::vector::Vector;

use crate::common::{Result, threads};
use crate::problem;

/// Vectors that GMRES keeps: more of them save iterations, but take longer than these would. `oil:112` took 76, 67,
/// 63 and 59 iterations and 5.6, 5.6, 5.8 and 6.3 s with 10, 15, 20 and 30.
const RESTART: usize = 10;

/// Options of `struct`.
#[derive(Clone, Debug, clap::Args)]
pub struct StructuredArgs {
    /// Problems whose matrix is a stencil on a grid, or files
    #[arg(default_values_t = [
        "laplace27:256", "laplace27e8:128", "weather:128", "rhd:160", "oil:96", "rhd-3T:72",
        "oil-4C:64", "solid-3D:64",
    ].map(str::to_owned))]
    problems: Vec<String>,
    /// Where to solve, `cuda:0` say; on the processor unless given
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Threads; all cores unless given
    #[arg(long)]
    threads: Option<usize>,
    /// Turns each candidate takes
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of one turn
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Residual to reach, relative to the right-hand side
    #[arg(long, default_value_t = 1e-9)]
    rtol: f64,
    /// Sweeps before and after the correction; two unless given
    #[arg(long, value_name = "COUNT")]
    sweeps: Option<usize>,
    /// Measure products and sweeps of each problem
    #[arg(long)]
    kernels: bool,
    /// Draw the residuals of five precisions and strategies for each problem instead
    #[arg(long, value_name = "FILE")]
    ablation: Option<PathBuf>,
}

impl StructuredArgs {
    /// The preconditioner in a precision, `K64P32D16` say.
    fn multigrid(&self, precision: &str) -> Result<StructMg> {
        let mut parameters = StructMg::default();
        parameters.precision = Some(precision.parse()?);
        if let Some(sweeps) = self.sweeps {
            (parameters.pre_sweeps, parameters.post_sweeps) = (sweeps, sweeps);
        }
        Ok(parameters)
    }
}

pub(crate) fn run(arguments: &StructuredArgs) -> Result<()> {
    let host = Executor::cpu_with_threads(threads(arguments.threads)?)?;
    let executor = match &arguments.device {
        Some(name) => Executor::gpu(name)?,
        None => host.clone(),
    };
    if let Some(file) = &arguments.ablation {
        return ablation::run(arguments, &host, file);
    }
    let mut measured = Vec::new();
    for name in &arguments.problems {
        let problem = Problem::new(&host, name)?;
        say!("{problem}, {}, {} threads", executor.name(), host.threads());
        if arguments.kernels {
            let table = match &arguments.device {
                Some(device) => device::measure(device, &problem.a)?,
                None => kernels::measure(arguments, &problem.a)?,
            };
            say!("{table}");
        }
        measured.push(solves::measure(arguments, &problem.on(&executor)?)?);
    }
    say!("{}", solves::summary(&measured));
    Ok(())
}

/// A matrix on a grid, and ones on the right.
struct Problem {
    name: String,
    a: Arc<StencilMatrix<f64>>,
    b: Vector<f64>,
    symmetric: bool,
}

impl Problem {
    fn new(executor: &Executor, name: &str) -> Result<Self> {
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
    fn on(self, executor: &Executor) -> Result<Self> {
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
    fn solver(&self, arguments: &StructuredArgs, made: &Generated<f64>) -> Result<Solver<f64>> {
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
        Ok(solver.stopping(Stop::relative(arguments.rtol).max_iterations(300)))
    }

    /// The name before the size.
    fn family(&self) -> &str {
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
