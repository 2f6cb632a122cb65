//! Truncation: small weights of a prolongation are dropped, and the others take their share.

use crate::matrix::{Rows, build};
use crate::operations::interpolate as operations;
use crate::prelude::*;
use crate::registration::parameters;

parameters! {
    /// Which entries of a prolongation's row are kept.
    ///
    /// The others are dropped and those kept are scaled, so that the sum of the row, which says how
    /// constants are interpolated, stays what it is (De Sterck, Falgout, Nolting and Yang 2008,
    /// section 4).
    ///
    /// **Choose** fewer elements when the operator complexity or the cost of a cycle is too high;
    /// four are right for most problems with distance-two interpolation.
    pub struct Truncation {
        /// Entries smaller than this share of the row's largest are dropped; 0 to 1.
        pub factor: f64 = 0.0,
        /// The number of largest entries that are kept; 0 keeps all.
        pub max_elements: usize = 4,
    }
}

impl Truncation {
    /// Keeps every entry.
    pub fn none() -> Self {
        Self {
            factor: 0.0,
            max_elements: 0,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let reason = format!("a share of the largest entry, 0 to 1, not {}", self.factor);
        Error::check_parameter((0.0..=1.0).contains(&self.factor), "factor", reason)
    }

    /// Shortens a row and sorts it by column; of weights that differ by rounding alone the first are kept.
    pub(super) fn shorten<V: Field>(&self, row: &mut Vec<(u32, V)>) {
        let sum = |row: &[(u32, V)]| row.iter().map(|entry| entry.1).sum::<V>();
        let exact = |entry: &(u32, V)| entry.1.modulus().to_f64();
        let size = |entry: &(u32, V)| exact(entry) as f32;
        let (length, before) = (row.len(), sum(row));
        if self.factor > 0.0 {
            let largest = row
                .iter()
                .fold(0.0_f64, |most, entry| most.max(exact(entry)));
            row.retain(|entry| exact(entry) >= self.factor * largest);
        }
        if self.max_elements > 0 && row.len() > self.max_elements {
            row.select_nth_unstable_by(self.max_elements, |x, y| {
                size(y).total_cmp(&size(x)).then(x.0.cmp(&y.0))
            });
            row.truncate(self.max_elements);
        }
        row.sort_unstable_by_key(|entry| entry.0);
        let after = sum(row);
        if row.len() < length && after != V::zero() {
            let factor = before / after;
            row.iter_mut().for_each(|entry| entry.1 *= factor);
        }
    }
}

/// The prolongation with shorter rows.
///
/// The methods of this module take a [`Truncation`] themselves and never store what it drops.
///
/// ```
/// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
/// use vcycle::multigrid::interpolate::{Truncation, truncate};
/// let p = Csr::from_arrays(&Executor::cpu(), Size::new(1, 3), vec![0, 3], vec![0, 1, 2],
///                          vec![0.5, 0.25, 0.25], Duplicates::Refuse)?;
/// let mut truncation = Truncation::default();
/// truncation.max_elements = 1;
/// assert_eq!(truncate(&p, &truncation)?.row(0), (&[0][..], &[1.0][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a factor outside 0 to 1, and when memory is short.
pub fn truncate(p: &Csr<f64>, truncation: &Truncation) -> Result<Csr<f64>> {
    truncation.check()?;
    let limits = (truncation.max_elements, truncation.factor);
    if let Some(truncated) = operations::truncated(p, limits)? {
        return Ok(truncated);
    }
    let executor = p.executor();
    let fill = |entries: &mut Vec<(u32, f64)>, row: usize, out: &mut Rows<f64>| {
        let (columns, values) = p.row(row);
        entries.clear();
        entries.extend(columns.iter().copied().zip(values.iter().copied()));
        truncation.shorten(entries);
        out.append_entries(executor, entries)
    };
    let arrays = build(executor, p.pattern().pieces(), p.bytes(), Vec::new, fill)?;
    Ok(arrays.into_csr(executor, p.size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(factor: f64, max_elements: usize, row: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let mut row = row.to_vec();
        let truncation = Truncation {
            factor,
            max_elements,
        };
        truncation.shorten(&mut row);
        row
    }

    #[test]
    fn the_largest_are_kept_and_scaled_to_the_same_sum() {
        let row = [(7, 0.125), (2, -0.5), (9, 1.0), (4, 0.375)];
        assert_eq!(shortened(0.0, 2, &row), [(2, -1.0), (9, 2.0)]);
        assert_eq!(shortened(0.5, 0, &row), [(2, -1.0), (9, 2.0)]);
        assert_eq!(shortened(0.0, 0, &row).len(), 4);
    }

    #[test]
    fn of_equal_entries_the_first_columns_are_kept() {
        let row = [(5, 0.25), (3, 0.25), (8, 0.25), (1, 0.25)];
        assert_eq!(shortened(0.0, 2, &row), [(1, 0.5), (3, 0.5)]);
        let rounded = [(5, 0.25), (3, 0.25 - 1e-16), (8, 0.25 + 1e-16), (1, 0.25)];
        let kept: Vec<u32> = shortened(0.0, 2, &rounded).iter().map(|e| e.0).collect();
        assert_eq!(kept, [1, 3]);
    }

    #[test]
    fn a_bad_factor_is_refused() {
        let truncation = Truncation {
            factor: f64::NAN,
            ..Truncation::default()
        };
        let p = Csr::identity(&crate::executor::Executor::reference(), 1);
        assert_refused!(truncate(&p, &truncation), BadParameter { .. });
    }
}
