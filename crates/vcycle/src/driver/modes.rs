//! Vectors that a singular matrix annihilates, beside constants.

use num_traits::Zero;

use crate::error::Result;
use crate::linop::{Size, check_size};
use crate::matrix::Csr;
use crate::multigrid::NearNullspace;
use crate::scalar::{Field, Scalar, c64};

/// What is left of a vector when others are taken out is rounding errors below this.
const DEPENDENT: f64 = 1e-8;

/// A sum of products that is zero but for rounding.
#[derive(Clone, Copy, Default)]
pub(super) struct VanishingSum {
    sum: c64,
    pub moduli: f64,
}

impl VanishingSum {
    pub fn add<T: Scalar>(&mut self, entry: &T, factor: f64) {
        let value = entry.to_c64() * factor;
        self.sum += value;
        self.moduli += value.modulus();
    }

    /// The real part of the sum, relative to the sum of its moduli.
    pub fn share(&self) -> f64 {
        self.sum.re / self.moduli
    }

    /// A sum is zero if it is less than this, relative to the sum of its moduli.
    pub fn vanishes(&self, tolerance: f64) -> bool {
        self.sum.modulus() <= tolerance * self.moduli
    }
}

/// The vectors of a near-nullspace that `a` and its transpose annihilate.
///
/// # Errors
/// When the vectors are of another length.
pub(super) fn annihilated<T: Scalar>(
    a: &Csr<T>,
    near_nullspace: &NearNullspace,
    tolerance: f64,
) -> Result<Vec<Vec<f64>>> {
    let rows = a.size().rows;
    let vanishes = |v: &Vec<f64>| {
        let nonzero = v.iter().any(|value| *value != 0.0);
        nonzero && rows_vanish(a, v, tolerance) && columns_vanish(a, v, tolerance)
    };
    let (vectors, block_size) = (near_nullspace.vectors(), near_nullspace.block_size());
    if vectors.is_empty() && block_size > 1 {
        let constants = (0..block_size).map(|part| constant(rows, block_size, part));
        return Ok(constants.filter(vanishes).collect());
    }
    for vector in vectors {
        let found = Size::new(vector.len(), 1);
        check_size("near-nullspace", Size::new(rows, 1), found)?;
    }
    Ok(vectors.iter().filter(|v| vanishes(v)).cloned().collect())
}

/// The constant of one component of a node.
fn constant(rows: usize, block_size: usize, component: usize) -> Vec<f64> {
    let is = |row: usize| f64::from(row % block_size == component);
    (0..rows).map(is).collect()
}

/// Whether `A v` is zero; ends at the first row where it is not.
fn rows_vanish<T: Scalar>(a: &Csr<T>, v: &[f64], tolerance: f64) -> bool {
    (0..a.size().rows).all(|row| {
        let mut sum = VanishingSum::default();
        let (columns, values) = a.row(row);
        for (&column, value) in columns.iter().zip(values) {
            sum.add(value, v[column as usize]);
        }
        sum.vanishes(tolerance)
    })
}

/// Whether `A^T v` is zero.
fn columns_vanish<T: Scalar>(a: &Csr<T>, v: &[f64], tolerance: f64) -> bool {
    let mut sums = vec![VanishingSum::default(); a.size().cols];
    for (row, &factor) in v.iter().enumerate() {
        let (columns, values) = a.row(row);
        for (&column, value) in columns.iter().zip(values) {
            sums[column as usize].add(value, factor);
        }
    }
    sums.iter().all(|sum| sum.vanishes(tolerance))
}

/// Of unit length and orthogonal to each other (modified Gram-Schmidt, each vector twice); those
/// that depend on others are left out.
pub(super) fn orthonormal(vectors: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut v in vectors {
        let before = norm(&v);
        for _ in 0..2 {
            for unit in &basis {
                let share: f64 = unit.iter().zip(&v).map(|(u, v)| u * v).sum();
                v.iter_mut().zip(unit).for_each(|(v, u)| *v -= share * u);
            }
        }
        let after = norm(&v);
        if after > DEPENDENT * before {
            v.iter_mut().for_each(|v| *v /= after);
            basis.push(v);
        }
    }
    basis
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Takes an [`orthonormal`] basis out of every column.
pub(super) fn take_out<T: Scalar>(basis: &[Vec<f64>], values: &mut [T], cols: usize) {
    for unit in basis {
        for column in 0..cols {
            let places = || (column..).step_by(cols).zip(unit);
            let share = places().fold(c64::zero(), |sum, (place, &u)| {
                sum + values[place].to_c64() * u
            });
            for (place, &u) in places() {
                values[place] = T::from_c64(values[place].to_c64() - share * u);
            }
        }
    }
}
