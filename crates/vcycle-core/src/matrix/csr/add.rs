//! Sums of matrices, and matrices times numbers and diagonal matrices.

use std::cmp::Ordering;

use super::build::{Rows, Value, build};
use crate::linop::check_size;
use crate::operations::{entries, products};
use crate::prelude::*;

impl<T: Scalar> Csr<T> {
    /// `alpha A + beta B` with this matrix as `A`.
    ///
    /// An entry stands wherever `A` or `B` has one, also where they cancel. Matrices that share
    /// their pattern give one that shares it too.
    pub fn add(&self, alpha: T::Arith, beta: T::Arith, b: &Self) -> Result<Self> {
        check_sum(&self.pattern, &b.pattern)?;
        let (left, right) = (self.values(), b.values());
        let sum = |l: T, r: T| T::store(alpha * l.load() + beta * r.load());
        if Arc::ptr_eq(&self.pattern, &b.pattern) {
            return Csr::from_places(&self.pattern, |_, place| sum(left[place], right[place]));
        }
        let arrays = build(
            self.executor(),
            self.pattern.pieces(),
            self.bytes() + b.bytes(),
            || (),
            |(), row, rows| {
                merge_row(&self.pattern, &b.pattern, row, rows, |l, r| match (l, r) {
                    (Some(l), Some(r)) => sum(left[l], right[r]),
                    (Some(l), None) => T::store(alpha * left[l].load()),
                    (None, Some(r)) => T::store(beta * right[r].load()),
                    (None, None) => T::default(),
                })
            },
        )?;
        Ok(arrays.into_csr(self.executor(), self.size()))
    }
}

impl Pattern {
    /// The positions of either pattern.
    pub fn union(&self, other: &Pattern) -> Result<Arc<Pattern>> {
        check_sum(self, other)?;
        if let Some(union) = products::union(self, other)? {
            return Ok(Arc::new(union));
        }
        let arrays = build(
            self.executor(),
            self.pieces(),
            self.bytes() + other.bytes(),
            || (),
            |(), row, rows| merge_row(self, other, row, rows, |_, _| ()),
        )?;
        Ok(arrays.into_pattern(self.executor(), self.size()))
    }
}

fn check_sum(a: &Pattern, b: &Pattern) -> Result<()> {
    check_size("sum of matrices", a.size(), b.size())?;
    a.executor().check_same(b.executor(), "sum of matrices")
}

/// Appends one row of the union; `value` gets the places of the entry in either matrix.
fn merge_row<V: Value>(
    a: &Pattern,
    b: &Pattern,
    row: usize,
    rows: &mut Rows<V>,
    value: impl Fn(Option<usize>, Option<usize>) -> V,
) -> Result<()> {
    let (mut left, mut right) = (a.range(row), b.range(row));
    rows.reserve(a.executor(), left.len() + right.len())?;
    let (a, b) = (a.columns(), b.columns());
    while !left.is_empty() && !right.is_empty() {
        let (l, r) = (left.start, right.start);
        match a[l].cmp(&b[r]) {
            Ordering::Less => rows.push(a[l], value(left.next(), None)),
            Ordering::Greater => rows.push(b[r], value(None, right.next())),
            Ordering::Equal => rows.push(a[l], value(left.next(), right.next())),
        }
    }
    left.for_each(|l| rows.push(a[l], value(Some(l), None)));
    right.for_each(|r| rows.push(b[r], value(None, Some(r))));
    Ok(())
}

impl<T: Scalar> Csr<T> {
    /// `alpha A`, on the same pattern.
    pub fn scale(&self, alpha: T::Arith) -> Result<Self> {
        if let Some(values) = entries::scaled(&self.values, alpha)? {
            return Ok(Csr::of_buffers(&self.pattern, values));
        }
        let values = self.values();
        Csr::from_places(&self.pattern, |_, place| {
            T::store(alpha * values[place].load())
        })
    }

    /// `D A` with `factors` on the diagonal of `D`, on the same pattern.
    pub fn scale_rows(&self, factors: &[T]) -> Result<Self> {
        let expected = Size::new(self.size().rows, 1);
        check_size("scaling of rows", expected, Size::new(factors.len(), 1))?;
        let values = self.values();
        Csr::from_places(&self.pattern, |row, place| {
            T::store(factors[row].load() * values[place].load())
        })
    }

    /// `A D` with `factors` on the diagonal of `D`, on the same pattern.
    pub fn scale_columns(&self, factors: &[T]) -> Result<Self> {
        let expected = Size::new(self.size().cols, 1);
        check_size("scaling of columns", expected, Size::new(factors.len(), 1))?;
        let (columns, values) = (self.columns(), self.values());
        Csr::from_places(&self.pattern, |_, place| {
            T::store(values[place].load() * factors[columns[place] as usize].load())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, dense, grid, random};
    use super::*;

    #[test]
    fn sums_agree_with_dense_ones() {
        let host = Executor::reference();
        let (alpha, beta) = (c64::new(2.0, 1.0), c64::new(-1.0, 0.5));
        for (rows, cols) in [(0, 0), (1, 1), (6, 4), (4, 9)] {
            let a = random::<c64>(&host, rows, cols, 0.4, 1);
            let b = random::<c64>(&host, rows, cols, 0.3, 2);
            let c = a.add(alpha, beta, &b).unwrap();
            let mut expected = dense(&a);
            let pairs = expected.iter_mut().flatten();
            for (e, b) in pairs.zip(dense(&b).iter().flatten()) {
                *e = alpha * *e + beta * b;
            }
            assert_close(&dense(&c), &expected);
            let union = a.pattern().union(b.pattern()).unwrap();
            assert_eq!(union.columns(), c.columns());
        }
    }

    #[test]
    fn a_shared_pattern_stays_shared() {
        let a = grid::<f64>(&Executor::reference(), 3);
        let twice = a.add(1.0, 1.0, &a).unwrap();
        assert!(Arc::ptr_eq(a.pattern(), twice.pattern()));
        assert_eq!(twice.entry(0, 0), Some(8.0));
    }

    #[test]
    fn sizes_must_agree() {
        let host = Executor::reference();
        let [a, b] = [2, 3].map(|n| Csr::<f64>::identity(&host, n));
        assert_refused!(a.add(1.0, 1.0, &b), SizeMismatch { .. });
    }

    #[test]
    fn scaling_is_a_product_with_a_diagonal_matrix() {
        let host = Executor::reference();
        let a = random::<c64>(&host, 6, 4, 0.6, 1);
        let factors = |n| (0..n).map(|k| c64::new(k as f64, 1.0)).collect::<Vec<_>>();
        let left = Csr::diagonal_matrix(&host, factors(6)).multiply(&a);
        assert_close(
            &dense(&a.scale_rows(&factors(6)).unwrap()),
            &dense(&left.unwrap()),
        );
        let right = a.multiply(&Csr::diagonal_matrix(&host, factors(4)));
        assert_close(
            &dense(&a.scale_columns(&factors(4)).unwrap()),
            &dense(&right.unwrap()),
        );
        assert!(a.scale_rows(&factors(4)).is_err());
        let twice = a.scale(c64::new(2.0, 0.0)).unwrap();
        assert_close(
            &dense(&twice),
            &dense(&a.add(1.0.into(), 1.0.into(), &a).unwrap()),
        );
    }
}
