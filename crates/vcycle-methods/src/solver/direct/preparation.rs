//! What is done to a matrix before it is factorised: large entries are moved to the diagonal, and rows and columns scaled.

use vcycle_direct::{Failure, Graph, Method, Order, Symbolic};

use crate::error::{Error, Result};
use crate::matrix::{Csr, Pattern};
use crate::scalar::{Field, Real};

/// How often rows and columns are scaled.
const SWEEPS: usize = 4;
/// Diagonal entries that are smaller parts of their rows need a matching.
const SMALL: f64 = 0.01;

/// What a matrix is, which says how it may be factorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    /// It is its own adjoint, and every diagonal entry is positive.
    PerhapsDefinite,
    /// It is its own adjoint.
    Hermitian,
    /// It is its own transpose, and complex.
    Symmetric,
    General,
}

impl Structure {
    pub fn of<F: Field>(a: &Csr<F>) -> Self {
        match mirrored(a) {
            Some([true, _]) if is_positive(a) => Self::PerhapsDefinite,
            Some([true, _]) => Self::Hermitian,
            Some([false, true]) => Self::Symmetric,
            Some([false, false]) | None => Self::General,
        }
    }

    /// What the matrix is factorised by first.
    pub fn method(self) -> Method {
        match self {
            Self::PerhapsDefinite => Method::Cholesky,
            Self::Hermitian => Method::Ldl { hermitian: true },
            Self::Symmetric => Method::Ldl { hermitian: false },
            Self::General => Method::Lu,
        }
    }
}

/// Whether a matrix is its own adjoint, and its own transpose; none where an entry has no opposite.
///
/// Rows are looked at in their order, so the opposite of an entry right of the diagonal is the first one of its row that has not
/// been met.
fn mirrored<F: Field>(a: &Csr<F>) -> Option<[bool; 2]> {
    let mut met: Vec<usize> = vec![0; a.size().rows];
    let mut equal = [true; 2];
    for row in 0..a.size().rows {
        let (columns, values) = a.row(row);
        let left = columns.partition_point(|&column| (column as usize) < row);
        if met[row] != left {
            return None;
        }
        for (&column, &value) in columns[left..].iter().zip(&values[left..]) {
            let opposite = match column as usize == row {
                true => value,
                false => {
                    let (places, values) = a.row(column as usize);
                    let at = &mut met[column as usize];
                    if places.get(*at).is_none_or(|&place| place as usize != row) {
                        return None;
                    }
                    *at += 1;
                    values[*at - 1]
                }
            };
            equal[0] &= opposite == value.conj();
            equal[1] &= opposite == value;
        }
    }
    Some(equal)
}

fn is_positive<F: Field>(a: &Csr<F>) -> bool {
    let diagonal = a.diagonal();
    diagonal.iter().all(|value| value.real().to_f64() > 0.0)
}

/// The rows that take the place of others so that large entries are on the diagonal, and what rows and columns are multiplied
/// by; nothing where the diagonal is good as it is.
#[derive(Clone, Debug)]
pub(super) struct Matched {
    rows: Vec<u32>,
    scales: Option<[Vec<f64>; 2]>,
}

impl Matched {
    /// The matrix as it is.
    pub fn none(n: usize) -> Self {
        Self {
            rows: (0..n as u32).collect(),
            scales: None,
        }
    }

    /// Of a matrix.
    ///
    /// # Errors
    /// For a matrix whose pattern is singular.
    pub fn of<F: Field>(a: &Csr<F>, structure: Structure) -> Result<Self> {
        if structure == Structure::PerhapsDefinite || !has_small_pivots(a) {
            return Ok(Self::none(a.size().rows));
        }
        let matching = a.maximum_product_matching()?;
        let over = |divisors: Vec<f64>| divisors.iter().map(|divisor| 1.0 / divisor).collect();
        Ok(Self {
            rows: matching.rows.order().to_vec(),
            scales: Some([over(matching.scaling.rows), over(matching.scaling.columns)]),
        })
    }

    /// The same rows, scaled so that the largest entries of rows and columns are about one (Ruiz 2001).
    pub fn equilibrated<F: Field>(a: &Csr<F>) -> Self {
        let n = a.size().rows;
        let (mut rows, mut columns) = (vec![1.0; n], vec![1.0; n]);
        for _ in 0..SWEEPS {
            let mut largest = [vec![0.0_f64; n], vec![0.0_f64; n]];
            for row in 0..n {
                let (places, values) = a.row(row);
                for (&column, value) in places.iter().zip(values) {
                    let column = column as usize;
                    let size = value.modulus().to_f64() * rows[row] * columns[column];
                    largest[0][row] = largest[0][row].max(size);
                    largest[1][column] = largest[1][column].max(size);
                }
            }
            for (scales, largest) in [&mut rows, &mut columns].into_iter().zip(largest) {
                for (scale, largest) in scales.iter_mut().zip(largest).filter(|(_, l)| *l > 0.0) {
                    *scale /= largest.sqrt();
                }
            }
        }
        Self {
            scales: Some([rows, columns]),
            ..Self::none(n)
        }
    }

    /// The same for both halves of a symmetric matrix: unknowns are scaled, and the partner of each is said, with which it is
    /// to be eliminated (Duff and Pralet 2005). It is the unknown itself where its diagonal entry is large enough.
    pub fn in_pairs<F: Field>(mut self, a: &Csr<F>) -> (Self, Option<Vec<u32>>) {
        let Some([rows, columns]) = &self.scales else {
            return (self, None);
        };
        let both = |(row, column): (&f64, &f64)| (row * column).sqrt().log2().round().exp2();
        let scales: Vec<f64> = rows.iter().zip(columns).map(both).collect();
        let is_large = |unknown: u32| {
            let unknown = unknown as usize;
            let entry = a.entry(unknown, unknown);
            entry.is_some_and(|value| value.modulus().to_f64() * scales[unknown].powi(2) > SMALL)
        };
        let mut pairs: Vec<u32> = (0..a.size().rows as u32).collect();
        let mut seen = vec![false; pairs.len()];
        for first in 0..pairs.len() {
            let mut at = first;
            // Along a cycle of the permutation, two and two.
            while !seen[at] {
                seen[at] = true;
                let next = self.rows[at] as usize;
                if seen[next] {
                    break;
                }
                if is_large(at as u32) && is_large(next as u32) {
                    at = next;
                    continue;
                }
                seen[next] = true;
                (pairs[at], pairs[next]) = (next as u32, at as u32);
                at = self.rows[next] as usize;
            }
        }
        self.rows = Self::none(pairs.len()).rows;
        self.scales = Some([scales.clone(), scales]);
        (self, Some(pairs))
    }

    /// What rows and columns are multiplied by.
    pub fn scales(&self) -> [Vec<f64>; 2] {
        let ones = || vec![1.0; self.rows.len()];
        self.scales.clone().unwrap_or_else(|| [ones(), ones()])
    }

    /// The same where anything is scaled.
    pub fn scaling(&self) -> Option<&[Vec<f64>; 2]> {
        self.scales.as_ref()
    }

    /// The symbolic factorisation of the rows in their new places.
    pub fn symbolic(
        &self,
        pattern: &Pattern,
        symmetric: bool,
        order: Order<'_>,
    ) -> Result<Symbolic> {
        let places = vcycle_direct::Pattern {
            offsets: pattern.offsets(),
            columns: pattern.columns(),
        };
        let made = Symbolic::new(places, &self.rows, symmetric, order);
        made.map_err(|failure| out_of_memory(failure, pattern))
    }
}

/// Whether some row has little or nothing on the diagonal.
fn has_small_pivots<F: Field>(a: &Csr<F>) -> bool {
    let diagonal = a.diagonal();
    (0..a.size().rows).any(|row| {
        let values = a.row(row).1.iter().map(|value| value.modulus().to_f64());
        diagonal[row].modulus().to_f64() <= SMALL * values.fold(0.0, f64::max)
    })
}

/// Nested dissection, where METIS is compiled in.
#[cfg(feature = "metis")]
pub(super) fn dissection(graph: &Graph) -> Option<Vec<u32>> {
    crate::matrix::dissect(&graph.offsets, &graph.neighbours).ok()
}

#[cfg(not(feature = "metis"))]
pub(super) fn dissection(_: &Graph) -> Option<Vec<u32>> {
    None
}

fn out_of_memory(_: Failure, pattern: &Pattern) -> Error {
    Error::OutOfMemory {
        bytes: 16 * pattern.nonzeros(),
        executor: pattern.executor().name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::linop::Size;
    use crate::matrix::Duplicates;
    use crate::scalar::c64;

    /// Of two rows, with these entries and zeros that are not stored.
    fn of<F: Field>(entries: [Option<F>; 4]) -> Structure {
        let stored = |row: usize| (0..2).filter(move |column| entries[2 * row + column].is_some());
        let columns: Vec<u32> = (0..2)
            .flat_map(stored)
            .map(|column| column as u32)
            .collect();
        let offsets = vec![0, stored(0).count(), columns.len()];
        let values = entries.into_iter().flatten().collect();
        let (host, size) = (Executor::reference(), Size::square(2));
        let a = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
        Structure::of(&a.unwrap())
    }

    #[test]
    fn structures_are_told_apart() {
        use Structure::*;
        let one = Some(1.0);
        assert_eq!(of([one, one, one, one]), PerhapsDefinite);
        assert_eq!(of([one, one, one, Some(-1.0)]), Hermitian);
        assert_eq!(of([one, one, one, None]), Hermitian);
        assert_eq!(of([one, one, Some(2.0), one]), General);
        assert_eq!(of([one, one, None, one]), General);
        assert_eq!(of([one, None, one, one]), General);
        let [one, i] = [(1.0, 0.0), (0.0, 1.0)].map(|(re, im)| Some(c64::new(re, im)));
        assert_eq!(of([one, i, i, one]), Symmetric);
        assert_eq!(of([one, i, i.map(|i| i.conj()), one]), PerhapsDefinite);
        assert_eq!(of([i, one, one, i]), Symmetric);
    }
}
