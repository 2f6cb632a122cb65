//! The same matrix in other types and places, and whether its values are numbers.

use std::ops::Range;

use vcycle_kernels::compiled;

use super::build::zeroed;
use crate::operations::entries;
use crate::operations::vector::copy_numbers;
use crate::prelude::*;

impl<T: Scalar> Csr<T> {
    /// The same matrix with values of another type, on the same pattern.
    ///
    /// # Errors
    /// When complex values would become real.
    pub fn convert<S: Scalar>(&self) -> Result<Csr<S>> {
        compiled!(any T, S: fn(&Csr<T>) -> Result<Csr<S>> = Csr::converted)(self)
    }

    fn converted<S: Scalar>(&self) -> Result<Csr<S>> {
        if T::KIND.is_complex() && !S::KIND.is_complex() {
            return Err(Error::Conversion {
                from: T::KIND,
                to: S::KIND,
            });
        }
        if let Some(values) = entries::convert(&self.values)? {
            return Ok(Csr::of_buffers(&self.pattern, values));
        }
        let mut values: Vec<S> = zeroed(self.executor(), self.nonzeros())?;
        copy_numbers(self.executor(), self.values(), &mut values);
        Csr::with_pattern(&self.pattern, values)
    }

    /// The same matrix on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        executor.check_room(self.bytes())?;
        let offsets = self.pattern.offsets.host()?.to_vec();
        let columns = self.pattern.columns.host()?.to_vec();
        let values = self.values.host()?.to_vec();
        let size = self.size();
        Ok(Self::from_canonical(
            executor, size, offsets, columns, values,
        ))
    }

    /// The same matrix on another executor; arrays of the host that nobody shares are handed over, not copied.
    #[doc(hidden)]
    pub fn into_executor(self, executor: &Executor) -> Result<Self> {
        if self.executor().shares_memory_with(executor) {
            return Ok(self);
        }
        executor.check_room(self.bytes())?;
        let size = self.size();
        let (offsets, columns, values) = self.into_arrays();
        Ok(Self::from_canonical(
            executor, size, offsets, columns, values,
        ))
    }

    /// Copies the arrays to a device now, which would happen when they are first used there. Nothing happens on a host.
    pub fn bring(&self) -> Result<()> {
        if self.executor().is_device() {
            self.pattern.offsets.device()?;
            self.pattern.columns.device()?;
            self.values.device()?;
        }
        Ok(())
    }

    /// Row offsets, columns and values on the host: handed over where nobody shares them, else copied.
    pub fn into_arrays(self) -> (Vec<usize>, Vec<u32>, Vec<T>) {
        let (offsets, columns) = match Arc::try_unwrap(self.pattern) {
            Ok(own) => (own.offsets.into_vec(), own.columns.into_vec()),
            Err(shared) => (shared.offsets.to_vec(), shared.columns.to_vec()),
        };
        (offsets, columns, self.values.into_vec())
    }

    /// The same matrix, with which devices multiply as it is.
    #[doc(hidden)]
    pub fn plain(mut self) -> Self {
        self.copies.plain = true;
        self
    }

    /// The same matrix, all of whose values are ones.
    pub(crate) fn of_ones(mut self) -> Self {
        self.copies.ones = true;
        self
    }

    /// Whether all values are known to be ones.
    pub(crate) fn has_ones(&self) -> bool {
        self.copies.ones
    }

    /// What [`keep_narrow`](Self::keep_narrow) has kept, if it is of that type.
    #[doc(hidden)]
    pub fn narrow<S: Scalar>(&self) -> Option<Arc<Csr<S>>> {
        let kept = self.copies.narrow.get()?;
        Arc::clone(kept).downcast().ok()
    }

    /// Keeps the matrix in another type, unless one is kept already.
    #[doc(hidden)]
    pub fn keep_narrow<S: Scalar>(&self, narrow: &Arc<Csr<S>>) {
        let _ = self.copies.narrow.set(Arc::clone(narrow) as _);
    }

    /// Fails, naming it, if an entry is infinite or NaN.
    pub fn check_finite(&self) -> Result<()> {
        compiled!(any T: fn(&Csr<T>) -> Result<()> = Csr::all_finite)(self)
    }

    fn all_finite(&self) -> Result<()> {
        if let Some(found) = entries::not_finite(self)? {
            let Some(row) = found else { return Ok(()) };
            let (columns, values) = self.row(row);
            let place = values.iter().position(|value| !value.load().is_finite());
            let column = place.map_or(0, |place| columns[place] as usize);
            return Err(Error::NonFiniteEntry { row, column });
        }
        let first = |rows: Range<usize>| {
            let places = self.offsets()[rows.start]..self.offsets()[rows.end];
            let values = &self.values()[places.clone()];
            // All of them first: a search that may end anywhere is slower.
            let infinite = |value: &T| !value.load().is_finite();
            if !values
                .iter()
                .fold(false, |any, value| any | infinite(value))
            {
                return None;
            }
            Some(places.start + values.iter().position(infinite)?)
        };
        let Some(place) = self.map_pieces(first).into_iter().flatten().next() else {
            return Ok(());
        };
        Err(Error::NonFiniteEntry {
            row: self.offsets().partition_point(|&offset| offset <= place) - 1,
            column: self.columns()[place] as usize,
        })
    }
}
