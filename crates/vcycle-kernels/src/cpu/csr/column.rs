//! Products with a single vector, on any processor and for any types.

use super::{Combination, Product, WAITING, store_any};
use crate::scalar::{Field, Scalar, convert};

/// Rows with more entries are cut into parts of at most this many: sums of fewer round less.
pub(super) const LONG: usize = 32 * 1024;
/// Independent sums, so that additions do not wait for each other.
const SUMS: usize = 4;

/// The sum of a row's products, given its columns and values.
pub(super) type RowSum<'a, M, A> = &'a dyn Fn(&[u32], &[M]) -> A;

/// The rows of `y`, `first` being the number of the first.
pub(super) fn rows<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<A>,
    first: usize,
    y: &mut [Y],
) {
    // SAFETY: columns lie inside `x`.
    let sum = |columns: &[u32], values: &[M]| unsafe { sum(columns, values, product.vectors.x) };
    let mut sums = [A::zero(); WAITING];
    for (batch, y) in y.chunks_mut(WAITING).enumerate() {
        let (first, sums) = (first + batch * WAITING, &mut sums[..y.len()]);
        for (row, value) in (first..).zip(&mut *sums) {
            let (columns, values) = product.row(row);
            *value = match columns.len() <= LONG {
                true => sum(columns, values),
                false => long_sum(columns, values, &sum),
            };
        }
        store_any(&product.vectors, by, sums, (first, 0), y);
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
unsafe fn sum<A: Field, M: Scalar, X: Scalar>(columns: &[u32], values: &[M], x: &[X]) -> A {
    let term = |column: u32, value: M| {
        let x = *x.get_unchecked(column as usize);
        convert::<M, A>(value) * convert::<X, A>(x)
    };
    let mut sums = [A::zero(); SUMS];
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
