//! Vectors of a near-nullspace: which of them a singular matrix annihilates, and what they say about the unknowns of a node.

use num_traits::Zero;

use crate::error::Result;
use crate::linop::{Size, check_size};
use crate::matrix::{Csr, Nodes, Numbering};
use crate::multigrid::NearNullspace;
use crate::scalar::{Field, Scalar, c64};

/// What is left of a vector when others are taken out is rounding errors below this.
const DEPENDENT: f64 = 1e-8;
/// A vector is in a space if less than this is left of it, relatively.
const LEFT: f64 = 1e-6;
/// Nodes with more unknowns are not looked for.
const LARGEST: usize = 6;

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

    /// Of a row, with a factor for every column.
    pub fn of_row<T: Scalar>(a: &Csr<T>, row: usize, factor: impl Fn(usize) -> f64) -> Self {
        let mut sum = Self::default();
        let (columns, values) = a.row(row);
        for (&column, value) in columns.iter().zip(values) {
            sum.add(value, factor(column as usize));
        }
        sum
    }

    /// Of every column, with a factor for every row.
    pub fn of_columns<T: Scalar>(a: &Csr<T>, factor: impl Fn(usize) -> f64) -> Vec<Self> {
        let mut sums = vec![Self::default(); a.size().cols];
        for row in 0..a.size().rows {
            let (columns, values) = a.row(row);
            for (&column, value) in columns.iter().zip(values) {
                sums[column as usize].add(value, factor(row));
            }
        }
        sums
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
    let is_zero = |sum: &VanishingSum| sum.vanishes(tolerance);
    let vanishes = |v: &Vec<f64>| {
        v.iter().any(|value| *value != 0.0)
            && (0..rows).all(|row| is_zero(&VanishingSum::of_row(a, row, |column| v[column])))
            && VanishingSum::of_columns(a, |row| v[row])
                .iter()
                .all(is_zero)
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

/// Of unit length and orthogonal to each other (modified Gram-Schmidt, each vector twice); those
/// that depend on others are left out.
pub(super) fn orthonormal(vectors: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut v in vectors {
        let before = norm(&v);
        for _ in 0..2 {
            basis.iter().for_each(|unit| remove(unit, &mut v));
        }
        let after = norm(&v);
        if after > DEPENDENT * before {
            v.iter_mut().for_each(|v| *v /= after);
            basis.push(v);
        }
    }
    basis
}

/// Takes the part along a vector of unit length out of another.
fn remove(unit: &[f64], v: &mut [f64]) {
    let share: f64 = unit.iter().zip(&*v).map(|(u, v)| u * v).sum();
    v.iter_mut().zip(unit).for_each(|(v, u)| *v -= share * u);
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

/// The nodes that vectors are for, if all translations are among their combinations: as many vectors as
/// components, or all motions of a rigid body (three in the plane, six in space).
pub(super) fn nodes(near: &NearNullspace) -> Option<Nodes> {
    let count = near.vectors().len();
    let rows = near.vectors().first()?.len();
    let fits = |k: &usize| (*k == count || k * (k + 1) / 2 == count) && rows.is_multiple_of(*k);
    let space = Space::of(near);
    (2..=LARGEST).filter(fits).find_map(|block_size| {
        let numbering = space.numbering(block_size)?;
        Some(Nodes::regular(rows, block_size, numbering))
    })
}

/// How the rows of vectors for so many unknowns a node are numbered, if translations show it.
pub(super) fn numbering(near: &NearNullspace, block_size: usize) -> Option<Numbering> {
    let rows = near.vectors().first()?.len();
    let space = rows.is_multiple_of(block_size).then(|| Space::of(near));
    space?.numbering(block_size)
}

/// What the vectors span.
struct Space {
    basis: Vec<Vec<f64>>,
    /// Rows where not all vectors are zero; at the others a boundary condition holds.
    free: Vec<bool>,
}

impl Space {
    fn of(near: &NearNullspace) -> Self {
        let rows = near.vectors().first().map_or(0, Vec::len);
        let is_free = |row: usize| near.vectors().iter().any(|v| v[row] != 0.0);
        Self {
            basis: orthonormal(near.vectors().to_vec()),
            free: (0..rows).map(is_free).collect(),
        }
    }

    fn numbering(&self, block_size: usize) -> Option<Numbering> {
        let regular = [Numbering::NodeByNode, Numbering::ComponentByComponent];
        let mut fitting = regular.into_iter().filter(|numbering| {
            (0..block_size).all(|component| self.has_translation(block_size, *numbering, component))
        });
        fitting.next()
    }

    /// Whether the constant of a component is a combination of the vectors.
    fn has_translation(&self, block_size: usize, numbering: Numbering, component: usize) -> bool {
        let nodes = self.free.len() / block_size;
        let is_its = |row: usize| match numbering {
            Numbering::NodeByNode => row % block_size == component,
            Numbering::ComponentByComponent | Numbering::Mixed => row / nodes == component,
        };
        let rows = self.free.iter().enumerate();
        let ones = rows.map(|(row, &free)| f64::from(u8::from(free && is_its(row))));
        let mut left: Vec<f64> = ones.collect();
        let before = norm(&left);
        self.basis.iter().for_each(|unit| remove(unit, &mut left));
        before > 0.0 && norm(&left) <= LEFT * before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [[f64; 3]; 5] = [
        [0.0, 0.1, 0.0],
        [1.0, 0.0, 0.3],
        [0.2, 1.0, 0.0],
        [0.0, 0.4, 1.0],
        [1.0, 1.0, 0.7],
    ];

    fn scalar(vectors: Vec<Vec<f64>>) -> NearNullspace {
        NearNullspace::new(1, vectors).unwrap()
    }

    fn found(vectors: Vec<Vec<f64>>) -> Option<(usize, Numbering)> {
        nodes(&scalar(vectors)).map(|nodes| (nodes.block_size(), nodes.numbering()))
    }

    #[test]
    fn motions_of_rigid_bodies_show_the_unknowns_of_a_node() {
        for dimension in [2, 3] {
            let modes = NearNullspace::rigid_body_modes(dimension, &POINTS).unwrap();
            let vectors = modes.vectors().to_vec();
            let expected = Some((dimension, Numbering::NodeByNode));
            assert_eq!(found(vectors.clone()), expected);
            // Three translations are no motions of a plane, and three motions of a plane no translations.
            let translations = vectors[..dimension].to_vec();
            assert_eq!(found(translations), expected);
            // An orthonormal basis shows no translation by itself.
            let turned = orthonormal(vectors.into_iter().rev().collect());
            assert_eq!(found(turned), expected);
        }
    }

    #[test]
    fn rows_of_boundary_conditions_and_another_numbering_are_understood() {
        let modes = NearNullspace::rigid_body_modes(3, &POINTS).unwrap();
        let mut vectors = modes.vectors().to_vec();
        vectors.iter_mut().for_each(|v| v[..3].fill(0.0));
        assert_eq!(found(vectors.clone()), Some((3, Numbering::NodeByNode)));
        let turn = |v: &Vec<f64>| (0..15).map(|row| v[row % 5 * 3 + row / 5]).collect();
        let turned = vectors.iter().map(turn).collect();
        assert_eq!(found(turned), Some((3, Numbering::ComponentByComponent)));
    }

    #[test]
    fn other_vectors_show_nothing() {
        assert_eq!(found(vec![vec![1.0; 6]]), None);
        let wave = |k: usize| (0..12).map(|row| ((row * k) as f64).cos()).collect();
        assert_eq!(found((0..3).map(wave).collect()), None);
        assert_eq!(found((0..6).map(wave).collect()), None);
    }
}
