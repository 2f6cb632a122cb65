//! Rows of other ranks, and products of matrices that ranks share.

use std::sync::Arc;

use super::Distributed;
use super::local_numbers::{Finder, LocalNumbers, NOT_HERE};
use super::local_numbers::{map_into, mapped};
use super::rows::{Fetched, Rows, packed};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::matrix::Csr;
use crate::operations::parts;
use crate::scalar::Scalar;
use crate::size::Size;

impl<T: Scalar> Fetched<T> {
    /// The rows of other ranks that a numbering has before and behind the own ones, with columns in another numbering. Rows that
    /// are not among these are empty, columns that are not numbered are left out.
    pub fn around_own(&self, rows: &LocalNumbers, columns: &LocalNumbers) -> [Made<T>; 2] {
        let mut finder = columns.finder();
        let mut next = 0;
        let (before, after) = rows.others().split_at(rows.before());
        [before, after].map(|numbers| {
            let mut made = Made::new();
            for number in numbers {
                if self.numbers.get(next) == Some(number) {
                    let (columns, values) = self.row(next);
                    made.foreign(columns, values, &mut finder);
                    next += 1;
                }
                made.offsets.push(made.columns.len());
            }
            made
        })
    }
}

impl<T: Scalar> Distributed<T> {
    /// The rows of other ranks with these global numbers, which increase. All ranks call it together.
    pub(super) fn fetch(&self, wanted: &[u64]) -> Result<Fetched<T>> {
        let team = self.team();
        let first = self.rows.range(team.rank()).start;
        let asked = team.all_to_all_numbers(self.rows.by_rank(wanted))?;
        let here = |rows: Vec<u64>| rows.into_iter().map(|row| (row - first) as u32).collect();
        let answers = self.packed_rows(asked.into_iter().map(here).collect())?;
        let mut rows = Rows::new();
        for bytes in team.all_to_all(answers)? {
            rows.read(&bytes);
        }
        Ok(Fetched {
            numbers: wanted.to_vec(),
            rows,
        })
    }

    /// Own rows as bytes of messages, with global columns. Of a device these rows alone come to the host.
    pub(super) fn packed_rows(&self, messages: Vec<Vec<u32>>) -> Result<Vec<Vec<u8>>> {
        let global = |column: u32| self.columns.global(column as usize);
        let counts: Vec<usize> = messages.iter().map(Vec::len).collect();
        let all = || messages.concat();
        let taken = match self.local.executor().is_device() && counts.iter().any(|&n| n > 0) {
            true => parts::taken(&self.local, all())?,
            false => None,
        };
        let Some(taken) = taken else {
            let of_rows = |rows: Vec<u32>| {
                packed(rows.iter().map(|&row| self.local.row(row as usize)), global)
            };
            return Ok(messages.into_iter().map(of_rows).collect());
        };
        let mut first = 0;
        let of_next = |count: usize| {
            let rows = first..first + count;
            first = rows.end;
            packed(rows.map(|row| taken.row(row)), global)
        };
        Ok(counts.into_iter().map(of_next).collect())
    }

    /// Own rows between those of other ranks, in the order of a numbering, as a matrix of this rank alone. A row that
    /// was not fetched is empty; columns that are not numbered are left out.
    pub(super) fn between(
        &self,
        others: &Fetched<T>,
        rows: &LocalNumbers,
        columns: &LocalNumbers,
    ) -> Result<Csr<T>> {
        let is_same = |mine: &LocalNumbers| mine.others().is_empty();
        if is_same(rows) && is_same(columns) && is_same(&self.columns) {
            return Ok(self.lent());
        }
        let [mut made, last] = others.around_own(rows, columns);
        let alone = self.local.executor();
        if let Some(own) = self.renumbered_there(columns)? {
            let [made, last] = [made, last].map(|made| made.csr(alone, columns.len()));
            let stacked = parts::stacked(&made, &own, &last)?;
            return Ok(stacked.expect("the rows are on a device"));
        }
        let own = columns.of_all(&self.columns);
        let made = match own.contains(&NOT_HERE) {
            true => {
                made.own(&self.local, &own);
                made.and(last)
            }
            false => made.around(&self.local, &own, &last),
        };
        Ok(made.csr(alone, columns.len()))
    }

    /// Own rows with other numbers of columns, by their device; none for rows of the host, and where columns are left out.
    fn renumbered_there(&self, columns: &LocalNumbers) -> Result<Option<Csr<T>>> {
        if !self.local.executor().is_device() {
            return Ok(None);
        }
        let by = columns.renumbering(&self.columns);
        if by.others.contains(&NOT_HERE) {
            return Ok(None);
        }
        let pattern = parts::renumbered(self.local.pattern(), &by, columns.len())?;
        let values = || self.local.values_buffer().clone();
        Ok(pattern.map(|pattern| Csr::of_buffers(&pattern, values())))
    }

    /// Own rows of the host with the numbers that their columns have among others; values are not copied.
    pub(super) fn with_columns(&self, numbers: &LocalNumbers) -> Csr<T> {
        if numbers.len() == self.columns.len() {
            return self.lent();
        }
        let (local, executor) = (&self.local, self.local.executor());
        let here = numbers.of_all(&self.columns);
        let columns = mapped(executor, local.columns(), |column| here[column as usize]);
        let columns = Buffer::from_vec(executor, columns);
        let offsets = Buffer::lent(executor, local.pattern(), |pattern| pattern.offsets());
        let size = Size::new(local.size().rows, numbers.len());
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        let values = Buffer::lent(executor, local, |local| local.values());
        Csr::of_buffers(&pattern, values)
    }

    /// Own rows without a copy.
    pub(super) fn lent(&self) -> Csr<T> {
        if self.local.executor().is_device() {
            return Csr::clone(&self.local);
        }
        let values = Buffer::lent(self.local.executor(), &self.local, |local| local.values());
        Csr::of_buffers(self.local.pattern(), values)
    }
}

/// Rows with local columns as they are put together.
pub(super) type Made<T> = Rows<T, u32>;

impl<T: Scalar> Made<T> {
    /// The rows as a matrix of so many columns.
    fn csr(self, executor: &Executor, cols: usize) -> Csr<T> {
        let size = Size::new(self.offsets.len() - 1, cols);
        Csr::from_canonical(executor, size, self.offsets, self.columns, self.values)
    }

    /// The same, whose columns need not increase in a row: nothing but a product looks at it.
    pub fn factor(self, executor: &Executor, cols: usize) -> Csr<T> {
        let size = Size::new(self.offsets.len() - 1, cols);
        let offsets = Buffer::from_vec(executor, self.offsets);
        let columns = Buffer::from_vec(executor, self.columns);
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        Csr::of_buffers(&pattern, Buffer::from_vec(executor, self.values))
    }

    /// Adds rows behind these.
    fn and(mut self, last: Self) -> Self {
        let first = self.columns.len();
        self.columns.extend(last.columns);
        self.values.extend(last.values);
        let ends = last.offsets[1..].iter();
        self.offsets.extend(ends.map(|end| first + end));
        self
    }

    /// These rows, those of a matrix whose columns have these numbers here, and the last ones.
    fn around(&self, a: &Csr<T>, numbers: &[u32], last: &Self) -> Self {
        let (first, own) = (self.columns.len(), a.nonzeros());
        let all = first + own + last.columns.len();
        let (mut columns, mut values) = (vec![0; all], vec![T::default(); all]);
        columns[..first].copy_from_slice(&self.columns);
        values[..first].copy_from_slice(&self.values);
        columns[first + own..].copy_from_slice(&last.columns);
        values[first + own..].copy_from_slice(&last.values);
        let executor = a.executor();
        let number = |column: u32| numbers[column as usize];
        map_into(
            executor,
            a.columns(),
            &mut columns[first..first + own],
            number,
        );
        map_into(
            executor,
            a.values(),
            &mut values[first..first + own],
            |value| value,
        );
        let ends = a.offsets()[1..].iter().map(|end| first + end);
        let ends = self.offsets.iter().copied().chain(ends);
        let last = last.offsets[1..].iter().map(|end| first + own + end);
        Self {
            offsets: ends.chain(last).collect(),
            columns,
            values,
        }
    }

    /// Adds the rows of a matrix whose columns have these numbers here; entries without one are left out.
    fn own(&mut self, a: &Csr<T>, numbers: &[u32]) {
        let (offsets, columns, values) = (a.offsets(), a.columns(), a.values());
        for range in offsets.windows(2).map(|ends| ends[0]..ends[1]) {
            for (&column, &value) in columns[range.clone()].iter().zip(&values[range]) {
                self.entry(numbers[column as usize], value);
            }
            self.offsets.push(self.columns.len());
        }
    }

    /// Adds the entries of a row of another rank.
    fn foreign(&mut self, columns: &[u64], values: &[T], finder: &mut Finder<'_>) {
        for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
            self.entry(finder.find(place, column), value);
        }
    }

    #[inline]
    fn entry(&mut self, column: u32, value: T) {
        if column != NOT_HERE {
            self.columns.push(column);
            self.values.push(value);
        }
    }
}

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
    use super::super::tests::matrix;
    use super::*;
    use crate::matrix::csr::testing::assert_same;

    #[test]
    fn rows_of_a_product_have_the_bits_they_have_without_ranks() {
        let a = matrix();
        let expected = a.multiply(&a).unwrap();
        for ranks in [1, 2, 3, 12] {
            on_ranks(None, ranks, &a, |rank, part| {
                let (own, columns) = part.multiplied(&part)?;
                let rows = part.rows();
                let made = Distributed::of_numbered(rank, rows, rows, &columns, own)?;
                if let Some(found) = made.gathered()? {
                    assert_same(&found, &expected);
                }
                Ok(())
            });
        }
    }
}
