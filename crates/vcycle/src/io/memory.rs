//! Memory that a file asks for.

use vcycle_core::executor::fits;

use crate::error::Problem;

/// An empty vector with room for `length` values.
pub(super) fn reserve<T>(length: usize) -> Result<Vec<T>, Problem> {
    let bytes = length.saturating_mul(size_of::<T>());
    match fits(bytes) {
        true => Ok(Vec::with_capacity(length)),
        false => Err(Problem::OutOfMemory { bytes }),
    }
}

/// `length` copies of `value`.
pub(super) fn filled<T: Clone>(length: usize, value: T) -> Result<Vec<T>, Problem> {
    // Asked for again, because `vec!` gets zeros from the system without touching them.
    drop(reserve::<T>(length)?);
    Ok(vec![value; length])
}
