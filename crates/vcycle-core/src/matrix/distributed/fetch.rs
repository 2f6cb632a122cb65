//! Rows of other ranks, and products of matrices that ranks share.

use super::Distributed;
use super::local_numbers::{Finder, LocalNumbers, NOT_HERE, map_into, renumbered};
use super::rows::{Fetched, Rows, packed};
use crate::executor::cut;
use crate::operations::parts;
use crate::prelude::*;
use crate::scalar::Element;

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
        let requested = team.all_to_all_numbers(self.rows.by_rank(wanted))?;
        let here = |rows: Vec<u64>| rows.into_iter().map(|row| (row - first) as u32).collect();
        let answers = self.packed_rows(requested.into_iter().map(here).collect())?;
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
        let (own, alone) = (self.with_columns(columns)?, self.local.executor());
        if rows.others().is_empty() {
            return Ok(own);
        }
        let others = others.around_own(rows, columns);
        let [before, after] = others.map(|made| made.csr(alone, columns.len()));
        stacked([&before, &own, &after])
    }

    /// Own rows with the numbers that their columns have among others; columns that are not numbered are left out.
    pub(super) fn with_columns(&self, numbers: &LocalNumbers) -> Result<Csr<T>> {
        if numbers.others() == self.columns.others() {
            return Ok(self.lent());
        }
        let by = numbers.renumbering(&self.columns);
        let kept = match by.others.contains(&NOT_HERE) {
            true => (self.local).filter(|_, column, _| by.number(column as u32) != NOT_HERE)?,
            false => self.lent(),
        };
        let pattern = renumbered(kept.pattern(), &by, numbers.len())?;
        Ok(Csr::of_buffers(&pattern, kept.values))
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
    /// The rows as a matrix of so many columns; these need not increase in a row if nothing but a product looks at it.
    pub fn csr(self, executor: &Executor, cols: usize) -> Csr<T> {
        let size = Size::new(self.offsets.len() - 1, cols);
        let pattern = Pattern::new(executor, size, self.offsets, self.columns);
        Csr::of_buffers(&Arc::new(pattern), Buffer::from_vec(executor, self.values))
    }

    /// Adds the entries of a row of another rank.
    fn foreign(&mut self, columns: &[u64], values: &[T], finder: &mut Finder<'_>) {
        for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
            let column = finder.find(place, column);
            if column != NOT_HERE {
                self.columns.push(column);
                self.values.push(value);
            }
        }
    }
}

/// All rows of three matrices of equally many columns, one after the other.
fn stacked<T: Scalar>(parts: [&Csr<T>; 3]) -> Result<Csr<T>> {
    let [first, own, last] = parts;
    if let Some(made) = parts::stacked(first, own, last)? {
        return Ok(made);
    }
    let (executor, mut offsets) = (own.executor(), vec![0]);
    for part in parts {
        let before = offsets[offsets.len() - 1];
        offsets.extend(part.offsets()[1..].iter().map(|end| before + end));
    }
    let size = Size::new(offsets.len() - 1, own.size().cols);
    let columns = joined(executor, parts.map(Csr::columns));
    let values = joined(executor, parts.map(Csr::values));
    Ok(Csr::from_canonical(
        executor, size, offsets, columns, values,
    ))
}

/// Values one after the other, copied by all threads.
fn joined<E: Element>(executor: &Executor, parts: [&[E]; 3]) -> Vec<E> {
    let mut all = vec![E::default(); parts.map(<[E]>::len).iter().sum()];
    let places = cut(&mut all, parts.map(<[E]>::len));
    for (from, to) in parts.into_iter().zip(places) {
        map_into(executor, from, to, |value| value);
    }
    all
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
    use super::super::tests::matrix;
    use super::*;
    use crate::matrix::csr::testing::assert_same;
    use crate::matrix::on_parts;

    #[test]
    fn rows_of_a_product_have_the_bits_they_have_without_ranks() {
        let a = matrix();
        let expected = a.multiply(&a).unwrap();
        for ranks in [1, 2, 3, 12] {
            on_parts(None, ranks, &a, |rank, part| {
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
