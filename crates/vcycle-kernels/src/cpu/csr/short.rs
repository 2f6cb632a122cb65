//! Products of short rows with a single vector: a loop of its own for every length.
//!
//! A register would be mostly empty, and the branch at the end of each row costs more than its
//! entries do.

use num_traits::Zero;

use super::{Combination, Product};
use crate::scalar::{Field, Kind, Mixes, Scalar};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, level};

/// Calls a function with the length, at most eight, as its last
/// parameter; a length of zero is that of `$empty`.
macro_rules! by_length {
    ($length:expr, $call:ident($($argument:expr),*), $empty:expr) => {
        match $length {
            0 => $empty,
            1 => $call::<M, X, Y, FUSED, 1>($($argument),*),
            2 => $call::<M, X, Y, FUSED, 2>($($argument),*),
            3 => $call::<M, X, Y, FUSED, 3>($($argument),*),
            4 => $call::<M, X, Y, FUSED, 4>($($argument),*),
            5 => $call::<M, X, Y, FUSED, 5>($($argument),*),
            6 => $call::<M, X, Y, FUSED, 6>($($argument),*),
            7 => $call::<M, X, Y, FUSED, 7>($($argument),*),
            8 => $call::<M, X, Y, FUSED, 8>($($argument),*),
            _ => unreachable!("rows of this run are short"),
        }
    };
}

/// Whether single values of these types are as fast as those in registers: halves are not.
pub(super) const fn suits<M: Scalar, X: Scalar>() -> bool {
    !matches!(M::KIND, Kind::F16 | Kind::Bf16) && !matches!(X::KIND, Kind::F16 | Kind::Bf16)
}

/// Short rows from `first` on; `equal` says that all have the same length.
pub(super) fn rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<M::Accumulator>,
    equal: bool,
    first: usize,
    y: &mut [Y],
) {
    #[cfg(target_arch = "x86_64")]
    if level() != Level::Portable {
        // SAFETY: every level but the portable one has AVX2 and FMA.
        return unsafe { fused_rows(product, by, equal, first, y) };
    }
    rows_with::<M, X, Y, false>(product, by, equal, first, y);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fused_rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<M::Accumulator>,
    equal: bool,
    first: usize,
    y: &mut [Y],
) {
    rows_with::<M, X, Y, true>(product, by, equal, first, y);
}

#[inline(always)]
fn rows_with<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const FUSED: bool>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<M::Accumulator>,
    equal: bool,
    first: usize,
    y: &mut [Y],
) {
    if equal {
        let (columns, _) = product.row(first);
        by_length!(columns.len(), rows_of(product, by, first, y), ());
        return;
    }
    for (row, y) in (first..).zip(y) {
        let (columns, values) = product.row(row);
        let none = M::Accumulator::zero();
        let sum = by_length!(columns.len(), sum_of(columns, values, product.x), none);
        product.store(by, [sum], (row, 0), std::array::from_mut(y));
    }
}

/// Rows of `N` entries. Of the offsets only the first is read.
#[inline(always)]
fn rows_of<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const FUSED: bool, const N: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<M::Accumulator>,
    first: usize,
    y: &mut [Y],
) {
    let start = product.a.offsets[first];
    let entries = start..start + N * y.len();
    let columns = product.a.columns[entries.clone()].chunks_exact(N);
    let values = product.a.values[entries].chunks_exact(N);
    for (index, (y, (columns, values))) in y.iter_mut().zip(columns.zip(values)).enumerate() {
        let sum = sum_of::<M, X, Y, FUSED, N>(columns, values, product.x);
        product.store(by, [sum], (first + index, 0), std::array::from_mut(y));
    }
}

/// The sum of `N` products, one after the other: it is the rows that do not wait for each other.
#[inline(always)]
fn sum_of<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const FUSED: bool, const N: usize>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> M::Accumulator {
    let mut sum = M::Accumulator::zero();
    for (&column, &value) in columns[..N].iter().zip(&values[..N]) {
        // SAFETY: columns of the matrix are places of `x`: see `Product`.
        let x = unsafe { *x.get_unchecked(column as usize) };
        let (value, x) = (value.matrix(), M::input(x));
        sum = match FUSED {
            true => value.fused_multiply_add(x, sum),
            false => value.multiply_add(x, sum),
        };
    }
    sum
}
