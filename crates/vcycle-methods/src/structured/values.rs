//! Passes over all values of a stencil matrix, and numbers in other types.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use super::{StencilMatrix, Storage};
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor, check_memory};
use crate::multiversion;
use crate::operations::stencil_setup;
use crate::operations::vector::copy_numbers;
use crate::scalar::{Field, Scalar, convert, convert_slice};

/// Values that one task looks at.
const PART: usize = 64 * 1024;

/// Values that are looked at at a time.
const PIECE: usize = 1024;

impl<T: Storage> StencilMatrix<T> {
    /// `part(place of the first, values)` for consecutive parts of the values, in order.
    pub(crate) fn map_values<R: Send>(
        &self,
        part: impl Fn(usize, &[T]) -> R + Sync + Send,
    ) -> Vec<R> {
        let tasks = self.values().chunks(PART).enumerate().collect();
        let work = |(number, values): (usize, &[T])| part(number * PART, values);
        self.executor().run(self.bytes(), tasks, work)
    }

    /// `part(values)` for parts of the values of own cells.
    pub(super) fn map_own_values<R: Send>(&self, part: impl Fn(&[T]) -> R + Sync + Send) -> Vec<R> {
        let share = self.grid().length() * self.numbers_of_a_cell();
        let own = self.own_cells().lines(self.grid()).into_iter();
        let values = own
            .flat_map(|lines| self.values()[lines.start * share..lines.end * share].chunks(PART));
        self.executor().run(self.bytes(), values.collect(), part)
    }

    /// The largest absolute value.
    pub fn largest(&self) -> f64 {
        let parts = self.map_values(|_, values| {
            let mut wide = [0.0; PIECE];
            let of_chunk = |values: &[T]| {
                convert_slice(values, &mut wide[..values.len()]);
                largest_of(&wide[..values.len()])
            };
            values.chunks(PIECE).map(of_chunk).fold(0.0, f64::max)
        });
        parts.into_iter().fold(0.0, f64::max)
    }

    /// Fails, naming it, if an entry is infinite or NaN.
    ///
    /// # Errors
    /// [`NonFiniteEntry`](Error::NonFiniteEntry).
    pub fn check_finite(&self) -> Result<()> {
        let lost = self.map_values(|first, values| {
            let mut pieces = values.chunks(PIECE).enumerate();
            let lost = pieces.find(|(_, values)| !are_finite(values));
            lost.map(|(number, _)| first + number * PIECE)
        });
        let Some(first) = lost.into_iter().flatten().next() else {
            return Ok(());
        };
        let mut values = self.values()[first..].iter();
        let place = values.position(|value| !value.load().is_finite());
        let (row, column) = self.position(first + place.unwrap_or(0));
        Err(Error::NonFiniteEntry { row, column })
    }
}

multiversion! {
    /// The largest absolute value; NaN does not count.
    fn largest_of[](values: &[f64]) -> f64 {
        let larger = |largest: f64, value: f64| if value.abs() > largest { value.abs() } else { largest };
        let (eights, mut largest) = (values.chunks_exact(8), [0.0_f64; 8]);
        let rest = eights.remainder().iter().fold(0.0, |largest, &value| larger(largest, value));
        for values in eights {
            for lane in 0..8 {
                largest[lane] = larger(largest[lane], values[lane]);
            }
        }
        largest.into_iter().fold(rest, larger)
    }
}

multiversion! {
    /// Whether all values are numbers: zero times them is zero.
    fn are_finite[T: Storage](values: &[T]) -> bool {
        let (eights, mut sums) = (values.chunks_exact(8), [0.0_f64; 8]);
        let zero = |value: T| convert::<T, f64>(value) * 0.0;
        let rest: f64 = eights.remainder().iter().map(|&value| zero(value)).sum();
        for values in eights {
            for lane in 0..8 {
                sums[lane] += zero(values[lane]);
            }
        }
        sums.into_iter().sum::<f64>() + rest == 0.0
    }
}

/// Values in another type, rounded to nearest.
pub(super) fn converted<T: Scalar, S: Scalar>(values: &Buffer<T>) -> Result<Buffer<S>> {
    if let Some(made) = stencil_setup::converted(values)? {
        return Ok(made);
    }
    let mut made = zeros(values.executor(), values.len())?;
    copy_numbers(values.executor(), values.host()?, &mut made);
    Ok(Buffer::from_vec(values.executor(), made))
}

/// Zeros that the system writes when they are first used, whatever their type.
pub(super) fn zeros<S: Scalar>(executor: &Executor, len: usize) -> Result<Vec<S>> {
    check_memory(executor, len, size_of::<S>())?;
    let layout = Layout::array::<S>(len).expect("no more than there is memory");
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is that of a vector, and all bits zero are a zero of every type.
    unsafe {
        let memory = alloc_zeroed(layout).cast::<S>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Ok(Vec::from_raw_parts(memory, len, len))
    }
}
