//! A solve in a table and in one line.

use console::style;

use super::format::{bytes, count, seconds};
use super::summary::Summary;

/// What was solved, how and where, for people.
pub fn overview(summary: &Summary) -> Vec<(&'static str, String)> {
    let config = &summary.config;
    let (rows, entries) = (count(summary.rows), count(summary.nonzeros));
    let [read, setup, solve] = [
        summary.read_seconds,
        summary.setup_seconds,
        summary.solve_seconds,
    ]
    .map(seconds);
    let (precision, format) = (
        config.precision.unwrap_or_default(),
        config.format.unwrap_or_default(),
    );
    let place = format!("{}, {} threads", summary.device, summary.threads);
    let mut table = vec![
        (
            "matrix",
            format!("{}: {rows} rows, {entries} entries", summary.problem),
        ),
        ("solver", spaced(&config.solver.brief())),
        ("preconditioner", spaced(&config.preconditioner.brief())),
    ];
    table.extend((summary.levels.len() != 1).then(|| ("levels", levels(summary))));
    table.extend([
        (
            "runs on",
            format!("{place}, precision {precision}, format {format}"),
        ),
        (
            "time",
            format!("{read} reading, {setup} set-up, {solve} solve"),
        ),
        ("memory", memory(summary)),
    ]);
    table.extend(kernels(summary).map(|text| ("kernels", text)));
    table.extend(summary.messages.iter().map(|m| ("note", m.clone())));
    table
}

/// With places where a line may break.
fn spaced(component: &str) -> String {
    component.replace(',', ", ")
}

fn levels(summary: &Summary) -> String {
    format!(
        "{}, operator complexity {:.2}, grid complexity {:.2}",
        summary.levels.len(),
        summary.operator_complexity,
        summary.grid_complexity
    )
}

fn memory(summary: &Summary) -> String {
    let held = format!("{} matrix and preconditioner", bytes(summary.bytes));
    match summary.peak_memory_bytes {
        None => held,
        Some(peak) => format!("{held}, {} at most", bytes(peak)),
    }
}

/// That kernels had to be compiled, which explains the time.
fn kernels(summary: &Summary) -> Option<String> {
    let compiled = summary.kernels["compiled"].as_u64()?;
    let message =
        format!("{compiled} programs compiled for this device, and kept for the next time");
    (compiled > 0).then_some(message)
}

/// How it ended, in one line.
pub fn verdict(summary: &Summary) -> String {
    let status = style(summary.status).bold();
    let status = match summary.status {
        "converged" => status.green(),
        "accuracy-limit" | "inconsistent" | "iteration-limit" | "time-limit" => status.yellow(),
        _ => status.red(),
    };
    let recurrence = match summary.relative_residual > 2.0 * summary.recurrence_residual {
        true => format!(" (of the recurrence {:.2e})", summary.recurrence_residual),
        false => String::new(),
    };
    let advice = match summary.status {
        "converged" => String::new(),
        _ => format!(": {}", summary.explanation),
    };
    format!(
        "{status} after {} iterations in {}, true relative residual {:.2e}{recurrence}{advice}",
        count(summary.iterations),
        seconds(summary.setup_seconds + summary.solve_seconds),
        summary.relative_residual,
    )
}
