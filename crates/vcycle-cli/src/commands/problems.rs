//! `vcycle problems`.

use vcycle::gallery::{catalogue, complex_catalogue};

use crate::output::{print, table};
use crate::prelude::*;

/// Prints the catalogue of the gallery.
pub fn run() -> ExitCode {
    let real = catalogue().iter();
    let real = real.map(|entry| (entry.usage, entry.description));
    let complex = complex_catalogue().iter();
    let complex = complex.map(|entry| (entry.usage, entry.description));
    print(&table::facts(real.chain(complex)));
    print("example: vcycle solve poisson7:64");
    ExitCode::SUCCESS
}
