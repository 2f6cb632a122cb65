//! Two orders of a triple product.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::multigrid::Amg;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use crate::common::Result;

pub(super) fn orders(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let problem = scope.size(["elasticity:4", "elasticity:16", "elasticity:40"]);
    let problem = vcycle::gallery::build(problem, &executor)?;
    let near = problem.near_nullspace.clone();
    let near = near.ok_or("elasticity has rigid-body modes")?;
    let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix.clone());
    let mut amg = Amg::default();
    amg.coarsening = "mis2".parse()?;
    amg.coarsest_rows = 20;
    let ws = Workspace::new();
    let (setup, _) = amg.setup_with(&a, &near, &ws)?;
    let levels = setup.matrices(&a, &ws)?;
    let a = &levels[0].a;
    let (Some(r), Some(p)) = (&levels[0].restriction, &levels[0].prolongation) else {
        return Err("there is no second level".into());
    };
    let (ap, ra) = (a.multiply(p)?, r.multiply(a)?);
    let timed = |work: &dyn Fn() -> vcycle::Result<Csr<f64>>| -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..scope.size([1, 2, 4]) {
            let begin = Instant::now();
            work()?;
            executor.synchronize()?;
            best = best.min(begin.elapsed().as_secs_f64());
        }
        Ok(best)
    };
    let times = [
        ("AP", timed(&|| a.multiply(p))?),
        ("R(AP)", timed(&|| r.multiply(&ap))?),
        ("RA", timed(&|| r.multiply(a))?),
        ("(RA)P", timed(&|| ra.multiply(p))?),
    ];
    let rows = times.iter();
    let mut values: Vec<Value> = rows
        .map(|(row, time)| Value::new(*row, "time", "s", *time))
        .collect();
    let ratio = (times[2].1 + times[3].1) / (times[0].1 + times[1].1);
    values.push(Value::factor("(RA)P beside R(AP)", "both products", ratio));
    for (row, matrix) in [("A", &**a), ("P", &**p), ("AP", &ap), ("RA", &ra)] {
        let entries = matrix.nonzeros() as f64 / matrix.size().rows as f64;
        values.push(Value::new(row, "entries a row", "", entries));
    }
    Ok(values)
}
