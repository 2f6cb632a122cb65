//! Matrices that are symmetric but for the rounding of their assembly.

use std::ops::Range;

use vcycle_kernels::compiled;

use super::seen::RowSizes;
use crate::prelude::*;

/// What sums of some dozens of terms lose to rounding, as a part of the largest entries of both rows.
const ROUNDED: f64 = 64.0 * f64::EPSILON;

impl<T: Scalar> Csr<T> {
    /// `(A + A^H) / 2`, or `(A + A^T) / 2` without `conjugate`, and how far opposite entries are apart at most. None where that
    /// is more than assembly in double precision rounds off, 64 units of rounding beside the geometric mean of the largest
    /// entries of both rows.
    ///
    /// ```
    /// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
    /// let a = |value| Csr::from_triplets(
    ///     &Executor::cpu(), Size::square(2), vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![2.0, -1.0, value, 2.0],
    ///     Duplicates::Refuse,
    /// );
    /// let (mean, apart) = a(-1.0 - 1e-15)?.symmetrised(true)?.expect("it is rounding");
    /// assert!(apart < 2e-15);
    /// assert_eq!(mean.entry(0, 1), mean.entry(1, 0));
    /// assert!(a(-1.1)?.symmetrised(true)?.is_none());
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// When memory is short.
    pub fn symmetrised(&self, conjugate: bool) -> Result<Option<(Self, f64)>> {
        compiled!(any T: fn(&Csr<T>, bool) -> Result<Option<(Csr<T>, f64)>> = Csr::find_symmetrised)(
            self, conjugate,
        )
    }

    fn find_symmetrised(&self, conjugate: bool) -> Result<Option<(Self, f64)>> {
        let opposite = match conjugate {
            true => self.adjoint()?,
            false => self.transpose()?,
        };
        let half = T::Arith::from_f64(0.5);
        let mean = self.add(half, half, &opposite)?;
        let sizes = &RowSizes::of(self.at_hand());
        let apart = |mut rows: Range<usize>| {
            rows.try_fold(0.0, |apart: f64, row| {
                Some(apart.max(self.apart(&mean, row, sizes)?))
            })
        };
        let mut apart = self.map_pieces(apart).into_iter();
        let apart = apart.try_fold(0.0, |one: f64, other| Some(one.max(other?)));
        Ok(apart.map(|apart| (mean, apart)))
    }

    /// How far the entries of a row are from those opposite at most, twice as far as from their mean; none where that is more
    /// than rounding.
    fn apart(&self, mean: &Self, row: usize, sizes: &RowSizes<'_, T>) -> Option<f64> {
        let (columns, values) = self.row(row);
        let (in_mean, means) = mean.row(row);
        let mut next = 0;
        let mut entries = columns.iter().zip(values);
        entries.try_fold(0.0, |largest: f64, (&column, &value)| {
            // The mean has all these columns in the same order, and perhaps others.
            while in_mean[next] < column {
                next += 1;
            }
            let middle = means[next];
            let apart = 2.0 * (value.load() - middle.load()).modulus().to_f64();
            let rounding = || {
                let [one, other] = [row, column as usize].map(|row| sizes.get(row).sqrt());
                ROUNDED * one * other
            };
            let is_close = apart == 0.0 || apart <= rounding();
            is_close.then(|| largest.max(apart))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, of_dense, random};
    use super::*;

    #[test]
    fn rounding_is_taken_out_and_more_is_left() {
        let mut a = grid::<f64>(&Executor::cpu(), 4);
        a.values_mut()[1] += 1e-15;
        assert!(a.facts().rounded);
        let mean = a.symmetrised(true).unwrap().unwrap().0.facts();
        assert!(mean.hermitian && !mean.rounded && mean.asymmetry == 0.0);
        a.values_mut()[1] += 1e-12;
        assert!(a.facts().rounded && a.symmetrised(true).unwrap().is_none());
    }

    #[test]
    fn an_entry_alone_gets_one_opposite_to_it() {
        // A saddle point, whose diagonal tells nothing of the size of the sums in its last row.
        let entries = |alone: f64| [2.0, alone, 1e6, 0.0, 2.0, 1.0, 1e6, 1.0, 0.0];
        let a = of_dense(&entries(1e-14), |value| value != 0.0);
        let facts = a.facts();
        assert!(facts.symmetric && facts.symmetric_pattern && facts.rounded);
        let (mean, apart) = a.symmetrised(true).unwrap().unwrap();
        assert_eq!(apart, 1e-14);
        assert_eq!(
            (mean.entry(0, 1), mean.entry(1, 0)),
            (Some(5e-15), Some(5e-15))
        );
        let other = of_dense(&entries(0.1), |value| value != 0.0);
        assert!(other.symmetrised(true).unwrap().is_none());
    }

    #[test]
    fn complex_matrices_are_hermitian_or_symmetric() {
        let a = random::<c64>(&Executor::reference(), 12, 12, 0.3, 1);
        for conjugate in [true, false] {
            let opposite = if conjugate {
                a.adjoint()
            } else {
                a.transpose()
            };
            let mut sum = a.add(1.0.into(), 1.0.into(), &opposite.unwrap()).unwrap();
            assert!(!sum.facts().rounded);
            let place = sum.values().iter().position(|v| v.modulus() > 0.1).unwrap();
            sum.values_mut()[place] *= 1.0 + 1e-15;
            let (mean, _) = sum.symmetrised(conjugate).unwrap().unwrap();
            let mean = mean.facts();
            assert!(!mean.rounded && mean.hermitian == conjugate && mean.symmetric != conjugate);
            assert!(sum.symmetrised(!conjugate).unwrap().is_none());
        }
    }
}
