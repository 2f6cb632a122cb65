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

use std::io::{self, ErrorKind, Write};
use std::sync::Mutex;

use vcycle::io::NewFile;

use crate::prelude::*;

/// Why the first line that could not be printed was lost.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// A line on stdout.
pub fn print(line: &str) {
    printed(writeln!(io::stdout().lock(), "{line}"));
}

/// A line on stderr. Where that cannot be written either, the exit status has to do.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Keeps the first failure to print for [`check_printed`]. A reader that has gone away, `head` for example, is no failure.
pub fn printed(result: io::Result<()>) {
    let mut lost = LOST.lock().expect("nothing panics while it is held");
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        lost.get_or_insert(error);
    }
}

/// Fails where something could not be printed, for want of space, say.
pub fn check_printed() -> Result<()> {
    printed(io::stdout().flush());
    let lost = LOST.lock().expect("nothing panics while it is held").take();
    lost.map_or(Ok(()), |error| {
        Err(CliError::writing(Path::new("standard output"))(error))
    })
}

/// Writes a file as a whole or not at all.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut NewFile) -> io::Result<()>) -> Result<()> {
    let written = NewFile::create(path).and_then(|mut file| {
        fill(&mut file)?;
        file.finish()
    });
    written.map_err(CliError::writing(path))
}
