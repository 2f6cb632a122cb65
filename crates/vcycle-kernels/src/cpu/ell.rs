//! The ELL kernel, slot after slot, so that memory is read in the order it lies.

use crate::reference::ell::EllArrays;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: EllArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    for start in (first..a.columns.len()).step_by(a.stride) {
        let slots = a.columns[start..].iter().zip(&a.values[start..]);
        for (sum, (&place, &value)) in sums.iter_mut().zip(slots) {
            // Padding lies outside of x: the check of the bound skips it.
            if let Some(x) = x.get(place as usize) {
                *sum += value.matrix() * M::input(x);
            }
        }
    }
}
