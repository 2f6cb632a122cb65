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
        let text = String::new();
        Self { text, path }
    }

    /// Adds a piece, prints it and writes the file: what comes later may fail.
    pub fn add(&mut self, piece: impl Display) -> Result<()> {
        self.line(format!("{piece}\n"))
    }

    /// Begins a table, with a header such as `one | other`, whose rows come one by one, because each takes long; text ends it.
    pub fn begin_table(&mut self, header: &str) -> Result<()> {
        self.row(header)?;
        self.row(vec!["---"; header.split('|').count()].join(" | "))
    }

    /// A row of the table that was begun.
    pub fn row(&mut self, cells: impl Display) -> Result<()> {
        self.line(format!("| {cells} |"))
    }

    fn line(&mut self, line: String) -> Result<()> {
        say!("{line}");
        self.text += &line;
        self.text.push('\n');
        match &self.path {
            Some(path) => write(path, &self.text),
            None => Ok(()),
        }
    }
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
        report.begin_table("a | b").unwrap();
        report.row("1 | 2").unwrap();
        report.add("\ntwo").unwrap();
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "# one\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\ntwo\n\n"
        );
    }
}
