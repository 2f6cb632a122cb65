//! Products of matrices that ranks share.

use super::Distributed;
use super::local_numbers::LocalNumbers;
use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::Scalar;

impl<T: Scalar> Distributed<T> {
    /// Own rows of the product with another matrix, and the numbers of their columns. Sums are formed in the order of the
    /// whole matrices, so rows have the bits they have without ranks. All ranks call it together.
    pub fn multiplied(&self, other: &Self) -> Result<(Csr<T>, LocalNumbers)> {
        let (rows, columns) = other.rows_of(self.columns.others(), &self.columns)?;
        let made = self.team().agree(self.local.multiply(&rows))?;
        Ok((made, columns))
    }

    /// Own rows and those `wanted` of others, by increasing number, with all of their columns, whose numbers come with them;
    /// in a numbering of rows that has more, these are empty. All ranks call it together.
    pub fn rows_of(&self, wanted: &[u64], rows: &LocalNumbers) -> Result<(Csr<T>, LocalNumbers)> {
        let fetched = self.fetch(wanted)?;
        let all = [self.columns.others(), &fetched.rows.columns].concat();
        let columns = LocalNumbers::new(self.columns.own_rows(), all);
        Ok((self.between(&fetched, rows, &columns)?, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::on_ranks;
    use super::*;
    use crate::executor::Executor;
    use crate::matrix::Duplicates;
    use crate::matrix::csr::testing::of_rows;
    use crate::size::Size;

    /// A matrix of order 11 whose rows couple to distant ones.
    fn whole() -> Csr<f64> {
        of_rows(&Executor::cpu(), Size::square(11), Duplicates::Sum, |row| {
            let mut near = [row, (row * 3 + 1) % 11, (row + 5) % 11];
            near.sort_unstable();
            let near = near.into_iter().enumerate();
            near.map(|(place, column)| (column, 0.1 * (3 * row + place) as f64))
                .collect()
        })
    }

    #[test]
    fn rows_of_a_product_have_the_bits_they_have_without_ranks() {
        let a = whole();
        let expected = a.multiply(&a).unwrap();
        for ranks in [1, 2, 3, 12] {
            on_ranks(None, ranks, &a, |rank, part| {
                let (own, columns) = part.multiplied(&part)?;
                let rows = part.rows();
                let made = Distributed::of_numbered(rank, rows, rows, &columns, own)?;
                if let Some(found) = made.gathered()? {
                    assert_eq!(found.columns(), expected.columns());
                    assert_eq!(found.values(), expected.values());
                }
                Ok(())
            });
        }
    }
}
