//! What is printed and written.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, presets};

use crate::common::Result;

/// A value in a table.
pub(crate) enum Cell {
    Text(String),
    Number(f64),
    Nothing,
}

macro_rules! cells {
    ($($type:ty, $value:ident => $cell:expr;)*) => {$(
        impl From<$type> for Cell {
            fn from($value: $type) -> Self {
                $cell
            }
        }
    )*};
}

cells! {
    &str, text => Cell::Text(text.to_owned());
    &String, text => Cell::Text(text.clone());
    String, text => Cell::Text(text);
    usize, count => Cell::Text(count.to_string());
    f64, number => Cell::Number(number);
    Option<f64>, number => number.map_or(Cell::Nothing, Cell::Number);
}

/// The cells of a row.
macro_rules! row {
    ($($cell:expr),* $(,)?) => {
        vec![$($crate::table::Cell::from($cell)),*]
    };
}
pub(crate) use row;

/// How numbers of a column are written: so many digits after the point, with an exponent perhaps.
#[derive(Clone, Copy)]
struct Digits {
    count: usize,
    exponent: bool,
}

/// A table with numbers to the right; it is Markdown, too.
pub(crate) struct Table {
    titles: Vec<String>,
    digits: Vec<Digits>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns such as `problem | ms .2 | residual .1e`.
    pub(crate) fn new(columns: &str) -> Self {
        let column = |words: &str| {
            let words = words.trim();
            let found = words.rsplit_once(" .");
            let (title, format) = found
                .filter(|(_, format)| is_format(format))
                .unwrap_or((words, "3"));
            let digits = Digits {
                count: format.trim_end_matches('e').parse().unwrap_or(3),
                exponent: format.ends_with('e'),
            };
            (title.to_owned(), digits)
        };
        let (titles, digits) = columns.split('|').map(column).unzip();
        Self {
            titles,
            digits,
            rows: Vec::new(),
        }
    }

    /// With further columns at a place.
    pub(crate) fn with(mut self, place: usize, titles: &[&str]) -> Self {
        for (number, title) in titles.iter().enumerate() {
            self.titles.insert(place + number, (*title).to_owned());
            self.digits.insert(
                place + number,
                Digits {
                    count: 1,
                    exponent: false,
                },
            );
        }
        self
    }

    /// Without its first columns.
    #[cfg(test)]
    pub(crate) fn without(mut self, count: usize) -> Self {
        self.titles.drain(..count);
        self.digits.drain(..count);
        self
    }

    /// Cells as text.
    pub(crate) fn texts(&self, cells: Vec<Cell>) -> Vec<String> {
        let text = |(cell, digits): (Cell, &Digits)| match cell {
            Cell::Text(text) => text,
            Cell::Nothing => String::new(),
            Cell::Number(value) if digits.exponent => format!("{value:.*e}", digits.count),
            Cell::Number(value) => format!("{value:.*}", digits.count),
        };
        cells.into_iter().zip(&self.digits).map(text).collect()
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        let texts = self.texts(cells);
        self.rows.push(texts);
    }

    /// Adds a row and shows it at once: what comes later may be cut off.
    pub(crate) fn told(&mut self, cells: Vec<Cell>) {
        self.row(cells);
        eprintln!("{}", self.rows[self.rows.len() - 1].join(" | "));
    }
}

fn is_format(text: &str) -> bool {
    let digits = text.trim_end_matches('e');
    !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit())
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::ASCII_MARKDOWN)
            .set_header(&self.titles);
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.add_rows(&self.rows);
        table.fmt(f)
    }
}

/// A Markdown text that grows, on the terminal and in a file.
pub(crate) struct Report {
    text: String,
    path: Option<PathBuf>,
}

impl Report {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        let text = String::new();
        Self { text, path }
    }

    /// Adds a piece, prints it and writes the file: what comes later may fail.
    pub(crate) fn add(&mut self, piece: impl Display) -> Result<()> {
        self.line(format!("{piece}\n"))
    }

    /// Begins a table whose rows come one by one, because each takes long; text ends it.
    pub(crate) fn begin(&mut self, table: Table) -> Result<Table> {
        self.line(format!("| {} |", table.titles.join(" | ")))?;
        self.line(format!("|{}", " --- |".repeat(table.titles.len())))?;
        Ok(table)
    }

    /// A row of the table that was begun.
    pub(crate) fn row(&mut self, table: &Table, cells: Vec<Cell>) -> Result<()> {
        self.line(format!("| {} |", table.texts(cells).join(" | ")))
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

/// Writes a file; an error names it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let named = |error| format!("{}: cannot be written: {error}", path.display());
    Ok(std::fs::write(path, text).map_err(named)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn columns_have_their_digits_and_the_file_all_that_was_added() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("report.md");
        let mut report = Report::new(Some(path.clone()));
        report.add("# one").unwrap();
        let table = report.begin(Table::new("a | b .2 | c .1e")).unwrap();
        report.row(&table, row!["x", 1.0, None]).unwrap();
        report
            .row(&table, row![3_usize, Some(0.126), 1e-9])
            .unwrap();
        report.add("\ntwo").unwrap();
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "# one\n\n| a | b | c |\n| --- | --- | --- |\n| x | 1.00 |  |\n| 3 | 0.13 | 1.0e-9 |\n\ntwo\n\n"
        );
    }
}
