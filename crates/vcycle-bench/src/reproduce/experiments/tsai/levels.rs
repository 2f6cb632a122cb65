//! Precisions level by level.

use std::sync::Arc;

use vcycle::config::PreconditionerConfig;
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::scalar::f16;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::product::product;
use super::super::solving::{Ready, of_solve};
use super::tables::method;
use crate::common::Result;

const BEAM: [&str; 3] = ["beam:o2,l1", "beam:o3,l2", "beam:o3,l3"];
/// Levels whose products are timed: those below have next to nothing to do.
const LEVELS: usize = 4;

/// Products with the matrices of the finest levels.
pub(super) fn products(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let ready = Ready::new(scope.size(BEAM), &executor)?;
    let config = method("dp")?;
    let PreconditionerConfig::Amg(amg) = &config.preconditioner else {
        return Err("the preset is no multigrid".into());
    };
    let a: Arc<dyn LinOp<f64>> = ready.matrix().clone();
    let ws = Workspace::new();
    let levels = amg.setup(&a, &ws)?.0.matrices(&a, &ws)?;
    let mut values = Vec::new();
    let seconds = scope.seconds() / 5.0;
    for (number, level) in levels.iter().take(LEVELS).enumerate() {
        let [mut double, mut single, mut half] = [f64::INFINITY; 3];
        for _ in 0..scope.size([1, 2, 5]) {
            double = double.min(product::<f64, f64, f64>(&level.a, seconds)?);
            single = single.min(product::<f32, f32, f32>(&level.a, seconds)?);
            half = half.min(product::<f16, f32, f32>(&level.a, seconds)?);
        }
        for (precision, time) in [("single", single), ("half", half)] {
            let row = format!("level {number}, {precision}");
            values.push(Value::factor(row, "speed-up", double / time));
        }
    }
    Ok(values)
}

/// From which level on: single, half; none for never.
const CHANGES: [(Option<usize>, Option<usize>); 12] = [
    (None, None),
    (Some(1), None),
    (Some(3), None),
    (Some(6), None),
    (None, Some(1)),
    (None, Some(3)),
    (None, Some(6)),
    (Some(1), Some(2)),
    (Some(1), Some(4)),
    (Some(1), Some(6)),
    (Some(3), Some(6)),
    (Some(1), Some(9)),
];

/// Iterations where precisions change at several levels.
pub(super) fn delayed(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let ready = Ready::new(scope.size(BEAM), &executor)?;
    let configs = CHANGES.map(|(single, half)| method(&spelt(single, half)));
    let configs = configs.into_iter().collect::<Result<Vec<_>>>()?;
    let tried = ready.race(&configs, 1);
    let rows = CHANGES.map(|(single, half)| named(single, half));
    let values = rows
        .iter()
        .zip(&tried)
        .flat_map(|(row, tried)| of_solve(row, tried));
    Ok(values.collect())
}

/// `dp-dp-sp`: a precision for every level, the last one for all that follow.
fn spelt(single: Option<usize>, half: Option<usize>) -> String {
    let last = single.unwrap_or(0).max(half.unwrap_or(0));
    let begun = |from: Option<usize>, level: usize| from.is_some_and(|from| level >= from);
    let of = |level| match (begun(half, level), begun(single, level)) {
        (true, _) => "hp",
        (_, true) => "sp",
        _ => "dp",
    };
    (0..=last).map(of).collect::<Vec<_>>().join("-")
}

fn named(single: Option<usize>, half: Option<usize>) -> String {
    match (single, half) {
        (None, None) => "double throughout".to_owned(),
        (Some(single), None) => format!("single from level {single}"),
        (None, Some(half)) => format!("half from level {half}"),
        (Some(single), Some(half)) => format!("single from level {single}, half from {half}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_precision_is_that_of_all_levels_that_follow() {
        assert_eq!(spelt(None, None), "dp");
        assert_eq!(spelt(Some(1), Some(2)), "dp-sp-hp");
        assert_eq!(spelt(None, Some(2)), "dp-dp-hp");
    }
}
