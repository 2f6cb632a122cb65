//! Products with a single vector.

use num_traits::Zero;

use super::{Combination, Product, short};
use crate::runs::{Alike, Run, runs_within};
use crate::scalar::{Field, Mixes, Scalar};

/// Rows with more entries are cut into parts of at most this many: sums of fewer round less.
pub(super) const LONG: usize = 32 * 1024;
/// Fewer short rows than this do not fill a register: lines of a grid begin and end with them.
const FEW: usize = 8;
/// Independent sums of the portable kernel, so that additions do not wait for each other.
const SUMS: usize = 4;

/// The sum of a row's products, given its columns and values.
pub(super) type RowSum<'a, M, A> = &'a dyn Fn(&[u32], &[M]) -> A;

/// The rows of `y`, `first` being the number of the first; `runs` are those of the pattern.
pub(super) fn rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) {
    let by = product.combination(0);
    for (alike, rows) in runs_within(runs, first..first + y.len()) {
        let y = &mut y[rows.start - first..rows.end - first];
        match alike {
            Alike::Equal if const { short::suits::<M, X>() } => {
                short::rows(product, &by, true, rows.start, y);
            }
            Alike::Short if const { short::suits::<M, X>() } && y.len() < FEW => {
                short::rows(product, &by, false, rows.start, y);
            }
            _ => other_rows(product, &by, alike, rows.start, y),
        }
    }
}

/// Rows in registers where that is possible.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn other_rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<M::Accumulator>,
    alike: Alike,
    first: usize,
    y: &mut [Y],
) {
    #[cfg(target_arch = "x86_64")]
    if match alike {
        Alike::Short => super::flat::rows(product, by, first, y),
        _ => super::gather::rows(product, by, alike, first, y),
    } {
        return;
    }
    if alike == Alike::Short {
        return short::rows(product, by, false, first, y);
    }
    // SAFETY: columns of the matrix are places of `x`: see [`Product`].
    let sum = |columns: &[u32], values: &[M]| unsafe {
        portable_sum::<M, X, Y>(columns, values, product.x)
    };
    for (row, y) in (first..).zip(y) {
        let (columns, values) = product.row(row);
        let value = match columns.len() <= LONG {
            true => sum(columns, values),
            false => long_sum(columns, values, &sum),
        };
        product.store(by, [value], (row, 0), std::array::from_mut(y));
    }
}

/// Halves a long row until its parts are short. The tree follows from the length alone.
pub(super) fn long_sum<M, A: Field>(columns: &[u32], values: &[M], sum: RowSum<'_, M, A>) -> A {
    if columns.len() <= LONG {
        return sum(columns, values);
    }
    let middle = columns.len().div_ceil(LONG) / 2 * LONG;
    let left = long_sum(&columns[..middle], &values[..middle], sum);
    left + long_sum(&columns[middle..], &values[middle..], sum)
}

/// # Safety
/// Columns lie inside `x`.
#[inline(always)]
unsafe fn portable_sum<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> M::Accumulator {
    let term = |column: u32, value: M| {
        // SAFETY: columns are below `x.len()`, a condition of this function.
        let x = unsafe { *x.get_unchecked(column as usize) };
        value.matrix() * M::input(x)
    };
    let mut sums = [M::Accumulator::zero(); SUMS];
    let (columns_body, columns_tail) = columns.as_chunks::<SUMS>();
    let (values_body, values_tail) = values.as_chunks::<SUMS>();
    for (columns, values) in columns_body.iter().zip(values_body) {
        for lane in 0..SUMS {
            sums[lane] += term(columns[lane], values[lane]);
        }
    }
    for (lane, (&column, &value)) in columns_tail.iter().zip(values_tail).enumerate() {
        sums[lane] += term(column, value);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
