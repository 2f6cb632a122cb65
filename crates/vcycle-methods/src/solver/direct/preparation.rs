//! What is done to a matrix before it is factorised: large entries are moved to the diagonal, and rows and columns scaled.

use std::sync::Arc;

use vcycle_direct::{Failure, Graph, Method, Order, Symbolic};

use crate::error::{Error, Result};
use crate::matrix::{Csr, Pattern};
use crate::scalar::{Field, Real};

/// How often rows and columns are scaled.
const SWEEPS: usize = 3;
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
/// by (Duff and Koster 2001).
#[derive(Debug)]
pub(super) struct Matched {
    pub rows: Vec<u32>,
    pub scales: Arc<[Vec<f64>; 2]>,
}

impl Matched {
    /// Nothing is moved and scaled.
    pub fn none(rows: usize) -> Self {
        Self {
            rows: (0..rows as u32).collect(),
            scales: Arc::new([vec![1.0; rows], vec![1.0; rows]]),
        }
    }

    /// Of a matrix that is factorised like this. Rows of symmetric matrices stay in their places: the partner of each is
    /// said, with which it is to be eliminated.
    ///
    /// # Errors
    /// For a matrix whose pattern is singular.
    pub fn of<F: Field>(a: &Csr<F>, method: Method) -> Result<(Self, Option<Vec<u32>>)> {
        let matching = a.maximum_product_matching()?;
        let over = |divisors: Vec<f64>| divisors.iter().map(|divisor| 1.0 / divisor).collect();
        let scales = [over(matching.scaling.rows), over(matching.scaling.columns)];
        let rows = matching.rows.order().to_vec();
        if method == Method::Lu {
            let scales = Arc::new(scales);
            return Ok((Self { rows, scales }, None));
        }
        let scales = halved(scales);
        let pairs = pairs(a, &rows, &scales[0]);
        let matched = Self {
            rows: natural(a),
            scales: Arc::new(scales),
        };
        Ok((matched, Some(pairs)))
    }
}

/// The partner of every unknown of a symmetric matrix after a matching (Duff and Pralet 2005). It is the unknown itself where
/// its diagonal entry is large enough.
fn pairs<F: Field>(a: &Csr<F>, rows: &[u32], scales: &[f64]) -> Vec<u32> {
    let is_large = |unknown: u32| {
        let unknown = unknown as usize;
        let entry = a.entry(unknown, unknown);
        entry.is_some_and(|value| value.modulus().to_f64() * scales[unknown].powi(2) > SMALL)
    };
    let mut pairs = natural(a);
    let mut seen = vec![false; pairs.len()];
    for first in 0..pairs.len() {
        let mut at = first;
        // Along a cycle of the permutation, two and two.
        while !seen[at] {
            seen[at] = true;
            let next = rows[at] as usize;
            if seen[next] {
                break;
            }
            if is_large(at as u32) && is_large(next as u32) {
                at = next;
                continue;
            }
            seen[next] = true;
            (pairs[at], pairs[next]) = (next as u32, at as u32);
            at = rows[next] as usize;
        }
    }
    pairs
}

/// The rows of a matrix in their order.
pub(super) fn natural<F: Field>(a: &Csr<F>) -> Vec<u32> {
    (0..a.size().rows as u32).collect()
}

/// What rows and columns are multiplied by so that their largest entries are about one (Ruiz 2001).
pub(super) fn equilibration<F: Field>(a: &Csr<F>, symmetric: bool) -> [Vec<f64>; 2] {
    let n = a.size().rows;
    let (mut rows, mut columns) = (vec![1.0; n], vec![1.0; n]);
    for _ in 0..SWEEPS {
        let divisor = |largest: f64| if largest > 0.0 { largest.sqrt() } else { 1.0 };
        let divided = |scales: &[f64], largest: Vec<f64>| {
            let both = scales.iter().zip(largest);
            both.map(|(scale, largest)| scale / divisor(largest))
                .collect::<Vec<f64>>()
        };
        let largest = largest_in_rows(a, &rows, &columns);
        if symmetric {
            rows = divided(&rows, largest);
            columns.clone_from(&rows);
        } else {
            let in_columns = largest_in_columns(a, &rows, &columns);
            (rows, columns) = (divided(&rows, largest), divided(&columns, in_columns));
        }
    }
    match symmetric {
        true => halved([rows, columns]),
        false => [rows, columns],
    }
}

fn largest_in_rows<F: Field>(a: &Csr<F>, rows: &[f64], columns: &[f64]) -> Vec<f64> {
    let of_row = |row: usize| {
        let (places, values) = a.row(row);
        let entries = places.iter().zip(values);
        let sizes =
            entries.map(|(&column, value)| value.modulus().to_f64() * columns[column as usize]);
        rows[row] * sizes.fold(0.0, f64::max)
    };
    let pieces = a.map_pieces(|rows| rows.map(of_row).collect::<Vec<f64>>());
    pieces.concat()
}

fn largest_in_columns<F: Field>(a: &Csr<F>, rows: &[f64], columns: &[f64]) -> Vec<f64> {
    let mut largest = vec![0.0; columns.len()];
    for (row, scale) in rows.iter().enumerate() {
        let (places, values) = a.row(row);
        for (&column, value) in places.iter().zip(values) {
            let to: &mut f64 = &mut largest[column as usize];
            *to = to.max(value.modulus().to_f64() * scale * columns[column as usize]);
        }
    }
    largest
}

/// The same numbers for rows and columns, powers of two.
fn halved([rows, columns]: [Vec<f64>; 2]) -> [Vec<f64>; 2] {
    let both = |(row, column): (&f64, &f64)| (row * column).sqrt().log2().round().exp2();
    let scales: Vec<f64> = rows.iter().zip(&columns).map(both).collect();
    [scales.clone(), scales]
}

/// The symbolic factorisation of a matrix with its rows in this order.
///
/// # Errors
/// When memory is short.
pub(super) fn symbolic(
    pattern: &Pattern,
    rows: &[u32],
    symmetric: bool,
    order: Order<'_>,
) -> Result<Symbolic> {
    let places = vcycle_direct::Pattern {
        offsets: pattern.offsets(),
        columns: pattern.columns(),
    };
    let made = Symbolic::new(places, rows, symmetric, order);
    made.map_err(|failure| out_of_memory(failure, pattern))
}

/// Whether some row has little or nothing on the diagonal.
pub(super) fn has_small_pivots<F: Field>(a: &Csr<F>) -> bool {
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
