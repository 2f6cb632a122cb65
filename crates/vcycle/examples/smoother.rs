//! A smoother of one's own, in a two-level cycle.

use std::sync::Arc;

use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::{Factory, LinOp, MatrixFree};
use vcycle::multigrid::{Amg, Composed, DenseLu, Level, Relaxation};
use vcycle::solver::{Cg, Solver};
use vcycle::vector::Vector;

/// `M = omega D^-1`, with `d` the geometric mean of the diagonal entry and the absolute row sum.
#[derive(Clone, Copy, Debug)]
struct Between {
    weight: f64,
}

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

/// Solves a Poisson problem by conjugate gradients with a two-level cycle around the smoother.
pub fn main() -> vcycle::Result<()> {
    let (cpu, ws) = (Executor::cpu(), Workspace::new());
    let a: Arc<dyn LinOp<f64>> = Arc::new(gallery::build("poisson5:32", &cpu)?.matrix);

    // Transfer operators and the coarse matrix of a set-up that is there already.
    let mut amg = Amg::default();
    amg.max_levels = 2;
    let (setup, _) = amg.setup(&a, &ws)?;
    let levels = setup.matrices(&a, &ws)?;
    let (fine, coarse) = (&levels[0], &levels[1]);

    let sweep = Relaxation {
        m: Between { weight: 0.9 }.generate(&a, &ws)?,
        sweeps: 1,
        transposed: false,
    };
    let operations = Composed::<f64, f64> {
        a: Arc::clone(&a),
        restrict: fine.restriction.clone().expect("two levels"),
        prolong: fine.prolongation.clone().expect("two levels"),
        pre: sweep.clone(),
        post: sweep,
        normalised: false,
        gain: 1.0,
    };
    let cycle = Level::<f64> {
        operations: Arc::new(operations),
        coarse: Arc::new(DenseLu::new(&coarse.a)),
        smooths: true,
        number: 0,
        below: "level 1".to_owned(),
    };

    let solver =
        Solver::new(Cg::default(), Arc::clone(&a))?.with_preconditioner(Arc::new(cycle))?;
    let b = Vector::filled(&cpu, a.size().rows, 1, 1.0)?;
    let mut x = Vector::zeros_like(&b)?;
    let outcome = solver.solve(&b, &mut x)?;
    println!("{outcome}");
    assert!(outcome.converged() && outcome.iterations < 20);
    Ok(())
}
