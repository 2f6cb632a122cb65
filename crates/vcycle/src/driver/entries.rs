//! Signs and sizes of the entries of matrices and vectors.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::{Field, Real, Scalar};
use crate::vector::Vector;

/// Products with larger and smaller entries may be no numbers, in single precision at least.
const ORDINARY: RangeInclusive<f64> = 1e-30..=1e30;

/// The moduli of the entries that the host has.
pub(super) struct Moduli<'a, T> {
    values: &'a [T],
}

impl<'a, T: Scalar> Moduli<'a, T> {
    /// Those of a matrix; none of one on a device.
    pub(super) fn of(a: &'a Csr<T>) -> Self {
        let values = if a.is_at_hand() { a.values() } else { &[] };
        Self { values }
    }

    /// Whether the first entry that is not zero is not ordinary.
    pub(super) fn begin_extreme(&self) -> bool {
        let first = self.each().find(|&modulus| modulus > 0.0);
        first.is_some_and(|first| !ORDINARY.contains(&first))
    }

    pub(super) fn largest(&self) -> f64 {
        self.each().fold(0.0, f64::max)
    }

    fn each(&self) -> impl Iterator<Item = f64> {
        self.values.iter().map(|value| value.to_c64().modulus())
    }
}

/// The largest power of two below a positive number, but for those without a reciprocal.
pub(super) fn power_of_two_below(number: f64) -> f64 {
    number.log2().floor().clamp(-1000.0, 1000.0).exp2()
}

/// Whether the real part of an entry is not zero.
pub(super) fn has_sign<T: Scalar>(value: &T) -> bool {
    value.to_c64().re.abs() > 0.0
}

/// Whether every diagonal entry is negative, where one process has all rows.
pub(super) fn is_negative<T: Scalar>(a: &Csr<T>) -> Result<bool> {
    if !begins_negative(a)? {
        return Ok(false);
    }
    if a.is_at_hand() {
        return Ok(a.diagonal().iter().all(|value| value.to_c64().re < 0.0));
    }
    let minus = a.scale(T::Arith::from_f64(-1.0))?;
    Ok(minus.symmetric_and_positive()?[1])
}

/// Whether the first diagonal entry is negative; of a matrix on a device nothing else is copied.
fn begins_negative<T: Scalar>(a: &Csr<T>) -> Result<bool> {
    let (offsets, columns) = a.pattern().buffers();
    if a.size().rows == 0 || offsets.get(1)? == 0 || columns.get(0)? != 0 {
        return Ok(false);
    }
    Ok(a.values_buffer().get(0)?.to_c64().re < 0.0)
}

/// The largest modulus of every column.
pub(super) fn largest<T: Scalar>(x: &Vector<T>) -> Result<Vec<f64>> {
    let mut largest = vec![0.0f64; x.cols()];
    for (place, value) in x.to_vec().iter().enumerate() {
        let largest = &mut largest[place % x.cols()];
        *largest = value.to_c64().modulus().max(*largest);
    }
    if let Some(team) = x.executor().team() {
        for largest in &mut largest {
            *largest = team.largest(*largest)?;
        }
    }
    Ok(largest)
}

/// The norm of every column.
pub(super) fn norms<T: Scalar>(v: &Vector<T>) -> Result<Vec<f64>> {
    Ok(v.norms()?.into_iter().map(Real::to_f64).collect())
}
