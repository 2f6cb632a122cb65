//! What all benchmarks use: their errors, and what they print and write.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use vcycle::stop::Outcome;

/// What went wrong, in words: a benchmark has no caller that could act on it.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The number of threads asked for, or all cores.
pub(crate) fn threads(asked: Option<usize>) -> Result<usize> {
    Ok(match asked {
        Some(threads) => threads,
        None => std::thread::available_parallelism()?.into(),
    })
}

/// Writes a file; an error names it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let named = |error| format!("{}: cannot be written: {error}", path.display());
    Ok(std::fs::write(path, text).map_err(named)?)
}

/// An empty table with numbers to the right; it is Markdown, too.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Iterations, and how they ended if that is not as it should be.
pub(crate) fn told(outcome: &Outcome) -> String {
    match outcome.converged() {
        true => outcome.iterations.to_string(),
        false => format!("{}: {}", outcome.iterations, outcome.status),
    }
}
