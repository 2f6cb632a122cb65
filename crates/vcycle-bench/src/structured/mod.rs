//! `vcycle-bench struct`: the gain of storing stencil matrices in fewer bits.

mod kernels;
mod solves;

use std::path::Path;

use vcycle::gallery;
use vcycle::multigrid::LevelScaling;
use vcycle::solver::{Cg, Fgmres, Solver};
use vcycle::stop::Stop;
use vcycle::structured::{Generated, StencilMatrix, StructMg};
use vcycle_plot::{Curve, Panel, panels};

use crate::common::short;
use crate::prelude::*;
use crate::problem::matrix;
use crate::table::write;

pub(crate) use solves::gains;

pub(crate) fn run(args: &Args) -> Result<()> {
    let host = Executor::cpu_with_threads(args.threads()?)?;
    if let Some(file) = args.path("ablation") {
        return ablation(args, &host, &file);
    }
    let executor = match args.maybe("device") {
        Some(_) => args.executor()?,
        None => host.clone(),
    };
    let mut measured = Vec::new();
    for name in args.list("PROBLEM") {
        let problem = Problem::new(&host, name)?;
        let (a, threads) = (&problem.a, host.threads());
        let (stencil, grid, unknowns) = (a.stencil(), a.grid(), a.unknowns());
        let (megabytes, place) = (a.bytes() / 1_000_000, executor.name());
        print_line!(
            "{name}: stencil {stencil} on {grid} cells, unknowns {unknowns}, {megabytes} MB in f64, {place}, {threads} threads"
        );
        if args.has("kernels") {
            print_line!("{}", kernels::measure(args, a, &executor)?);
            if executor.is_device() {
                print_line!("{}", kernels::measure_setups(args, &executor, a)?);
            }
        }
        let problem = problem.on(&executor)?;
        measured.push(solves::measure(args, &problem, args.measuring())?);
    }
    print_line!("{}", solves::summary(args, &measured));
    Ok(())
}

/// The preconditioner in a precision, `sp/hp` or `K64P32D16` say.
fn multigrid(args: &Args, precision: &str) -> Result<StructMg> {
    let mut parameters = StructMg::default();
    parameters.precision = Some(precision.parse()?);
    if let Some(sweeps) = args.maybe_count("sweeps") {
        (parameters.pre_sweeps, parameters.post_sweeps) = (sweeps, sweeps);
    }
    Ok(parameters)
}

/// Vectors that GMRES keeps: more of them save iterations, but take longer than these would. `oil:112` took 76, 67,
/// 63 and 59 iterations and 5.6, 5.6, 5.8 and 6.3 s with 10, 15, 20 and 30.
const RESTART: usize = 10;

/// A matrix on a grid, and ones on the right.
struct Problem {
    name: String,
    a: Arc<StencilMatrix<f64>>,
    b: Vector<f64>,
    is_symmetric: bool,
}

impl Problem {
    fn new(executor: &Executor, name: &str) -> Result<Self> {
        let a = match gallery::is_problem(name) {
            true => gallery::build_stencil(name, executor)?,
            false => StencilMatrix::from_csr(&matrix(executor, name)?)?,
        };
        Ok(Self {
            name: name.to_owned(),
            b: Vector::filled(executor, a.size().rows, 1, 1.0)?,
            is_symmetric: is_symmetric(&a)?,
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

    fn set_up(&self, parameters: &StructMg) -> Result<Generated<f64>> {
        let a: Arc<dyn LinOp<f64>> = self.a.clone();
        Ok(parameters.generate_with_report(&a, &Workspace::new())?)
    }

    /// The solver that the matrix needs. GMRES has to be flexible: a cycle in single precision is not the same operator twice, to the
    /// last digits of the tolerance.
    fn solver(&self, args: &Args, made: &Generated<f64>) -> Result<Solver<f64>> {
        let a = made.matrix.clone().unwrap_or_else(|| self.a.clone());
        let solver = match self.is_symmetric {
            true => Solver::new(Cg::default(), a)?,
            false => {
                let mut method = Fgmres::default();
                method.restart = RESTART;
                Solver::new(method, a)?
            }
        };
        let solver = solver.with_preconditioner(Arc::clone(&made.operator))?;
        Ok(solver.stopping(Stop::relative(args.number("rtol")).max_iterations(300)))
    }
}

/// Whether `<A x, y> = <x, A y>` for two unrelated vectors.
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

/// Name, precision, strategy and dashes of a curve.
const CURVES: [(&str, &str, LevelScaling, &str); 5] = [
    ("Full64", "K64P64D64", LevelScaling::Auto, ""),
    ("K64P32D32", "K64P32D32", LevelScaling::Auto, "6 3"),
    ("K64P32D16 none", "K64P32D16", LevelScaling::None, "2 2"),
    (
        "K64P32D16 scale-then-setup",
        "K64P32D16",
        LevelScaling::ScaleThenSetup,
        "8 2 2 2",
    ),
    (
        "K64P32D16 setup-then-scale",
        "K64P32D16",
        LevelScaling::Auto,
        "3 3",
    ),
];

/// Residuals of five precisions and strategies, drawn as in figure 6 of the paper; prints the iterations.
fn ablation(args: &Args, executor: &Executor, file: &Path) -> Result<()> {
    let mut all = Vec::new();
    for name in args.list("PROBLEM") {
        let problem = Problem::new(executor, name)?;
        let mut curves = Vec::new();
        for (title, precision, scaling, dashes) in CURVES {
            let mut parameters = multigrid(args, precision)?;
            parameters.scaling = scaling;
            let solved = || -> Result<_> {
                let solver = problem.solver(args, &problem.set_up(&parameters)?)?;
                Ok(solver.solve(&problem.b, &mut Vector::zeros_like(&problem.b)?)?)
            };
            let (text, residuals) = match solved() {
                Err(why) => (why.to_string(), Vec::new()),
                Ok(outcome) => {
                    let count = outcome.history.len().saturating_sub(1);
                    let last = outcome.history.last().copied().unwrap_or(f64::NAN);
                    let is_reached = last <= args.number("rtol");
                    let end = if is_reached { "" } else { ", not converged" };
                    let text = format!("{count} iterations to {last:.1e}{end}");
                    (text, outcome.history)
                }
            };
            print_line!("{name}: {title}: {text}");
            let dashes = dashes.to_owned();
            let curve = Curve::new(title, residuals);
            curves.push(Curve { dashes, ..curve });
        }
        all.push(Panel {
            title: short(name).split(':').next().unwrap_or_default().to_owned(),
            axes: ["iterations", ""].map(str::to_owned),
            curves,
        });
    }
    write(file, &panels(&all))
}
