//! Drops entries of a prolongation in such a way that its effect on the near-kernel stays the same.

use super::small::{largest, norm, subtract};
use crate::host_stages;
use crate::linop::check_size;
use crate::matrix::{Rows, build};
use crate::operations::{self, on_host};
use crate::prelude::*;

/// Directions of the near-kernel smaller than this beside the largest are not corrected.
const DEPENDENT: f64 = 1e-8;

/// The matrix without its smallest entries, corrected so that it still maps given vectors to the
/// same ((2.21) and (2.22) of the thesis on Chronos; Falgout and Schroder 2014).
///
/// Of every row the largest entries are kept, as few as have `kept` of its absolute sum; the change of
/// these that makes up for the others is the smallest possible, in the sense of least squares where
/// they are too few.
///
/// **Choose it** after [`smoothed`](super::smoothed), whose rows are long: truncation that scales
/// rows preserves constants alone.
///
/// ```
/// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
/// use vcycle::multigrid::interpolate::filtered;
/// let p = Csr::from_arrays(&Executor::cpu(), Size::new(1, 3), vec![0, 3], vec![0, 1, 2],
///                          vec![0.75, 0.125, 0.125], Duplicates::Refuse)?;
/// let f = filtered(&p, &[vec![1.0; 3]], 0.75)?;
/// assert_eq!(f.row(0), (&[0][..], &[1.0][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a share that is not between 0 and 1, and vectors of wrong length; when memory is short.
pub fn filtered(a: &Csr<f64>, vectors: &[Vec<f64>], kept: f64) -> Result<Csr<f64>> {
    let reason = format!("a share of the absolute sum, 0 to 1, not {kept}");
    Error::check_parameter((0.0..=1.0).contains(&kept), "kept", reason)?;
    for vector in vectors {
        let columns = Size::new(a.size().cols, 1);
        check_size("near-kernel", columns, Size::new(vector.len(), 1))?;
    }
    if let Some(shorter) = operations::interpolate::shortened(a, vectors, kept)? {
        return Ok(shorter);
    }
    let executor = a.executor();
    on_host(executor, host_stages::FILTER);
    let fill = |entries: &mut Vec<(u32, f64)>, row: usize, out: &mut Rows<f64>| {
        let (columns, values) = a.row(row);
        entries.clear();
        entries.extend(columns.iter().copied().zip(values.iter().copied()));
        shorten(entries, vectors, kept);
        out.append_entries(executor, entries)
    };
    let (pieces, bytes) = (a.pattern().pieces(), 8 * a.bytes());
    let arrays = build(executor, pieces, bytes, Vec::new, fill)?;
    Ok(arrays.into_csr(executor, a.size()))
}

/// Drops entries of a row and corrects the others; they are sorted by column then.
fn shorten(entries: &mut Vec<(u32, f64)>, vectors: &[Vec<f64>], kept: f64) {
    entries.sort_unstable_by(|x, y| y.1.abs().total_cmp(&x.1.abs()).then(x.0.cmp(&y.0)));
    let wanted = kept * entries.iter().map(|entry| entry.1.abs()).sum::<f64>();
    let mut sum = 0.0;
    let enough = entries.iter().position(|entry| {
        sum += entry.1.abs();
        sum >= wanted
    });
    let dropped = entries.split_off(enough.map_or(entries.len(), |last| last + 1));
    let lost = |vector: &Vec<f64>| -> f64 {
        dropped
            .iter()
            .map(|&(column, value)| value * vector[column as usize])
            .sum()
    };
    if !dropped.is_empty() {
        let lost: Vec<f64> = vectors.iter().map(lost).collect();
        correct(entries, vectors, lost);
    }
    entries.sort_unstable_by_key(|entry| entry.0);
}

/// Adds the smallest change to a row that maps vectors to what was lost, direction after
/// direction of the vectors at its columns.
fn correct(entries: &mut [(u32, f64)], vectors: &[Vec<f64>], mut lost: Vec<f64>) {
    let here = |vector: &Vec<f64>| -> Vec<f64> {
        entries
            .iter()
            .map(|&(column, _)| vector[column as usize])
            .collect()
    };
    let mut left: Vec<Vec<f64>> = vectors.iter().map(here).collect();
    let most = left.iter().map(|x| norm(x)).fold(0.0, f64::max);
    for _ in 0..vectors.len().min(entries.len()) {
        let (next, size) = largest(left.iter().map(|x| norm(x)));
        if size <= DEPENDENT * most {
            return;
        }
        let direction: Vec<f64> = left[next].iter().map(|value| value / size).collect();
        let step = lost[next] / size;
        for (x, lost) in left.iter_mut().zip(&mut lost) {
            *lost -= subtract(&direction, x) * step;
        }
        for (entry, d) in entries.iter_mut().zip(&direction) {
            entry.1 += step * d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::mapped;
    use super::*;
    use crate::multigrid::testing::{assert_matrices_near, dense};

    fn numbers(count: usize) -> Vec<f64> {
        let number = |k: usize| ((k * k) as f64 * 0.7 + 0.3).sin().powi(3);
        (0..count).map(number).collect()
    }

    #[test]
    fn vectors_are_mapped_as_before_with_fewer_entries() {
        let a = dense(8, &numbers(80));
        let vectors = [vec![1.0; 8], (0..8).map(f64::from).collect::<Vec<_>>()];
        let f = filtered(&a, &vectors, 0.9).unwrap();
        assert!(f.nonzeros() < a.nonzeros());
        assert!((0..10).all(|row| f.row(row).0.len() >= 2));
        for vector in &vectors {
            for (found, expected) in mapped(&f, vector).iter().zip(mapped(&a, vector)) {
                assert!((found - expected).abs() < 1e-13, "{found} {expected}");
            }
        }
        let all = filtered(&a, &vectors, 1.0).unwrap();
        assert_eq!(all.nonzeros(), a.nonzeros());
    }

    #[test]
    fn a_device_drops_the_entries_that_the_host_drops() {
        let Some(device) = device() else { return };
        // Rows for local memory of either size, and for that of the device.
        for (rows, cols) in [(40, 8), (5, 90), (3, 200)] {
            let a = dense(cols, &numbers(rows * cols));
            let vectors: Vec<Vec<f64>> = (1..=3)
                .map(|power| (0..cols).map(|k| (k as f64 / 10.0).powi(power)).collect())
                .collect();
            let there = a.copy_to(&device).unwrap();
            for (vectors, kept) in [(&vectors[..], 0.9), (&vectors[..1], 0.5), (&[], 0.7)] {
                let here = filtered(&a, vectors, kept).unwrap();
                let there = filtered(&there, vectors, kept).unwrap();
                assert_matrices_near(&there, &here, 1e-12);
            }
        }
    }

    #[test]
    fn where_too_few_are_left_the_largest_vector_counts() {
        let a = dense(3, &[1.0, 0.1, 0.1]);
        let vectors = [vec![1.0, 1.0, 1.0], vec![10.0, 0.0, 0.0]];
        let f = filtered(&a, &vectors, 0.5).unwrap();
        assert_eq!(f.row(0), (&[0][..], &[1.0][..]));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let a = dense(3, &[1.0, 0.1, 0.1]);
        assert_refused!(filtered(&a, &[], 1.5), BadParameter { .. });
        assert_refused!(filtered(&a, &[vec![1.0]], 0.5), SizeMismatch { .. });
    }
}
