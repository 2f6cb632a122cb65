//! Rows that a rank has of a matrix on its device: own columns lie between those of other ranks.

use std::ops::Range;
use std::sync::Arc;

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::scalar::{Element, Scalar};

pub(crate) use crate::launch::setup::parts::{Renumbering, SplitPattern};

/// For each of the other columns whether it has entries.
pub(crate) fn others_marked(
    pattern: &Pattern,
    own: &Range<usize>,
    others: usize,
) -> Result<Option<Buffer<u32>>> {
    on_device(pattern.executor(), |queue| {
        queue.others_marked(pattern, own, others)
    })
}

/// The values at some places behind the first ones, one after the other.
pub(crate) fn packed<T: Element>(
    from: &Buffer<T>,
    first: usize,
    places: &Buffer<u32>,
) -> Result<Option<Buffer<T>>> {
    on_device(from.executor(), |queue| queue.packed(from, first, places))
}

/// Copies a run of values to a place; nothing happens on a host.
pub(crate) fn copied<T: Element>(
    from: &Buffer<T>,
    run: Range<usize>,
    to: &mut Buffer<T>,
    at: usize,
) -> Result<()> {
    on_device(from.executor(), |queue| queue.copied(from, run, to, at))?;
    Ok(())
}

/// A pattern of `cols` columns with other numbers.
pub(crate) fn renumbered(
    pattern: &Pattern,
    by: &Renumbering,
    cols: usize,
) -> Result<Option<Arc<Pattern>>> {
    on_device(pattern.executor(), |queue| {
        queue.renumbered(pattern, by, cols)
    })
}

compiled_fn! {
    /// Some consecutive rows.
    pub(crate) fn row_range[any T: Scalar](a: &Csr<T>, rows: Range<usize>) -> Result<Option<Csr<T>>> {
        on_device(a.executor(), |queue| queue.row_range(a, rows))
    }
}

compiled_fn! {
    /// All rows of three matrices of equally many columns, one after the other.
    pub(crate) fn stacked[any T: Scalar](first: &Csr<T>, second: &Csr<T>, last: &Csr<T>) -> Result<Option<Csr<T>>> {
        on_device(second.executor(), |queue| {
            let whole = [first, second, last].map(|part| (part, 0..part.size().rows));
            queue.stacked(&whole)
        })
    }
}

compiled_fn! {
    /// Rows that are those of three matrices of a size beside each other.
    pub(crate) fn beside[any T: Scalar](first: &Csr<T>, second: &Csr<T>, last: &Csr<T>) -> Result<Option<Csr<T>>> {
        on_device(second.executor(), |queue| queue.beside([first, second, last]))
    }
}

compiled_fn! {
    /// Rows in any order.
    pub(crate) fn taken[any T: Scalar](a: &Csr<T>, rows: Vec<u32>) -> Result<Option<Csr<T>>> {
        on_device(a.executor(), |queue| queue.taken(a, rows))
    }
}

/// The entries of a pattern in own columns, and those in others, for vectors on an executor of the same device.
pub(crate) fn split(
    a: &Pattern,
    own: &Range<usize>,
    executor: &Executor,
) -> Result<Option<SplitPattern>> {
    match a.executor().is_device() {
        true => on_device(executor, |queue| queue.split(a, own)),
        false => Ok(None),
    }
}

compiled_fn! {
    /// The values in own columns, and those in others.
    pub(crate) fn split_values[any T: Scalar](
        a: &Csr<T>,
        own: &Range<usize>,
        split: &Pattern,
    ) -> Result<Option<[Buffer<T>; 2]>> {
        match a.executor().is_device() {
            true => on_device(split.executor(), |queue| queue.split_values(a, own, split)),
            false => Ok(None),
        }
    }
}
