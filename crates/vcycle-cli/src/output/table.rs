//! Tables for the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

/// A table of two columns: what, and how much.
pub fn facts<N: ToString, V: ToString>(rows: impl IntoIterator<Item = (N, V)>) -> String {
    let mut table = plain();
    for (name, value) in rows {
        table.add_row([Cell::new(name.to_string()), Cell::new(value.to_string())]);
    }
    table.to_string()
}

/// A table with a head, whose titles bars part; columns after the first are aligned to the right.
pub fn grid<const N: usize>(head: &str, rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = plain();
    table.set_header(head.split('|'));
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// Columns where there is no terminal to ask.
const WIDTH: u16 = 100;
/// A terminal of fewer columns is none: programs that run others, `mpirun` for one, offer terminals without a size.
const NARROWEST: u16 = 20;

fn plain() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns());
    table
}

fn columns() -> u16 {
    match console::Term::stdout().size_checked() {
        Some((_, columns)) if columns >= NARROWEST => columns,
        _ => WIDTH,
    }
}
