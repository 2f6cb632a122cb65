//! What makes a matrix singular or a saddle point, as far as single rows show it.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::norms::modulus;
use crate::prelude::*;

/// What [`Csr::defects`] finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Defects {
    /// Rows without an entry other than zero: such a matrix is singular.
    pub zero_rows: usize,
    /// Columns without an entry other than zero.
    pub zero_columns: usize,
    /// Rows that are equal to an earlier one, and not zero.
    pub repeated_rows: usize,
    /// Other rows with a zero on the diagonal, where no two of them are coupled: the zero block of a saddle point.
    pub zero_block: usize,
}

impl Defects {
    /// A sentence for each.
    pub fn sentences(&self) -> Vec<String> {
        let counted = |count: usize, word: &str| match count {
            1 => format!("singular: 1 {word}"),
            _ => format!("singular: {count} {word}s"),
        };
        let saddle = format!(
            "saddle point: {} unknowns, such as pressures or Lagrange multipliers, have zeros on the diagonal \
             and no couplings with each other",
            self.zero_block
        );
        let equal = counted(self.repeated_rows, "row") + " equal to earlier ones";
        let sentences = [
            (self.zero_rows, counted(self.zero_rows, "row") + " of zeros"),
            (
                self.zero_columns,
                counted(self.zero_columns, "column") + " of zeros",
            ),
            (self.repeated_rows, equal),
            (self.zero_block, saddle),
        ];
        let found = sentences.into_iter().filter(|(count, _)| *count > 0);
        found.map(|(_, sentence)| sentence).collect()
    }
}

impl<T: Scalar> Csr<T> {
    /// Rows and columns of zeros, equal rows, and the zero block of a saddle point.
    ///
    /// ```
    /// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
    /// // One multiplier sets the sum of two unknowns.
    /// let a = Csr::from_triplets(
    ///     &Executor::cpu(), Size::square(3), vec![0, 0, 1, 1, 2, 2], vec![0, 2, 1, 2, 0, 1],
    ///     vec![2.0, 1.0, 2.0, 1.0, 1.0, 1.0], Duplicates::Refuse,
    /// )?;
    /// let defects = a.defects();
    /// assert_eq!((defects.zero_block, defects.zero_rows), (1, 0));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn defects(&self) -> Defects {
        let rows = self.size().rows;
        let mut seen = vec![false; self.size().cols];
        let mut without = vec![false; rows];
        let mut defects = Defects::default();
        for row in 0..rows {
            let (mut diagonal, mut all) = (0.0, 0.0);
            for (&column, &value) in self.entries_of(row) {
                let size = modulus(value);
                seen[column as usize] |= size != 0.0;
                all += size;
                diagonal += if column as usize == row { size } else { 0.0 };
            }
            defects.zero_rows += usize::from(all == 0.0);
            without[row] = diagonal == 0.0 && all != 0.0;
        }
        defects.zero_columns = seen.iter().filter(|seen| !**seen).count();
        defects.repeated_rows = self.repeated_rows();
        if self.size().rows == self.size().cols {
            defects.zero_block = self.zero_block(&without);
        }
        defects
    }

    fn entries_of(&self, row: usize) -> impl Iterator<Item = (&u32, &T)> {
        let (columns, values) = self.row(row);
        columns.iter().zip(values)
    }

    /// How many rows there are, unless two of them are coupled.
    fn zero_block(&self, without: &[bool]) -> usize {
        let is_coupled = |row: usize| {
            let mut entries = self.entries_of(row);
            entries.any(|(&column, &value)| without[column as usize] && modulus(value) != 0.0)
        };
        let chosen = || (0..without.len()).filter(|&row| without[row]);
        if chosen().any(is_coupled) {
            0
        } else {
            chosen().count()
        }
    }

    fn repeated_rows(&self) -> usize {
        let bits = |value: &T| {
            let value = value.to_c64();
            [value.re.to_bits(), value.im.to_bits()]
        };
        let hash = |row: usize| {
            let mut hasher = DefaultHasher::new();
            self.entries_of(row)
                .for_each(|(column, value)| (column, bits(value)).hash(&mut hasher));
            hasher.finish()
        };
        let is_zero = |row: usize| self.row(row).1.iter().all(|&value| modulus(value) == 0.0);
        let hashes: Vec<u64> = self.map_rows(|| (), |(), row| hash(row));
        let mut order: Vec<usize> = (0..hashes.len()).collect();
        order.sort_unstable_by_key(|&row| (hashes[row], row));
        let equal = |pair: &&[usize]| {
            hashes[pair[0]] == hashes[pair[1]]
                && self.row(pair[0]) == self.row(pair[1])
                && !is_zero(pair[0])
        };
        order.windows(2).filter(equal).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_dense;
    use super::*;

    fn matrix(values: &[f64]) -> Csr<f64> {
        of_dense(values, |value| !value.is_nan())
    }

    const NONE: f64 = f64::NAN;

    #[test]
    fn zero_and_repeated_rows_and_zero_columns_are_counted() {
        let a = matrix(&[
            1.0, 2.0, NONE, NONE, 1.0, 2.0, NONE, NONE, 0.0, NONE, NONE, NONE, NONE, NONE, NONE,
            3.0,
        ]);
        let defects = a.defects();
        assert_eq!((defects.zero_rows, defects.zero_columns), (1, 1));
        assert_eq!((defects.repeated_rows, defects.zero_block), (1, 0));
        let sentences = defects.sentences();
        assert_eq!(sentences[0], "singular: 1 row of zeros");
        assert_eq!(sentences.len(), 3);
    }

    #[test]
    fn a_zero_block_is_a_saddle_point_and_coupled_zeros_are_none() {
        let saddle = matrix(&[2.0, NONE, 1.0, NONE, 2.0, 1.0, 1.0, 1.0, NONE]);
        assert_eq!(saddle.defects().zero_block, 1);
        let coupled = matrix(&[NONE, 1.0, 1.0, 0.0]);
        assert_eq!(coupled.defects(), Defects::default());
    }
}
