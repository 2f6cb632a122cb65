//! What the program prints and writes.

pub mod charts;
pub mod facts;
pub mod format;
pub mod overview;
pub mod picture;
pub mod plot;
pub mod progress;
pub mod ranks;
pub mod report;
pub mod spy;
pub mod summary;
pub mod table;

use std::io::Write;

/// A line on stdout. A reader that has gone away, `head` for example, is no failure.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
