//! What was measured, on the terminal and in a file.

use std::fmt::Display;
use std::path::PathBuf;

use crate::common::{Result, write};

/// A Markdown text that grows.
pub(super) struct MarkdownReport {
    text: String,
    path: Option<PathBuf>,
}

impl MarkdownReport {
    pub fn new(path: Option<PathBuf>) -> Self {
        Self {
            text: String::new(),
            path,
        }
    }

    /// Adds a piece, prints it and writes the file: what comes later may fail.
    pub fn add(&mut self, piece: impl Display) -> Result<()> {
        say!("{piece}\n");
        self.text += &format!("{piece}\n\n");
        if let Some(path) = &self.path {
            write(path, &self.text)?;
        }
        Ok(())
    }
}

/// A number of some digits, or nothing.
pub(super) fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn the_file_has_all_that_was_added() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("report.md");
        let mut report = MarkdownReport::new(Some(path.clone()));
        report.add("# one").unwrap();
        report.add("two").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "# one\n\ntwo\n\n");
        assert_eq!(cell(Some(1.26), 1), "1.3");
        assert_eq!(cell(None, 1), "");
    }
}
