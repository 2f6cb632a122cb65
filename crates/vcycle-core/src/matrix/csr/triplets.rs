//! CSR from triplets in any order.

use super::pattern::{merge_duplicates, outside, sort_rows};
use super::{Duplicates, zeroed};
use crate::prelude::*;

impl<T: Scalar> Csr<T> {
    /// A matrix from the rows, columns and values of its entries, in any order.
    ///
    /// Sorted by counting, so the time grows with the number of entries only; duplicates are
    /// summed in the order given.
    ///
    /// # Errors
    /// Arrays of different length, an index out of range, an entry given twice (unless summed):
    /// each names the place.
    ///
    /// ```
    /// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
    /// let (rows, columns) = (vec![1, 0, 1], vec![1, 0, 1]);
    /// let a = Csr::from_triplets(
    ///     &Executor::cpu(), Size::square(2), rows, columns, vec![3.0, 2.0, 4.0], Duplicates::Sum,
    /// )?;
    /// assert_eq!((a.offsets(), a.values()), (&[0, 1, 2][..], &[2.0, 7.0][..]));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn from_triplets(
        executor: &Executor,
        size: Size,
        rows: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<T>,
        duplicates: Duplicates,
    ) -> Result<Self> {
        let (offsets, columns, values) =
            compress(executor, size, rows, columns, values, duplicates)?;
        Ok(Self::from_canonical(
            executor, size, offsets, columns, values,
        ))
    }
}

/// The offsets, columns and values of CSR.
pub fn compress<T: Scalar>(
    executor: &Executor,
    size: Size,
    rows: Vec<u32>,
    mut columns: Vec<u32>,
    mut values: Vec<T>,
    duplicates: Duplicates,
) -> Result<(Vec<usize>, Vec<u32>, Vec<T>)> {
    check(size, &rows, &columns, values.len())?;
    let offsets = offsets(executor, size.rows, &rows)?;
    if !rows.is_sorted() {
        columns = by_row(executor, &offsets, &rows, &columns)?;
        values = by_row(executor, &offsets, &rows, &values)?;
    }
    sort_rows(executor, &offsets, &mut columns, &mut values);
    let offsets = merge_duplicates(offsets, &mut columns, &mut values, duplicates)?;
    Ok((offsets, columns, values))
}

/// Fails, naming the place, unless the triplets lie in a matrix of `size`.
fn check(size: Size, rows: &[u32], columns: &[u32], values: usize) -> Result<()> {
    let wrong = |reason: String| Err(Error::structure("coo", reason));
    if size.cols > u32::MAX as usize {
        return wrong(format!("{} columns do not fit 32-bit indices", size.cols));
    }
    if rows.len() != columns.len() || rows.len() != values {
        let (rows, columns) = (rows.len(), columns.len());
        return wrong(format!("{rows} rows, {columns} columns, {values} values"));
    }
    for (position, (&row, &column)) in rows.iter().zip(columns).enumerate() {
        if row as usize >= size.rows {
            return Err(outside("row", position, row, size.rows));
        }
        if column as usize >= size.cols {
            return Err(outside("column", position, column, size.cols));
        }
    }
    Ok(())
}

/// For every row the number of entries in the rows before it, and at the end that of all.
pub fn offsets(executor: &Executor, count: usize, rows: &[u32]) -> Result<Vec<usize>> {
    let mut offsets = zeroed(executor, count.saturating_add(1))?;
    for &row in rows {
        offsets[row as usize + 1] += 1;
    }
    for row in 0..count {
        offsets[row + 1] += offsets[row];
    }
    Ok(offsets)
}

/// The items in the order of their rows; those of one row keep their order.
fn by_row<T: Copy + Default + Send + Sync>(
    executor: &Executor,
    offsets: &[usize],
    rows: &[u32],
    items: &[T],
) -> Result<Vec<T>> {
    let mut next = offsets.to_vec();
    let mut sorted = zeroed(executor, items.len())?;
    for (&row, &item) in rows.iter().zip(items) {
        sorted[next[row as usize]] = item;
        next[row as usize] += 1;
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(rows: Vec<u32>, columns: Vec<u32>, duplicates: Duplicates) -> Result<Csr<f64>> {
        let values = (1..=columns.len()).map(|v| v as f64).collect();
        let host = Executor::reference();
        Csr::from_triplets(&host, Size::new(3, 2), rows, columns, values, duplicates)
    }

    #[test]
    fn any_order_gives_sorted_rows() {
        let a = build(vec![2, 0, 2, 0], vec![1, 1, 0, 0], Duplicates::Refuse).unwrap();
        assert_eq!(a.offsets(), [0, 2, 2, 4]);
        assert_eq!(a.columns(), [0, 1, 0, 1]);
        assert_eq!(a.values(), [4.0, 2.0, 3.0, 1.0]);
    }

    #[test]
    fn duplicates_are_named_or_summed_in_the_order_given() {
        let rows = || vec![1, 0, 1, 1];
        let columns = || vec![1, 0, 1, 1];
        assert_refused!(
            build(rows(), columns(), Duplicates::Refuse),
            DuplicateEntry { row: 1, column: 1 }
        );
        // (1e16 + 1) + 1 loses both ones, any other order would not.
        let values = vec![1e16, 5.0, 1.0, 1.0];
        let a = Csr::from_triplets(
            &Executor::reference(),
            Size::square(2),
            rows(),
            columns(),
            values,
            Duplicates::Sum,
        );
        assert_eq!(a.unwrap().values(), [5.0, 1e16]);
    }

    #[test]
    fn the_first_index_out_of_range_is_named() {
        let error = build(vec![0, 3, 0], vec![1, 0, 2], Duplicates::Sum).unwrap_err();
        let text = "entry 1: row index 3 is outside 0..3";
        assert_eq!(error.to_string(), text);
        let error = build(vec![0, 1, 3], vec![1, 2, 0], Duplicates::Sum).unwrap_err();
        let text = "entry 1: column index 2 is outside 0..2";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn arrays_of_different_length_are_refused() {
        assert_refused!(
            build(vec![0, 1], vec![1], Duplicates::Sum),
            InvalidStructure { .. }
        );
    }
}
