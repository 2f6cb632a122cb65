//! What narrow precisions gain in whole solves.

use vcycle::config::{Config, PreconditionerConfig};
use vcycle::multigrid::Amg;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::{Ready, Tried, remark};
use super::tables::{alone_in, method};
use crate::common::Result;

const PROBLEMS: [(&str, [&str; 3]); 2] = [
    ("beam", ["beam:o2,l1", "beam:o3,l2", "beam:o3,l3"]),
    ("l-shape", ["lshape:o2,l3", "lshape:o3,l4", "lshape:o3,l6"]),
];
/// Double first; precision of vectors / of matrices where they differ.
const PRECISIONS: [&str; 6] = ["dp", "dp-sp", "dp/hp", "dp-sp/sp", "dp-sp/hp", "dp-sp/bf"];
/// Names of the papers and here, and sweeps before and after.
const SMOOTHERS: [(&str, &str, usize); 3] = [
    ("jacobi", "jacobi:0.9", 1),
    ("block-jacobi", "block-jacobi:32", 1),
    ("l1-chebyshev", "chebyshev-l1", 2),
];

/// The largest gain of some rows.
#[derive(Default)]
struct Best(f64);

/// Preconditioned conjugate gradients with three smoothers.
pub(super) fn smoothers(scope: &Scope) -> Result<Vec<Value>> {
    let (mut values, executor) = (Vec::new(), scope.executor()?);
    for (smoother, spelt, sweeps) in SMOOTHERS {
        let mut best = Best::default();
        for (problem, sizes) in PROBLEMS {
            let ready = Ready::new(scope.size(sizes), &executor)?;
            let configs = in_all(method, |amg| smooth(amg, spelt, sweeps))?;
            let tried = ready.race(&configs, scope.size([1, 1, 3]));
            values.extend(best.of(&format!("{problem}, {smoother}"), &tried));
        }
        values.push(best.value(&format!("best, {smoother}")));
    }
    Ok(values)
}

/// Multigrid alone, and W-cycles.
pub(super) fn cycles(scope: &Scope) -> Result<Vec<Value>> {
    let (mut values, executor) = (Vec::new(), scope.executor()?);
    let rounds = scope.size([1, 1, 3]);
    let mut best = Best::default();
    let ready = Ready::new(scope.size(PROBLEMS[0].1), &executor)?;
    let tried = ready.race(&in_all(alone_in, |_| Ok(()))?, rounds);
    values.extend(best.of("beam, alone", &tried));
    values.push(best.value("best, alone"));
    for (smoother, spelt, sweeps) in [SMOOTHERS[0], SMOOTHERS[2]] {
        let mut best = Best::default();
        for (problem, sizes) in PROBLEMS {
            let ready = Ready::new(scope.size(sizes), &executor)?;
            let configs = in_all(method, |amg| {
                amg.cycle = "w".parse()?;
                amg.max_levels = 4;
                smooth(amg, spelt, sweeps)
            })?;
            let tried = ready.race(&configs, rounds);
            values.extend(best.of(&format!("{problem}, W-cycles, {smoother}"), &tried));
        }
        values.push(best.value(&format!("best, W-cycles, {smoother}")));
    }
    Ok(values)
}

fn smooth(amg: &mut Amg, smoother: &str, sweeps: usize) -> Result<()> {
    amg.smoother = smoother.parse()?;
    (amg.pre_sweeps, amg.post_sweeps) = (sweeps, sweeps);
    Ok(())
}

/// A configuration in all precisions, changed.
fn in_all(
    config: fn(&str) -> Result<Config>,
    change: impl Fn(&mut Amg) -> Result<()>,
) -> Result<Vec<Config>> {
    let one = |precision: &&str| {
        let mut config = config(precision)?;
        if let PreconditionerConfig::Amg(amg) = &mut config.preconditioner {
            change(amg)?;
        }
        Ok(config)
    };
    PRECISIONS.iter().map(one).collect()
}

impl Best {
    /// Iterations and gains of all precisions beside the first; gains of solves that converge count.
    fn of(&mut self, row: &str, tried: &[Tried]) -> Vec<Value> {
        let mut values = Vec::new();
        let double = tried[0].as_ref().ok().map(|one| one.solving.as_secs_f64());
        for (precision, tried) in PRECISIONS.iter().zip(tried) {
            let row = format!("{row}, {precision}");
            let (count, gain, note) = match (tried, double) {
                (Ok(one), Some(double)) => (
                    one.outcome.iterations,
                    double / one.solving.as_secs_f64(),
                    remark(one),
                ),
                (Ok(one), None) => (one.outcome.iterations, 0.0, remark(one)),
                (Err(why), _) => (0, 0.0, format!("refused: {why}")),
            };
            if note.is_empty() && *precision != "dp" {
                self.0 = self.0.max(gain);
            }
            values.push(Value::iterations(&row, count).noting(note));
            values.push(Value::factor(&row, "speed-up", gain));
        }
        values
    }

    fn value(&self, row: &str) -> Value {
        Value::factor(row, "speed-up", self.0)
    }
}
