//! `L U` of a front, with pivots that are large enough in their columns.

use std::ops::Range;

use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::{Conj, Par};

use crate::dense::{largest, part, part_mut, subtract, subtract_multiple, two_columns};
use crate::number::Number;

/// Columns that are eliminated before others are changed.
const WINDOW: usize = 48;

/// The rows and columns of a front that may be eliminated.
pub(crate) struct Panel<'p, F> {
    /// Those columns with all rows, column after column.
    pub values: &'p mut [F],
    /// Those rows with all other columns, row after row.
    pub right: &'p mut [F],
    /// Rows of the front.
    pub rows: usize,
    /// Rows, and columns, that may be eliminated.
    pub columns: usize,
    /// The unknowns of these rows and columns, which change with them.
    pub row_unknowns: &'p mut [u32],
    pub column_unknowns: &'p mut [u32],
}

impl<F> Panel<'_, F> {
    fn others(&self) -> usize {
        self.rows - self.columns
    }
}

/// Eliminates columns that have good pivots, which come first then with their rows; says how many. Other rows and columns of
/// the panel have all updates. A pivot is larger than the first limit times the largest entry of its column, and than the second.
pub(crate) fn eliminate<F: Number>(
    panel: &mut Panel<'_, F>,
    limits: (f64, f64),
    parallel: Par,
) -> usize {
    let (mut done, mut width) = (0, WINDOW);
    while done < panel.columns {
        let end = panel.columns.min(done + width);
        let (after, swaps) = eliminate_window(panel, done..end, limits);
        if after > done {
            swap_rows(panel, done..end, &swaps);
            update(panel, done..after, parallel);
            // Those left over are tried again beside new ones.
            width = WINDOW + (end - after);
            done = after;
        } else if end == panel.columns {
            break;
        } else {
            width *= 2;
        }
    }
    update_right(panel, done, parallel);
    done
}

/// Eliminates columns one after the other; each has the updates of those before it when its turn comes. Says where those
/// end that were eliminated, and which rows were swapped in the columns of the window.
fn eliminate_window<F: Number>(
    panel: &mut Panel<'_, F>,
    window: Range<usize>,
    (threshold, zero): (f64, f64),
) -> (usize, Vec<(usize, usize)>) {
    let (rows, columns) = (panel.rows, panel.columns);
    let (mut at, mut end) = (window.start, window.end);
    let mut swaps = Vec::new();
    let mut column = Vec::with_capacity(rows);
    while at < end {
        column.clear();
        column.extend_from_slice(&panel.values[at * rows + window.start..(at + 1) * rows]);
        for step in window.start..at {
            let factor = column[step - window.start];
            if factor != F::ZERO {
                let l = &panel.values[step * rows + step + 1..(step + 1) * rows];
                subtract_multiple(&mut column[step + 1 - window.start..], factor, l);
            }
        }
        let place = at - window.start;
        let (pivot, size) = largest(&column[place..columns - window.start]);
        let (_, below) = largest(&column[columns - window.start..]);
        if size > (threshold * below).max(zero) {
            let row = at + pivot;
            if row != at {
                for column in window.clone() {
                    panel.values.swap(column * rows + at, column * rows + row);
                }
                column.swap(place, place + pivot);
                swaps.push((at, row));
            }
            let inverse = F::ONE / column[place];
            for value in &mut column[place + 1..] {
                *value *= inverse;
            }
            panel.values[at * rows + window.start..(at + 1) * rows].copy_from_slice(&column);
            at += 1;
        } else {
            end -= 1;
            if at != end {
                let (one, other) = two_columns(panel.values, rows, at, end);
                one.swap_with_slice(other);
                panel.column_unknowns.swap(at, end);
            }
        }
    }
    (at, swaps)
}

/// Swaps rows in the columns outside of a window, where they were swapped already.
fn swap_rows<F: Number>(panel: &mut Panel<'_, F>, window: Range<usize>, swaps: &[(usize, usize)]) {
    let (rows, others) = (panel.rows, panel.others());
    if swaps.is_empty() {
        return;
    }
    for column in (0..window.start).chain(window.end..panel.columns) {
        let column = &mut panel.values[column * rows..(column + 1) * rows];
        for &(one, other) in swaps {
            column.swap(one, other);
        }
    }
    for &(one, other) in swaps {
        panel.row_unknowns.swap(one, other);
        if others > 0 {
            let (one, other) = two_columns(panel.right, others, one, other);
            one.swap_with_slice(other);
        }
    }
}

/// Rows of `U` and updates of the columns that are left.
fn update<F: Number>(panel: &mut Panel<'_, F>, done: Range<usize>, parallel: Par) {
    let (rows, end, count) = (panel.rows, done.end, done.len());
    let left = panel.columns - end;
    if left == 0 {
        return;
    }
    let (eliminated, others) = panel.values.split_at_mut(end * rows);
    let l = part(
        &eliminated[done.start * rows + done.start..],
        rows,
        rows - done.start,
        count,
    );
    let (l_upper, l_lower) = l.split_at_row(count);
    let c = part_mut(&mut others[done.start..], rows, rows - done.start, left);
    let (mut u, c) = c.split_at_row_mut(count);
    solve_unit_lower_triangular_in_place(l_upper, u.as_mut(), parallel);
    subtract(c, l_lower, u.as_ref(), Conj::No, parallel);
}

/// Rows of `U` right of the panel, and updates of the rows of the panel that are left.
fn update_right<F: Number>(panel: &mut Panel<'_, F>, done: usize, parallel: Par) {
    let (rows, others) = (panel.rows, panel.others());
    if others == 0 || done == 0 {
        return;
    }
    let l = part(panel.values, rows, rows, done);
    let right = part_mut(panel.right, others, others, panel.columns);
    let (mut u, left) = right.split_at_col_mut(done);
    solve_unit_lower_triangular_in_place(l.subrows(0, done), u.as_mut().transpose_mut(), parallel);
    let l_left = l.subrows(done, panel.columns - done);
    subtract(left, u.as_ref(), l_left.transpose(), Conj::No, parallel);
}
