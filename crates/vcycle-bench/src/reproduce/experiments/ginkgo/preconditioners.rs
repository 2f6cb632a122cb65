//! Incomplete factorisations and block-Jacobi.

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::{Ready, remark};
use crate::common::Result;

pub(super) fn factorisations(scope: &Scope) -> Result<Vec<Value>> {
    let problem = scope.size(["aniso7:8,0.01", "aniso7:32,0.01", "aniso7:80,0.01"]);
    let ready = Ready::new(problem, &scope.executor()?)?;
    let mut values = Vec::new();
    for preconditioner in ["none", "ilu0", "parilu"] {
        let text = format!("solver=gmres preconditioner={preconditioner} rtol=1e-8");
        let solution = ready.solve(&text.parse()?)?;
        let (setup, solve) = (solution.setup.as_secs_f64(), solution.solving.as_secs_f64());
        let count = solution.outcome.iterations;
        values.push(Value::iterations(preconditioner, count).noting(remark(&solution)));
        values.push(Value::new(preconditioner, "set-up", "s", setup));
        values.push(Value::new(preconditioner, "solve", "s", solve));
    }
    Ok(values)
}

pub(super) fn blocks(scope: &Scope) -> Result<Vec<Value>> {
    let problem = scope.size(["elasticity:4", "elasticity:12", "elasticity:34"]);
    let ready = Ready::new(problem, &scope.executor()?)?;
    let rows = ready.matrix().size().rows as f64;
    let mut values = Vec::new();
    for size in [4, 8, 16, 32] {
        for precision in ["double", "adaptive"] {
            let adaptive = precision == "adaptive";
            let text = format!(
                "solver = \"cg\"\npreconditioner = {{ name = \"block-jacobi\", block-size = {size}, adaptive = {adaptive} }}\n\
                 [stop]\nrtol = 1e-8"
            );
            let solution = ready.solve(&vcycle::config::Config::from_toml(&text)?)?;
            let row = format!("blocks of {size}, {precision}");
            let speed = rows / f64::from(size) / solution.setup.as_secs_f64();
            values.push(Value::new(&row, "blocks a second", "", speed));
            let count = solution.outcome.iterations;
            values.push(Value::iterations(&row, count).noting(remark(&solution)));
        }
    }
    Ok(values)
}
