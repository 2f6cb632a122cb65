//! Constants that a matrix which ranks share annihilates.

use crate::configuration::Nullspace;
use crate::driver::modes::VanishingSum;
use crate::driver::projection::{NOTHING_LEFT, SHIFT, is_zero_sum};
use crate::error::{ConfigError, Result};
use crate::matrix::Distributed;
use crate::vector::Vector;

/// Whether constants are to be left out: the matrix is symmetric, and all of its rows sum to zero but for rounding. All
/// ranks call it together.
///
/// # Errors
/// When something else was told, or another rank has failed.
pub(super) fn are_left_out(nullspace: Nullspace, a: &Distributed<f64>) -> Result<bool> {
    let found = nullspace != Nullspace::None && annihilates_constants(a)?;
    if nullspace == Nullspace::Constant && !found {
        let reason =
            "nullspace: `constant`, but the matrix is not symmetric with rows that sum to zero";
        return Err(ConfigError::Conflict(reason.to_owned()).into());
    }
    Ok(found)
}

fn annihilates_constants(a: &Distributed<f64>) -> Result<bool> {
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
pub(super) fn take_out(a: &Distributed<f64>, x: &mut Vector<f64>) -> Result<()> {
    let (cols, all) = (x.cols(), a.rows().total() as f64);
    let mut means = vec![0.0; cols];
    let mut values = x.to_vec();
    for row in values.chunks_exact(cols.max(1)) {
        means
            .iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += value);
    }
    a.team().sum(&mut means)?;
    for row in values.chunks_exact_mut(cols.max(1)) {
        row.iter_mut()
            .zip(&means)
            .for_each(|(value, sum)| *value -= sum / all);
    }
    x.write(&values)
}

/// The same for a right-hand side: what is left of one without a solution may be rounding errors.
///
/// # Errors
/// When another rank has failed.
pub(super) fn take_out_of_rhs(a: &Distributed<f64>, b: &mut Vector<f64>) -> Result<()> {
    let before = b.norms()?;
    take_out(a, b)?;
    let all_small = b
        .norms()?
        .iter()
        .zip(&before)
        .all(|(after, before)| *after <= NOTHING_LEFT * before);
    if all_small {
        b.fill(0.0)?;
    }
    Ok(())
}
