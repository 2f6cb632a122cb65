//! Constants that a matrix which ranks share annihilates.

use crate::configuration::Nullspace;
use crate::driver::modes::VanishingSum;
use crate::driver::projection::{NOTHING_LEFT, SHIFT, is_zero_sum};
use crate::error::{ConfigError, Result};
use crate::matrix::Distributed;
use crate::scalar::{Real, Scalar, c64};
use crate::vector::Vector;

/// Whether constants are to be left out: the matrix is symmetric, and all of its rows sum to zero but for rounding. All
/// ranks call it together.
///
/// # Errors
/// When something else was told, or another rank has failed.
pub(super) fn are_left_out<T: Scalar>(nullspace: Nullspace, a: &Distributed<T>) -> Result<bool> {
    let found = nullspace != Nullspace::None && annihilates_constants(a)?;
    if nullspace == Nullspace::Constant && !found {
        let reason =
            "nullspace: `constant`, but the matrix is not symmetric with rows that sum to zero";
        return Err(ConfigError::Conflict(reason.to_owned()).into());
    }
    Ok(found)
}

fn annihilates_constants<T: Scalar>(a: &Distributed<T>) -> Result<bool> {
    let (team, rows) = (a.team(), 0..a.size().rows);
    let sum = |row: usize| {
        let mut sum = VanishingSum::default();
        let values = a.local().row(row).1;
        values.iter().for_each(|value| sum.add(value, 1.0));
        sum
    };
    let vanish = rows.clone().all(|row| is_zero_sum(&sum(row)));
    if a.rows().total() == 0 || team.any(!vanish)? {
        return Ok(false);
    }
    let above = team.any(rows.clone().any(|row| sum(row).share() <= SHIFT))?;
    let below = team.any(rows.clone().any(|row| sum(row).share() >= -SHIFT))?;
    // Sums of one sign are a diagonal that was added on purpose.
    Ok(above && below && a.symmetric_and_positive()?[0])
}

/// Takes the mean of all ranks' rows from every column.
///
/// # Errors
/// When another rank has failed.
pub(super) fn take_out<T: Scalar>(a: &Distributed<T>, x: &mut Vector<T>) -> Result<()> {
    let (cols, all) = (x.cols(), a.rows().total() as f64);
    let mut values = x.to_vec();
    // Real and imaginary parts.
    let mut sums = vec![0.0; 2 * cols];
    for row in values.chunks_exact(cols.max(1)) {
        for (sum, value) in sums.chunks_exact_mut(2).zip(row) {
            let value = value.to_c64();
            sum[0] += value.re;
            sum[1] += value.im;
        }
    }
    a.team().sum(&mut sums)?;
    let means = sums.chunks_exact(2);
    let means: Vec<c64> = means
        .map(|sum| c64::new(sum[0] / all, sum[1] / all))
        .collect();
    for row in values.chunks_exact_mut(cols.max(1)) {
        for (value, mean) in row.iter_mut().zip(&means) {
            *value = T::from_c64(value.to_c64() - mean);
        }
    }
    x.write(&values)
}

/// The same for a right-hand side: what is left of one without a solution may be rounding errors.
///
/// # Errors
/// When another rank has failed.
pub(super) fn take_out_of_rhs<T: Scalar>(a: &Distributed<T>, b: &mut Vector<T>) -> Result<()> {
    let before = b.norms()?;
    take_out(a, b)?;
    let all_small = b
        .norms()?
        .iter()
        .zip(&before)
        .all(|(after, before)| after.to_f64() <= NOTHING_LEFT * before.to_f64());
    if all_small {
        b.fill(T::default())?;
    }
    Ok(())
}
