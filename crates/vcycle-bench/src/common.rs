//! What all benchmarks use: their errors, and what they print and write.

use std::fmt;
use std::path::Path;

use comfy_table::{CellAlignment, presets};
use vcycle::executor::Executor;
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

/// The executor of a name: `cpu`, or a device such as `cuda:0`.
pub(crate) fn executor(name: &str) -> Result<Executor> {
    Ok(match name {
        "cpu" => Executor::cpu(),
        device => Executor::gpu(device)?,
    })
}

/// Writes a file; an error names it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let named = |error| format!("{}: cannot be written: {error}", path.display());
    Ok(std::fs::write(path, text).map_err(named)?)
}

/// A table with numbers to the right; it is Markdown, too.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// Without rows yet; the header is written as `one | other`.
    pub(crate) fn new(header: &str) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::ASCII_MARKDOWN)
            .set_header(header.split('|').map(str::trim));
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self(table)
    }

    /// Adds a row, written as `1 | 2`.
    pub(crate) fn row(&mut self, cells: impl AsRef<str>) {
        self.0.add_row(cells.as_ref().split('|').map(str::trim));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of some digits, or nothing.
pub(crate) fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

/// Iterations, and how they ended if that is not as it should be.
pub(crate) fn iterations(outcome: &Outcome) -> String {
    match outcome.converged() {
        true => outcome.iterations.to_string(),
        false => format!("{}: {}", outcome.iterations, outcome.status),
    }
}
