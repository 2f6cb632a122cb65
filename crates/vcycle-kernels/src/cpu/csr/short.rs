//! Products of short rows with a single vector: a loop of its own for every length.
//!
//! A register would be mostly empty, and the branch at the end of each row costs more than its
//! entries do.

use super::{Combination, Product, WAITING, store_all};
use crate::scalar::{Field, Kind, Scalar, convert};

/// Calls a function with the length, at most eight, as its last
/// parameter; a length of zero is that of `$empty`.
macro_rules! by_length {
    ($length:expr, $call:ident::<$($types:ty),*>($($argument:expr),*), $empty:expr) => {
        match $length {
            0 => $empty,
            1 => $call::<$($types),*, 1>($($argument),*),
            2 => $call::<$($types),*, 2>($($argument),*),
            3 => $call::<$($types),*, 3>($($argument),*),
            4 => $call::<$($types),*, 4>($($argument),*),
            5 => $call::<$($types),*, 5>($($argument),*),
            6 => $call::<$($types),*, 6>($($argument),*),
            7 => $call::<$($types),*, 7>($($argument),*),
            8 => $call::<$($types),*, 8>($($argument),*),
            _ => unreachable!("rows of this run are short"),
        }
    };
}

/// Whether single values of these types are as fast as those in registers: halves are not.
pub(super) const fn suits<M: Scalar, X: Scalar>() -> bool {
    !matches!(M::KIND, Kind::F16 | Kind::Bf16) && !matches!(X::KIND, Kind::F16 | Kind::Bf16)
}

/// Short rows from `first` on; `equal` says that all have the same length.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn rows<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<A>,
    equal: bool,
    first: usize,
    y: &mut [Y],
) {
    let mut sums = [A::zero(); WAITING];
    for (batch, y) in y.chunks_mut(WAITING).enumerate() {
        let (first, sums) = (first + batch * WAITING, &mut sums[..y.len()]);
        match equal {
            true => {
                let length = product.row(first).0.len();
                by_length!(length, sums_of::<A, M, X, Y>(product, first, sums), ());
            }
            false => {
                for (row, sum) in (first..).zip(&mut *sums) {
                    let (columns, values) = product.row(row);
                    let x = product.vectors.x;
                    let none = A::zero();
                    *sum = by_length!(columns.len(), sum_of::<A, M, X>(columns, values, x), none);
                }
            }
        }
        store_all(&product.vectors, by, sums, (first, 0), y);
    }
}

/// The sums of rows of `N` entries. Of the offsets only the first is read.
#[inline(always)]
fn sums_of<A: Field, M: Scalar, X: Scalar, Y: Scalar, const N: usize>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    sums: &mut [A],
) {
    let start = product.a.offsets[first];
    let entries = start..start + N * sums.len();
    let columns = product.a.columns[entries.clone()].chunks_exact(N);
    let values = product.a.values[entries].chunks_exact(N);
    for (sum, (columns, values)) in sums.iter_mut().zip(columns.zip(values)) {
        *sum = sum_of::<A, M, X, N>(columns, values, product.vectors.x);
    }
}

/// The sum of `N` products, one after the other: it is the rows that do not wait for each other.
#[inline(always)]
fn sum_of<A: Field, M: Scalar, X: Scalar, const N: usize>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> A {
    let mut sum = A::zero();
    for (&column, &value) in columns[..N].iter().zip(&values[..N]) {
        // SAFETY: columns of the matrix are places of `x`: see `Product`.
        let x = unsafe { *x.get_unchecked(column as usize) };
        sum = convert::<M, A>(value).fused_multiply_add(convert(x), sum);
    }
    sum
}
