//! Outcomes and levels as JSON.

use serde_json::{Value, json};
use vcycle::config::{Config, Solution};
use vcycle::multigrid::{LevelFacts, Report};
use vcycle::stop::{ColumnOutcome, Outcome};

/// A solve: how it ended, how long it took, what was chosen.
pub fn solution<T>(solution: &Solution<T>) -> String {
    let mut value = outcome(&solution.outcome, &solution.config);
    value["messages"] = json!(solution.messages);
    value["setup_seconds"] = json!(solution.setup.as_secs_f64());
    value["solve_seconds"] = json!(solution.solving.as_secs_f64());
    value["bytes"] = json!(solution.bytes);
    value["hierarchy"] = json!(solution.multigrid.as_ref().map(report));
    value.to_string()
}

/// How a solve ended.
pub fn outcome(outcome: &Outcome, config: &Config) -> Value {
    json!({
        "status": outcome.status.name(),
        "explanation": outcome.explanation(),
        "text": outcome.to_string(),
        "iterations": outcome.iterations,
        "relative_residual": outcome.relative_residual,
        "recurrence_residual": outcome.recurrence_residual,
        "backward_error": outcome.backward_error,
        "condition": outcome.condition,
        "outside_range": outcome.outside_range,
        "columns": outcome.columns.iter().map(column).collect::<Vec<_>>(),
        "history": outcome.history,
        "setup_seconds": 0.0,
        "solve_seconds": outcome.elapsed.as_secs_f64(),
        "messages": Vec::<String>::new(),
        "bytes": 0,
        "config": config,
        "hierarchy": null,
    })
}

fn column(column: &ColumnOutcome) -> Value {
    json!({
        "status": column.status.name(),
        "iterations": column.iterations,
        "relative_residual": column.relative_residual,
        "backward_error": column.backward_error,
        "outside_range": column.outside_range,
    })
}

/// The levels of a hierarchy.
pub fn report(report: &Report) -> Value {
    json!({
        "text": report.to_string(),
        "levels": report.levels.iter().map(level).collect::<Vec<_>>(),
        "operator_complexity": report.operator_complexity(),
        "grid_complexity": report.grid_complexity(),
        "bytes": report.bytes(),
        "setup_seconds": report.setup_seconds(),
        "coarsest": report.coarsest,
        "stalled": report.stalled,
        "notes": report.notes,
    })
}

fn level(level: &LevelFacts) -> Value {
    json!({
        "rows": level.rows,
        "nonzeros": level.nonzeros,
        "precision": level.precision.to_string(),
        "format": level.format,
        "smoother": level.smoother,
        "bytes": level.bytes,
        "setup_seconds": level.setup_seconds(),
    })
}
