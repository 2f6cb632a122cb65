//! Complete factorisations.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::solver::Direct;
use vcycle::vector::{Coefficient, Vector};

use crate::common::{Result, table};
use crate::problem::matrix;

/// Milliseconds of the best turn.
struct Times {
    rows: usize,
    setup: f64,
    again: f64,
    solve: f64,
    residual: f64,
    how: String,
}

/// A table of all problems in all places.
pub(super) fn report(
    places: &[(&str, Executor)],
    problems: &[String],
    rounds: usize,
) -> Result<String> {
    let mut table = table(&[
        "problem",
        "rows",
        "where",
        "set-up ms",
        "other values ms",
        "times the host",
        "solve ms",
        "times the host",
        "residual",
        "by",
    ]);
    for problem in problems {
        let mut host = None;
        for (place, executor) in places {
            let times = measured(executor, problem, rounds)?;
            let host = host.get_or_insert([times.again, times.solve]);
            table.add_row([
                problem.clone(),
                times.rows.to_string(),
                (*place).to_owned(),
                format!("{:.2}", times.setup),
                format!("{:.2}", times.again),
                format!("{:.2}", host[0] / times.again),
                format!("{:.3}", times.solve),
                format!("{:.2}", host[1] / times.solve),
                format!("{:.0e}", times.residual),
                times.how,
            ]);
        }
    }
    Ok(format!(
        "{table}\nWall clock, best of {rounds} after one that is not timed. The set-up orders the unknowns, finds the fill and factorises; other values in the same \
         places are factorised with what was found. Both end with a solve that is checked. Residual of one solve without refinement, over the right-hand side.",
    ))
}

fn measured(executor: &Executor, problem: &str, rounds: usize) -> Result<Times> {
    let a = Arc::new(matrix(executor, problem)?);
    let other: Arc<dyn LinOp<f64>> = Arc::new(a.scale(1.5)?);
    let a: Arc<dyn LinOp<f64>> = a;
    let ws = Workspace::new();
    let b = Vector::filled(executor, a.size().rows, 1, 1.0)?;
    let mut x = Vector::zeros_like(&b)?;
    let mut best = [f64::INFINITY; 3];
    let mut how = String::new();
    for turn in 0..=rounds {
        let begin = Instant::now();
        let (mut setup, inverse) = Direct::default().setup(&a, &ws)?;
        let first = ended(begin, executor)?;
        let begin = Instant::now();
        setup.update_values(&other, &ws)?;
        let again = ended(begin, executor)?;
        let begin = Instant::now();
        inverse.apply(&b, &mut x, &ws)?;
        let solve = ended(begin, executor)?;
        // The first turn compiles kernels.
        if turn > 0 {
            for (best, time) in best.iter_mut().zip([first, again, solve]) {
                *best = time.min(*best);
            }
        }
        how = format!("{inverse:?}");
    }
    let mut residual = b.clone();
    a.apply(&x, &mut residual, &ws)?;
    residual.axpy(Coefficient::real(-1.0), &b)?;
    Ok(Times {
        rows: b.rows(),
        setup: best[0],
        again: best[1],
        solve: best[2],
        residual: residual.norms()?[0] / b.norms()?[0],
        how,
    })
}

/// Milliseconds since then, with all that was queued.
fn ended(begin: Instant, executor: &Executor) -> Result<f64> {
    executor.synchronize()?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}
