//! Products of short rows with a single vector: a loop of its own for every length.
//!
//! A register would be mostly empty, and the branch at the end of each row costs more than its
//! entries do.

use num_traits::Zero;

use super::{Combination, Product};
use crate::backend::cpu::simd::multiversion;
use crate::scalar::{Kind, Mixes, Scalar};

/// Calls a function with the length, at most eight, as its last
/// parameter; a length of zero is that of `$empty`.
macro_rules! by_length {
    ($length:expr, $call:ident($($argument:expr),*), $empty:expr) => {
        match $length {
            0 => $empty,
            1 => $call::<M, X, Y, 1>($($argument),*),
            2 => $call::<M, X, Y, 2>($($argument),*),
            3 => $call::<M, X, Y, 3>($($argument),*),
            4 => $call::<M, X, Y, 4>($($argument),*),
            5 => $call::<M, X, Y, 5>($($argument),*),
            6 => $call::<M, X, Y, 6>($($argument),*),
            7 => $call::<M, X, Y, 7>($($argument),*),
            8 => $call::<M, X, Y, 8>($($argument),*),
            _ => unreachable!("rows of this run are short"),
        }
    };
}

/// Whether single values of these types are as fast as those in registers: halves are not.
pub(super) const fn suits<M: Scalar, X: Scalar>() -> bool {
    !matches!(M::KIND, Kind::F16 | Kind::Bf16) && !matches!(X::KIND, Kind::F16 | Kind::Bf16)
}

multiversion! {
    /// Rows of equal length from `first` on. Of the offsets only the first is read.
    pub(super) fn equal[M: Mixes<X, Y>, X: Scalar, Y: Scalar](
        product: &Product<'_, M, X, Y>,
        by: &Combination<M::Accumulator>,
        first: usize,
        y: &mut [Y],
    ) {
        let (columns, _) = product.row(first);
        by_length!(columns.len(), rows_of(product, by, first, y), ());
    }
}

multiversion! {
    /// Rows of any short length from `first` on.
    pub(super) fn any[M: Mixes<X, Y>, X: Scalar, Y: Scalar](
        product: &Product<'_, M, X, Y>,
        by: &Combination<M::Accumulator>,
        first: usize,
        y: &mut [Y],
    ) {
        for (row, y) in (first..).zip(y) {
            let (columns, values) = product.row(row);
            let none = M::Accumulator::zero();
            let sum = by_length!(columns.len(), sum_of(columns, values, product.x), none);
            product.store(by, sum, row, y);
        }
    }
}

#[inline(always)]
fn rows_of<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const N: usize>(
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
        let sum = sum_of::<M, X, Y, N>(columns, values, product.x);
        product.store(by, sum, first + index, y);
    }
}

/// The sum of `N` products, in two parts that do not wait for each other.
#[inline(always)]
fn sum_of<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const N: usize>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> M::Accumulator {
    let mut sums = [M::Accumulator::zero(); 2];
    let entries = columns[..N].iter().zip(&values[..N]);
    for (entry, (&column, &value)) in entries.enumerate() {
        // SAFETY: columns of the matrix are rows of `x`.
        let x = unsafe { *x.get_unchecked(column as usize) };
        sums[entry % 2] += value.matrix() * M::input(x);
    }
    sums[0] + sums[1]
}
