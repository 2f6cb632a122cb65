//! `vcycle problems`.

use std::process::ExitCode;

use vcycle::gallery::catalogue;

use crate::output::{print, table};

/// Prints the catalogue of the gallery.
pub fn run() -> ExitCode {
    let rows = catalogue()
        .iter()
        .map(|entry| (entry.usage, entry.description));
    print(&table::facts(rows));
    print("example: vcycle solve poisson7:64");
    ExitCode::SUCCESS
}
