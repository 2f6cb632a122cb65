//! Products with a single vector in registers.
//!
//! Rows that repeat the row above, moved by one column, lie across the lanes: the vector is read
//! in order and columns not at all. Values of the vector for other rows are gathered.

use super::WAITING;
use super::alike::{Rows, prefetch};
use super::column::{LONG, RowSum, long_sum};
use crate::cpu::stencil::Vectors;
use crate::runs::Alike;
use crate::scalar::{Field, Kind, Scalar};
use crate::simd::{Level, Simd, level};

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// They have in common what `alike` says.
    pub(super) unsafe fn gather(&self, alike: Alike, y: &mut [Y]) {
        match level() {
            Level::Avx512 => gather_avx512(self, alike, y),
            _ => gather_avx2(self, alike, y),
        }
    }

    /// The same; `sum` is that of a single row.
    #[inline(always)]
    unsafe fn run<S: Simd<Real = A>, const LANES: usize>(
        &self,
        alike: Alike,
        y: &mut [Y],
        sum: RowSum<'_, M, A>,
    ) {
        match alike {
            Alike::Moved => self.repeating::<S, LANES>(y),
            Alike::Same(2) => self.together::<S, LANES, 2, false>(y),
            Alike::Same(3) => self.together::<S, LANES, 3, false>(y),
            Alike::Same(4) => self.together::<S, LANES, 4, false>(y),
            Alike::Nodes(2) => self.together::<S, LANES, 2, true>(y),
            Alike::Nodes(3) => self.together::<S, LANES, 3, true>(y),
            Alike::Nodes(4) => self.together::<S, LANES, 4, true>(y),
            _ => self.groups::<S, LANES>(y, sum),
        }
    }

    /// Rows without order, as many at a time as there are lanes.
    #[inline(always)]
    unsafe fn groups<S: Simd<Real = A>, const LANES: usize>(
        &self,
        y: &mut [Y],
        sum: RowSum<'_, M, A>,
    ) {
        let offsets = self.product.a.offsets;
        let mut sums = [A::from_f64(0.0); WAITING];
        for (batch, y) in y.chunks_mut(WAITING).enumerate() {
            let first = self.first + batch * WAITING;
            for group in (0..y.len()).step_by(LANES) {
                let (row, count) = (first + group, LANES.min(y.len() - group));
                let sums = &mut sums[group..group + LANES];
                match offsets[row + count] - offsets[row] > LONG {
                    true => self.one_by_one(row, &mut sums[..count], sum),
                    false => S::store(self.gathered::<S, LANES>(row, count), sums),
                }
            }
            self.store(&sums, first, y);
        }
    }

    /// The sums of rows of which at least one may be long.
    #[cold]
    fn one_by_one(&self, first: usize, sums: &mut [A], sum: RowSum<'_, M, A>) {
        for (row, to) in (first..).zip(sums) {
            let (columns, values) = self.product.row(row);
            *to = long_sum(columns, values, sum);
        }
    }

    /// The sums of `count` rows from `first` on, row by lane.
    #[inline(always)]
    unsafe fn gathered<S: Simd<Real = A>, const LANES: usize>(
        &self,
        first: usize,
        count: usize,
    ) -> S::Register {
        let mut rows = [S::zero(); LANES];
        for index in 0..count {
            let (columns, values) = self.product.row(first + index);
            rows[index] = lanes::<S, M, X>(columns, values, self.product.vectors.x);
        }
        S::sums(&mut rows)
    }
}

macro_rules! gather_of_level {
    ($($name:ident: $simd:ident, $singles:literal, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
            rows: &Rows<'_, A, M, X, Y>,
            alike: Alike,
            y: &mut [Y],
        ) {
            const SINGLES: usize = $singles;
            const DOUBLES: usize = SINGLES / 2;
            let x = rows.product.vectors.x;
            // Closures have the instructions of the function they stand in.
            if const { matches!(A::KIND, Kind::F32) } {
                let sum = |columns: &[u32], values: &[M]| {
                    sum::<A::$simd, M, X, SINGLES>(columns, values, x)
                };
                rows.run::<A::$simd, SINGLES>(alike, y, &sum);
            } else {
                let sum = |columns: &[u32], values: &[M]| {
                    sum::<A::$simd, M, X, DOUBLES>(columns, values, x)
                };
                rows.run::<A::$simd, DOUBLES>(alike, y, &sum);
            }
        }
    )*};
}

gather_of_level! {
    gather_avx512: Avx512, 16, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    gather_avx2: Avx2, 8, "avx2,fma,f16c";
}

/// The sum of a single row.
///
/// # Safety
/// The host has the instructions of `S`. There are as many values as columns, and columns are places of
/// `x` below `2^31`.
#[inline(always)]
unsafe fn sum<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> S::Real {
    let mut sum = [S::Real::from_f64(0.0); LANES];
    let mut rows = [S::zero(); LANES];
    rows[0] = lanes::<S, M, X>(columns, values, x);
    S::store(S::sums(&mut rows), &mut sum);
    sum[0]
}

/// The products of one row, summed in the lanes of a register.
#[inline(always)]
unsafe fn lanes<S: Simd, M: Scalar, X: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> S::Register {
    let (mut columns, mut values, mut left) = (columns.as_ptr(), values.as_ptr(), columns.len());
    let mut sum = S::zero();
    while left > S::LANES {
        prefetch(values);
        prefetch(columns);
        let x = S::gather(x.as_ptr(), columns, S::LANES);
        sum = S::multiply_add(S::load(values, S::LANES), x, sum);
        (columns, values) = (columns.add(S::LANES), values.add(S::LANES));
        left -= S::LANES;
    }
    prefetch(values);
    prefetch(columns);
    let x = S::gather(x.as_ptr(), columns, left);
    S::multiply_add(S::load(values, left), x, sum)
}
