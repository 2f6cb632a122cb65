//! A user-defined smoother in a multigrid hierarchy, without a change of vcycle.

use std::sync::Arc;

use vcycle::config::{self, Config};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::{AnyFactory, Factory, InPrecision, LinOp, MatrixFree};
use vcycle::multigrid::{Amg, Smooth, Smoother};
use vcycle::registration::Symmetry;
use vcycle::solver::{Cg, Solver};
use vcycle::vector::Vector;

/// `M = omega D^-1`, with `d` the geometric mean of the diagonal entry and the absolute row sum.
#[derive(Clone, Copy, Debug)]
struct Between {
    weight: f64,
}

/// From a matrix to the operator of one sweep.
impl Factory<f64> for Between {
    fn generate(
        &self,
        a: &Arc<dyn LinOp<f64>>,
        _: &Workspace,
    ) -> vcycle::Result<Arc<dyn LinOp<f64>>> {
        let csr = a.csr().expect("a matrix with entries");
        let inverse = |row: usize| {
            let sum: f64 = csr.row(row).1.iter().map(|value| value.abs()).sum();
            let diagonal = csr.entry(row, row).unwrap_or(0.0);
            self.weight / (sum * diagonal).sqrt()
        };
        let inverses: Vec<f64> = (0..a.size().rows).map(inverse).collect();
        Ok(Arc::new(MatrixFree::new(
            a.executor(),
            a.size(),
            move |x, y, _| {
                let columns = x.cols();
                let x = x.host()?;
                for (place, y) in y.host_mut()?.iter_mut().enumerate() {
                    *y = inverses[place / columns] * x[place];
                }
                Ok(())
            },
        )))
    }
}

/// What multigrid has to know.
impl Smooth for Between {
    fn name(&self) -> &'static str {
        "between"
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }

    /// Levels may work in any precision; this factory is one for double alone.
    fn factory(&self) -> Arc<dyn AnyFactory> {
        Arc::new(InPrecision::<f64>::new(Arc::new(*self)))
    }
}

static BETWEEN: Between = Between { weight: 0.9 };

/// Solves a Poisson problem twice: with the smoother given in code, and named in a configuration.
pub fn main() -> vcycle::Result<()> {
    let cpu = Executor::cpu();
    let a = Arc::new(gallery::build("poisson5:32", &cpu)?.matrix);
    let b = Vector::filled(&cpu, a.size().rows, 1, 1.0)?;

    let amg = Amg::default().with_smoother(&BETWEEN);
    let solver = Solver::<f64>::new(Cg::default(), Arc::clone(&a) as _)?.preconditioned_by(&amg)?;
    let mut x = Vector::zeros_like(&b)?;
    let outcome = solver.solve(&b, &mut x)?;
    println!("{outcome}");
    assert!(outcome.converged() && outcome.iterations < 20);

    Smoother::register(&BETWEEN)?;
    let config = Config::from_toml(
        r#"
        solver = "cg"
        preconditioner = { name = "amg", smoother = "between" }
    "#,
    )?;
    let solution = config::solve(&config, &a, &b, &Workspace::new())?;
    assert_eq!(solution.outcome.iterations, outcome.iterations);
    Ok(())
}
