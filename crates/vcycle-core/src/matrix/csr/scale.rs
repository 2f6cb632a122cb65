//! Matrices times numbers and diagonal matrices.

use super::Csr;
use crate::error::Result;
use crate::linop::{Size, check_size};
use crate::operations::entries;
use crate::scalar::Scalar;

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
    use super::super::testing::{assert_close, dense, random};
    use super::*;
    use crate::executor::Executor;
    use crate::scalar::c64;

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
