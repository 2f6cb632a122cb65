//! Compressed sparse rows, the format everything converts to and from.

mod accumulator;
mod add;
mod apply;
mod assembly;
mod build;
mod copies;
mod defects;
#[cfg(feature = "metis")]
mod dissection;
mod equilibrate;
mod factor;
mod facts;
mod galerkin;
#[cfg(test)]
mod in_blocks;
#[cfg(test)]
mod kernel_tests;
mod matching;
#[cfg(feature = "metis")]
mod metis;
mod nodes;
mod norms;
#[cfg(test)]
mod on_devices;
mod parts;
mod pattern;
mod permute;
mod rcm;
mod search;
mod seen;
mod spgemm;
mod symmetrise;
#[cfg(test)]
pub(in crate::matrix) mod testing;
#[cfg(test)]
mod thread_tests;
mod transpose;
mod triplets;

use crate::arrays::Copies;
pub use crate::arrays::{Csr, Pattern};
pub use crate::cut::balance;
pub use accumulator::{Accumulator, ShortRow};
pub use assembly::Assembly;
pub use build::{Rows, RowsOf, build, cut_rows, fill_rows, fill_rows_with, ranges, zeroed};
pub use defects::Defects;
#[cfg(feature = "metis")]
pub use dissection::{dissect, nested_dissection};
pub use equilibrate::{Equilibrated, Scaling};
pub(crate) use factor::Stacked;
pub use facts::Facts;
pub(crate) use galerkin::galerkin_stacked;
pub use galerkin::{Galerkin, galerkin};
pub use matching::Matching;
#[cfg(feature = "metis")]
pub use metis::recursive_bisection;
pub(super) use nodes::{Evidence, LARGEST, Labels};
pub use nodes::{Nodes, Numbering};
pub(crate) use norms::{largest, modulus};
pub use permute::Permutation;
pub(super) use permute::copy_rows;
pub use rcm::reverse_cuthill_mckee;
pub(crate) use seen::{RowSizes, Seen, entry_of, rounding_of};
pub use spgemm::SpGemm;
pub use spgemm::check_product;
pub use triplets::{compress, offsets};

use crate::operations::entries;
use crate::prelude::*;

/// What to do with a position that is given more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// An error that names the position.
    #[default]
    Refuse,
    /// Their sum, formed in the order given.
    Sum,
}

impl<T: Scalar> Csr<T> {
    /// Checks and takes over arrays from outside. Rows may be unsorted; they are sorted here.
    ///
    /// # Errors
    /// Arrays of wrong length, offsets that decrease, an index out of range, an entry given
    /// twice (unless summed): each names the place.
    pub fn from_arrays(
        executor: &Executor,
        size: Size,
        offsets: Vec<usize>,
        mut columns: Vec<u32>,
        mut values: Vec<T>,
        duplicates: Duplicates,
    ) -> Result<Self> {
        pattern::check_arrays(size, &offsets, &columns, values.len())?;
        if pattern::is_canonical(&offsets, &columns) {
            return Ok(Self::of_checked(executor, size, offsets, columns, values));
        }
        pattern::sort_rows(executor, &offsets, &mut columns, &mut values);
        let offsets = pattern::merge_duplicates(offsets, &mut columns, &mut values, duplicates)?;
        Ok(Self::of_checked(executor, size, offsets, columns, values))
    }

    /// Takes over arrays known to be in range, sorted and without duplicates.
    fn of_checked(
        executor: &Executor,
        size: Size,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        let offsets = Buffer::from_vec(executor, offsets);
        let columns = Buffer::from_vec(executor, columns);
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        Self::of_buffers(&pattern, Buffer::from_vec(executor, values))
    }

    /// Takes over arrays known to be sorted and without duplicates.
    ///
    /// # Panics
    /// When offsets or columns are out of range, and for another number of values.
    #[doc(hidden)]
    pub fn from_canonical(
        executor: &Executor,
        size: Size,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        debug_assert!(pattern::is_canonical(&offsets, &columns));
        let pattern = Arc::new(Pattern::new(executor, size, offsets, columns));
        Self::of_buffers(&pattern, Buffer::from_vec(executor, values))
    }

    /// Another matrix on a known pattern.
    ///
    /// # Errors
    /// When the number of values is not that of the pattern's entries.
    pub fn with_pattern(pattern: &Arc<Pattern>, values: Vec<T>) -> Result<Self> {
        if values.len() != pattern.nonzeros() {
            return Err(Error::InvalidStructure {
                format: "csr",
                reason: format!(
                    "{} values for a pattern of {} entries",
                    values.len(),
                    pattern.nonzeros()
                ),
            });
        }
        let values = Buffer::from_vec(pattern.executor(), values);
        Ok(Self::of_buffers(pattern, values))
    }

    /// Checks and takes over arrays that are in the memory of an executor already; nothing is copied.
    ///
    /// ```
    /// use vcycle::{executor::{Buffer, Executor}, linop::Size, matrix::Csr};
    /// let cpu = Executor::cpu();
    /// let offsets = Buffer::from_vec(&cpu, vec![0, 2, 3]);
    /// let columns = Buffer::from_vec(&cpu, vec![0, 1, 1]);
    /// let a = Csr::from_buffers(Size::square(2), offsets, columns, Buffer::from_vec(&cpu, vec![2.0; 3]))?;
    /// assert_eq!(a.entry(0, 1), Some(2.0));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Arrays of wrong length or of different executors, offsets that decrease, and rows whose
    /// columns do not increase or are out of range: each names the place.
    pub fn from_buffers(
        size: Size,
        offsets: Buffer<usize>,
        columns: Buffer<u32>,
        values: Buffer<T>,
    ) -> Result<Self> {
        let executor = columns.executor();
        executor.check_same(offsets.executor(), "csr")?;
        executor.check_same(values.executor(), "csr")?;
        let offset = |row: usize| offsets.get(row);
        pattern::check_lengths(size, (offsets.len(), offset), columns.len(), values.len())?;
        pattern::check_order(size, &offsets, &columns)?;
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        Ok(Self::of_buffers(&pattern, values))
    }

    /// A matrix of values that are on the executor of the pattern, one for each of its entries.
    ///
    /// # Panics
    /// For another number of values.
    #[doc(hidden)]
    pub fn of_buffers(pattern: &Arc<Pattern>, values: Buffer<T>) -> Self {
        assert_eq!(values.len(), pattern.nonzeros(), "a value for every entry");
        Self {
            pattern: Arc::clone(pattern),
            values,
            copies: Copies::default(),
        }
    }

    /// The values, wherever they are.
    #[doc(hidden)]
    pub fn values_buffer(&self) -> &Buffer<T> {
        &self.values
    }

    /// Ones on the diagonal.
    pub fn identity(executor: &Executor, n: usize) -> Self {
        let one = T::store(num_traits::One::one());
        Self::diagonal_matrix(executor, vec![one; n])
    }

    /// A square matrix with `diagonal` on its diagonal and nothing else.
    pub fn diagonal_matrix(executor: &Executor, diagonal: Vec<T>) -> Self {
        let n = diagonal.len();
        let columns = (0..n as u32).collect();
        Self::from_canonical(
            executor,
            Size::square(n),
            (0..=n).collect(),
            columns,
            diagonal,
        )
    }

    /// Where the entries stand; shared.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        self.pattern.size()
    }

    /// Stored entries, zeros among them included.
    pub fn nonzeros(&self) -> usize {
        self.pattern.nonzeros()
    }

    /// Where the matrix lives.
    pub fn executor(&self) -> &Executor {
        self.values.executor()
    }

    /// Bytes held, the pattern counted in full.
    pub fn bytes(&self) -> usize {
        self.pattern.bytes() + self.values.bytes()
    }

    /// For every row the place of its first entry, and at the end the number of entries.
    #[inline]
    pub fn offsets(&self) -> &[usize] {
        self.pattern.offsets()
    }

    /// The column of every entry.
    #[inline]
    pub fn columns(&self) -> &[u32] {
        self.pattern.columns()
    }

    /// The value of every entry.
    #[inline]
    pub fn values(&self) -> &[T] {
        self.values.on_host()
    }

    /// The value of every entry, to be changed.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.copies = Copies::default();
        self.values.host_mut().expect("the device still answers")
    }

    /// The columns and values of one row.
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.pattern.range(row);
        (&self.columns()[range.clone()], &self.values()[range])
    }

    /// One entry, if it is stored.
    #[inline]
    pub fn entry(&self, row: usize, column: usize) -> Option<T> {
        let (columns, values) = self.row(row);
        let place = columns.binary_search(&u32::try_from(column).ok()?).ok()?;
        Some(values[place])
    }

    /// The diagonal; zero where no entry is stored.
    pub fn diagonal(&self) -> Vec<T> {
        if let Some(diagonal) = entries::diagonal(self).expect("the device still answers") {
            return diagonal.into_vec();
        }
        self.diagonal_from(0)
    }

    /// The entries of the first row in column `first`, of the second in the next one, and so on; zero where none is
    /// stored.
    #[doc(hidden)]
    pub fn diagonal_from(&self, first: usize) -> Vec<T> {
        let arrays = self.at_hand();
        let of_row = |place: &mut usize, row: usize| {
            let (columns, values) = arrays.row(row);
            let own = (first + row) as u32;
            // In most matrices it stands where it stood in the row before.
            if columns.get(*place) != Some(&own) {
                *place = columns.binary_search(&own).ok()?;
            }
            Some(values[*place])
        };
        let of_row = |place: &mut usize, row| of_row(place, row).unwrap_or_default();
        let mut diagonal = self.map_rows(|| 0, of_row);
        diagonal.truncate(self.size().cols - first);
        diagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(offsets: Vec<usize>, columns: Vec<u32>, duplicates: Duplicates) -> Result<Csr<f64>> {
        let values = (1..=columns.len()).map(|v| v as f64).collect();
        let size = Size::square(2);
        Csr::from_arrays(
            &Executor::reference(),
            size,
            offsets,
            columns,
            values,
            duplicates,
        )
    }

    #[test]
    fn rows_are_sorted() {
        let a = build(vec![0, 2, 3], vec![1, 0, 1], Duplicates::Refuse).unwrap();
        assert_eq!(a.columns(), [0, 1, 1]);
        assert_eq!(a.values(), [2.0, 1.0, 3.0]);
    }

    #[test]
    fn duplicates_are_named_or_summed() {
        let twice = || vec![1, 0, 1];
        assert_refused!(
            build(vec![0, 3, 3], twice(), Duplicates::Refuse),
            DuplicateEntry { row: 0, column: 1 }
        );
        let a = build(vec![0, 3, 3], twice(), Duplicates::Sum).unwrap();
        assert_eq!(a.offsets(), [0, 2, 2]);
        assert_eq!(a.values(), [2.0, 4.0]);
    }

    #[test]
    fn wrong_arrays_are_named() {
        assert_refused!(
            build(vec![0, 1, 2], vec![0, 2], Duplicates::Refuse),
            IndexOutOfRange {
                position: 1,
                index: 2,
                ..
            }
        );
        for offsets in [vec![0, 2], vec![1, 1, 2], vec![0, 2, 1], vec![0, 1, 3]] {
            assert_refused!(
                build(offsets, vec![0, 1], Duplicates::Refuse),
                InvalidStructure { .. }
            );
        }
    }

    #[test]
    fn non_finite_entries_are_named() {
        let mut a = build(vec![0, 0, 2], vec![0, 1], Duplicates::Refuse).unwrap();
        a.values_mut()[1] = f64::NAN;
        assert_refused!(a.check_finite(), NonFiniteEntry { row: 1, column: 1 });
    }
}
