//! Matchings: which entry of every row is to stand on the diagonal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::norms::modulus;
use super::{Permutation, Scaling};
use crate::error::check_square;
use crate::prelude::*;

/// Rows that an error names at most.
const NAMED: usize = 5;
/// A column or row that has no partner yet.
const NONE: u32 = u32::MAX;

/// A choice of one entry in every row and column, see [`Csr::maximum_product_matching`].
#[derive(Clone, Debug, PartialEq)]
pub struct Matching {
    /// The order of the rows that brings the entries to the diagonal: `rows.order()[j]` is the row whose entry of
    /// column `j` was chosen.
    pub rows: Permutation,
    /// Powers of two that bring the chosen entries to about 1 and all others to 2 at most.
    pub scaling: Scaling,
}

impl<T: Scalar> Csr<T> {
    /// The entries, one in every row and column, whose product is largest (Duff and Koster 2001; MC64 with job 5).
    ///
    /// With costs `c_ij = log max_k |a_ik| - log |a_ij|` this is a cheapest assignment, found by shortest augmenting
    /// paths. Its dual variables `u`, `v` with `u_i + v_j <= c_ij`, equal for chosen entries, are the logarithms of a
    /// scaling that makes every chosen entry 1 and no entry larger. Factors are rounded to powers of two, so that
    /// scaled entries have no rounding errors; they are at most 2.
    ///
    /// **Choose it** before incomplete factorisations of matrices with zeros or small numbers on the diagonal:
    /// circuits, chemical plants, flow problems, optimisation.
    ///
    /// ```
    /// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
    /// // [0 2; 8 1]
    /// let a = Csr::from_arrays(&Executor::cpu(), Size::square(2), vec![0, 1, 3], vec![1, 0, 1],
    ///     vec![2.0, 8.0, 1.0], Duplicates::Refuse)?;
    /// let matching = a.maximum_product_matching()?;
    /// assert_eq!(matching.rows.order(), [1, 0]);
    /// assert_eq!(a.permute_rows(&matching.rows)?.diagonal(), [8.0, 2.0]);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For a matrix that is not square or has entries that are not finite, and for one that is singular whatever the
    /// values of its entries are: rows are named that find no column.
    pub fn maximum_product_matching(&self) -> Result<Matching> {
        let size = self.size();
        check_square("matching", size)?;
        self.check_finite()?;
        let largest = self.row_maxima();
        let mut assignment = Assignment::new(self, &largest);
        assignment.begin();
        let lost: Vec<usize> = (0..size.rows)
            .filter(|&row| assignment.column_of[row] == NONE && !assignment.augment(row))
            .collect();
        if !lost.is_empty() {
            return Err(structurally_singular(&lost));
        }
        let power = |logarithm: f64| (-logarithm / std::f64::consts::LN_2).round().exp2();
        let rows = (0..size.rows).map(|row| power(assignment.u[row] - largest[row].ln()));
        let scaling = Scaling {
            rows: rows.collect(),
            columns: assignment.v.iter().map(|&v| power(v)).collect(),
        };
        let rows = Permutation::new(assignment.row_of)?;
        Ok(Matching { rows, scaling })
    }
}

fn structurally_singular(lost: &[usize]) -> Error {
    let named: Vec<String> = lost.iter().take(NAMED).map(usize::to_string).collect();
    let more = match lost.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (rows, find) = match lost.len() {
        1 => ("row", "finds no column of its own"),
        _ => ("rows", "find no column of their own"),
    };
    let named = named.join(", ");
    Error::Singular {
        component: "matching",
        reason: format!(
            "no values could make it regular, since {rows} {named}{more} (counted from 0) {find}"
        ),
    }
}

/// The bits of a cost that is larger than any.
const INFINITE: u64 = f64::INFINITY.to_bits();

/// A partial assignment of columns to rows and its dual variables.
struct Assignment {
    offsets: Vec<usize>,
    /// Columns and costs of the entries that are not zero.
    entries: Vec<(u32, f64)>,
    u: Vec<f64>,
    v: Vec<f64>,
    column_of: Vec<u32>,
    row_of: Vec<u32>,
    search: Search,
}

/// What a search for a shortest path writes to; what is finite belongs to the current one.
struct Search {
    distance: Vec<f64>,
    /// The row from which a column was reached.
    before: Vec<u32>,
    done: Vec<bool>,
    reached: Vec<u32>,
    /// Distances are not negative, so that their bits are ordered as they are.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Assignment {
    fn new<T: Scalar>(a: &Csr<T>, largest: &[f64]) -> Self {
        let n = largest.len();
        // Costs are not negative, so that their bits are ordered as they are, and a minimum has no order.
        let least: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(INFINITE)).collect();
        let parts = a.map_pieces(|rows| {
            let (mut ends, mut entries) = (Vec::with_capacity(rows.len()), Vec::new());
            for row in rows {
                let (columns, values) = a.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    let size = modulus(value);
                    if size > 0.0 {
                        let cost = (largest[row].ln() - size.ln()).max(0.0);
                        least[column as usize].fetch_min(cost.to_bits(), Ordering::Relaxed);
                        entries.push((column, cost));
                    }
                }
                ends.push(entries.len());
            }
            (ends, entries)
        });
        let (mut offsets, mut entries) = (vec![0], Vec::with_capacity(a.nonzeros()));
        for (ends, part) in parts {
            let before = entries.len();
            offsets.extend(ends.into_iter().map(|end| before + end));
            entries.extend(part);
        }
        let least = least
            .into_iter()
            .map(|bits| f64::from_bits(bits.into_inner()));
        Self {
            offsets,
            entries,
            u: vec![0.0; n],
            v: least.collect(),
            column_of: vec![NONE; n],
            row_of: vec![NONE; n],
            search: Search {
                distance: vec![f64::INFINITY; n],
                before: vec![NONE; n],
                done: vec![false; n],
                reached: Vec::new(),
                heap: BinaryHeap::new(),
            },
        }
    }

    /// The cheapest dual variables, and the entries that cost nothing with them as far as they do not meet.
    fn begin(&mut self) {
        for row in 0..self.u.len() {
            let entries = &self.entries[self.offsets[row]..self.offsets[row + 1]];
            let reduced = |&(column, cost): &(u32, f64)| cost - self.v[column as usize];
            let Some(least) = entries.iter().map(reduced).reduce(f64::min) else {
                continue;
            };
            self.u[row] = least;
            let free = |entry: &&(u32, f64)| {
                reduced(entry) <= least && self.row_of[entry.0 as usize] == NONE
            };
            if let Some(&(column, _)) = entries.iter().find(free) {
                self.column_of[row] = column;
                self.row_of[column as usize] = row as u32;
            }
        }
        // A column without entries keeps no row from its own.
        for v in &mut self.v {
            *v = if v.is_finite() { *v } else { 0.0 };
        }
    }

    /// Finds a column for `root` by the cheapest path that alternates between free and chosen entries; says whether
    /// there is one.
    fn augment(&mut self, root: usize) -> bool {
        let mut row = root;
        let mut length = 0.0;
        let end = loop {
            self.reach(row, length);
            match self.nearest() {
                None => break None,
                Some((distance, column)) => {
                    length = distance;
                    match self.row_of[column as usize] {
                        NONE => break Some(column),
                        next => row = next as usize,
                    }
                }
            }
        };
        if let Some(column) = end {
            self.update(root, length, column);
        }
        self.forget();
        end.is_some()
    }

    /// Reaches the columns of a row that itself is `length` away.
    fn reach(&mut self, row: usize, length: f64) {
        let search = &mut self.search;
        for &(column, cost) in &self.entries[self.offsets[row]..self.offsets[row + 1]] {
            let at = column as usize;
            if search.done[at] {
                continue;
            }
            let step = (cost - self.u[row] - self.v[at]).max(0.0);
            let distance = length + step;
            if distance < search.distance[at] {
                if search.distance[at].is_infinite() {
                    search.reached.push(column);
                }
                search.distance[at] = distance;
                search.before[at] = row as u32;
                search.heap.push(Reverse((distance.to_bits(), column)));
            }
        }
    }

    /// The nearest column that no path has gone through yet.
    fn nearest(&mut self) -> Option<(f64, u32)> {
        while let Some(Reverse((bits, column))) = self.search.heap.pop() {
            if !std::mem::replace(&mut self.search.done[column as usize], true) {
                return Some((f64::from_bits(bits), column));
            }
        }
        None
    }

    /// Exchanges the entries of the path to `end`, and makes them cost nothing.
    fn update(&mut self, root: usize, length: f64, end: u32) {
        for &column in &self.search.reached {
            let at = column as usize;
            if self.search.done[at] && column != end {
                let change = self.search.distance[at] - length;
                self.v[at] += change;
                self.u[self.row_of[at] as usize] -= change;
            }
        }
        self.u[root] += length;
        let mut column = end;
        loop {
            let row = self.search.before[column as usize];
            self.row_of[column as usize] = row;
            let given_up = std::mem::replace(&mut self.column_of[row as usize], column);
            if row as usize == root {
                return;
            }
            column = given_up;
        }
    }

    fn forget(&mut self) {
        let search = &mut self.search;
        for &column in &search.reached {
            search.distance[column as usize] = f64::INFINITY;
            search.done[column as usize] = false;
        }
        search.reached.clear();
        search.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, of_dense, uniform};
    use super::*;

    fn from_dense(dense: &[f64]) -> Csr<f64> {
        of_dense(dense, |value| value != 0.0)
    }

    /// The largest product over all permutations.
    fn best(n: usize, dense: &[f64], row: usize, used: u32) -> f64 {
        if row == n {
            return 1.0;
        }
        let choice = |column: usize| {
            let free = used & (1 << column) == 0 && dense[row * n + column] != 0.0;
            match free {
                true => {
                    let rest = best(n, dense, row + 1, used | 1 << column);
                    dense[row * n + column].abs() * rest
                }
                false => 0.0,
            }
        };
        (0..n).map(choice).fold(0.0, f64::max)
    }

    #[test]
    fn no_other_choice_has_a_larger_product() {
        let n = 6;
        let mut next = uniform(3);
        let mut regular = 0;
        for _ in 0..60 {
            let value = |x: f64, y: f64| if x < 0.5 { 0.0 } else { (8.0 * y - 4.0).exp() };
            let dense: Vec<f64> = (0..n * n).map(|_| value(next(), next())).collect();
            let a = from_dense(&dense);
            let product = best(n, &dense, 0, 0);
            match a.maximum_product_matching() {
                Err(error) => {
                    assert_eq!(product, 0.0, "{error}");
                }
                Ok(found) => {
                    regular += 1;
                    let b = a.permute_rows(&found.rows).unwrap();
                    let reached: f64 = b.diagonal().iter().map(|value| value.abs()).product();
                    assert!((reached - product).abs() <= 1e-12 * product);
                }
            }
        }
        assert!(regular > 20);
    }

    #[test]
    fn scaled_entries_are_at_most_two_and_those_chosen_about_one() {
        let mut badly_scaled = grid::<f64>(&Executor::reference(), 9);
        let mut next = uniform(9);
        for value in badly_scaled.values_mut() {
            *value *= (40.0 * next() - 20.0).exp();
        }
        let found = badly_scaled.maximum_product_matching().unwrap();
        let chosen = found.rows.inverse();
        for row in 0..81 {
            let (columns, values) = badly_scaled.row(row);
            for (&column, value) in columns.iter().zip(values) {
                let (r, c) = (
                    found.scaling.rows[row],
                    found.scaling.columns[column as usize],
                );
                let scaled = (value / (r * c)).abs();
                assert!(scaled <= 2.0 + 1e-12, "{scaled}");
                if chosen.order()[row] == column {
                    assert!(scaled >= 0.5 - 1e-12, "{scaled}");
                }
            }
        }
    }

    #[test]
    fn rows_without_a_column_are_named() {
        // Three rows share two columns; one entry is stored, but zero.
        let dense = [
            1.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0,
        ];
        let refused = from_dense(&dense).maximum_product_matching();
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("row 1 (counted from 0) finds"),
            "{message}"
        );
        let zero = Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 0.0, 0.0]);
        let message = zero.maximum_product_matching().unwrap_err().to_string();
        assert!(message.contains("rows 1, 2 (counted"), "{message}");
    }
}
