//! Strong and weak scaling over ranks.

use vcycle::config::Config;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::ranks::{Solved, counts, solve};
use crate::common::Result;

/// Classical multigrid, as in the paper.
pub(super) fn multigrid(scope: &Scope) -> Result<Vec<Value>> {
    let text = "solver=cg preconditioner=amg coarsening=pmis interpolation=extended+i smoother=l1-jacobi rtol=1e-8";
    series(scope, text)
}

/// Adaptive FSAI alone.
pub(super) fn fsai(scope: &Scope) -> Result<Vec<Value>> {
    series(scope, "solver=cg preconditioner=fsai rtol=1e-8")
}

/// A problem of fixed size, and one that grows with the ranks.
fn series(scope: &Scope, config: &str) -> Result<Vec<Value>> {
    let (config, side): (Config, _) = (config.parse()?, scope.size([8, 40, 80]));
    let mut values = Vec::new();
    let mut first: Option<[f64; 2]> = None;
    for ranks in counts(scope)? {
        let solve = |problem: String| -> Result<Solved> {
            let solved = solve(scope, &problem, std::slice::from_ref(&config), (ranks, 1))?;
            Ok(solved[0])
        };
        let strong = solve(format!("poisson7:{side}"))?;
        let weak = solve(format!("poisson7:{side}x{side}x{}", side * ranks))?;
        let base = *first.get_or_insert([strong.seconds, weak.seconds]);
        for (name, one, ideal) in [
            ("strong", strong, base[0] / ranks as f64),
            ("weak", weak, base[1]),
        ] {
            let row = format!("{name}, {ranks} ranks");
            values.push(Value::iterations(&row, one.iterations));
            values.push(Value::new(&row, "set-up and solve", "s", one.seconds));
            let efficiency = 100.0 * ideal / one.seconds;
            values.push(Value::new(&row, "efficiency", "%", efficiency));
        }
    }
    Ok(values)
}
