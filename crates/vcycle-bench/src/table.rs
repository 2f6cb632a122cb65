//! Tables and reports.

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

/// A column such as `residual .1e = residual`: title, digits after the point with an exponent or without, and the quantity that it shows.
struct Column {
    title: String,
    format: String,
    quantity: String,
}

impl Column {
    fn new(words: &str) -> Self {
        let (words, quantity) = words.split_once(" = ").unwrap_or((words, ""));
        let words = words.trim();
        let (title, format) = match words.rsplit_once(" .") {
            Some((title, format)) if format.starts_with(|c: char| c.is_ascii_digit()) => {
                (title, format)
            }
            _ => (words, "3"),
        };
        let [title, format, quantity] = [title, format, quantity.trim()].map(str::to_owned);
        Self {
            title,
            format,
            quantity,
        }
    }

    fn text(&self, cell: Cell) -> String {
        let digits = |format: &str| format.parse().unwrap_or(3);
        match (cell, self.format.strip_suffix('e')) {
            (Cell::Text(text), _) => text,
            (Cell::Nothing, _) => String::new(),
            (Cell::Number(value), Some(format)) => format!("{value:.*e}", digits(format)),
            (Cell::Number(value), None) => format!("{value:.*}", digits(&self.format)),
        }
    }
}

/// A table with numbers to the right; it is valid Markdown.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns separated by `|`, as [`Column`] has them.
    pub(crate) fn new(columns: &str) -> Self {
        Self {
            columns: columns.split('|').map(Column::new).collect(),
            rows: Vec::new(),
        }
    }

    /// With further columns of text or of numbers with a digit.
    pub(crate) fn with(mut self, place: usize, titles: &[&str]) -> Self {
        let further = titles
            .iter()
            .map(|title| Column::new(&format!("{title} .1")));
        self.columns.splice(place..place, further);
        self
    }

    /// The quantities of its columns.
    pub(crate) fn quantities(&self) -> Vec<String> {
        let all = self.columns.iter();
        all.map(|column| column.quantity.clone()).collect()
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        let cells = cells.into_iter().zip(&self.columns);
        let texts = cells.map(|(cell, column)| column.text(cell));
        self.rows.push(texts.collect());
    }

    /// Adds a row and shows it at once: the run may be cut off later.
    pub(crate) fn show_row(&mut self, cells: Vec<Cell>) {
        self.row(cells);
        eprintln!("{}", self.rows[self.rows.len() - 1].join(" | "));
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::ASCII_MARKDOWN)
            .set_header(self.columns.iter().map(|column| &column.title));
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.add_rows(&self.rows);
        table.fmt(f)
    }
}

/// A Markdown text that grows, on the terminal and in a file.
#[derive(Default)]
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
        print_line!("{piece}\n");
        self.text += &format!("{piece}\n\n");
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
    use crate::common::Folder;

    #[test]
    fn columns_have_their_digits_and_the_file_all_that_was_added() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("report.md");
        let mut report = Report::new(Some(path.clone()));
        report.add("# one").unwrap();
        let mut table = Table::new("a | b .2 | c .1e = residual");
        assert_eq!(table.quantities(), ["", "", "residual"]);
        table.row(row!["x", 1.0, None]);
        table.row(row![3_usize, Some(0.126), 1e-9]);
        report.add(&table).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<String> = text.lines().map(|line| line.replace(' ', "")).collect();
        assert_eq!(
            lines,
            [
                "#one",
                "",
                "|a|b|c|",
                "|---|------|--------|",
                "|x|1.00||",
                "|3|0.13|1.0e-9|",
                ""
            ]
        );
    }
}
