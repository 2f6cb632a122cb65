//! Several ranks, each a thread.

use std::sync::Arc;

use vcycle::communicator::threads;
use vcycle::config::{Config, SharedSystem, solve_shared};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::vector::Vector;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use crate::common::Result;

/// What a solve over ranks took, set-up and iterations, and how many.
struct Solved {
    seconds: f64,
    iterations: usize,
}

/// A problem of fixed size, and one that grows with the ranks.
pub(super) fn scaling(scope: &Scope) -> Result<Vec<Value>> {
    let most = scope.size([2, 2, std::thread::available_parallelism()?.get().max(2)]);
    let counts = [1, 2, 4, 8, 16].into_iter().filter(|&count| count <= most);
    let side = scope.size([8, 40, 80]);
    let mut values = Vec::new();
    let mut first: Option<[f64; 2]> = None;
    for ranks in counts {
        let strong = solve(&format!("poisson7:{side}"), ranks)?;
        let weak = solve(&format!("poisson7:{side}x{side}x{}", side * ranks), ranks)?;
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

fn solve(problem: &str, ranks: usize) -> Result<Solved> {
    let text = "solver=cg preconditioner=amg coarsening=pmis interpolation=extended+i smoother=l1-jacobi rtol=1e-8";
    let config: Config = text.parse()?;
    let solved = threads::run(ranks, |team| {
        let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let part = gallery::build_part(problem, &rank)?;
        let (a, b) = part.expect("this problem is made in parts");
        let b = Vector::from_column(&rank, b);
        let system = SharedSystem::new(Arc::new(a));
        let solution = solve_shared(&config, &system, &b, &Workspace::new())?;
        Ok(Solved {
            seconds: (solution.setup + solution.solving).as_secs_f64(),
            iterations: solution.outcome.iterations,
        })
    })?;
    solved
        .into_iter()
        .next()
        .ok_or_else(|| "no rank has solved".into())
}
