//! Short rows of different lengths: first all products, then the sums of rows.
//!
//! Unpredictable lengths make every branch on them a frequent misprediction. Here the
//! products of many rows are formed as if they were one row; a row's part of them is then loaded
//! with a mask, and the rows of a square of registers are summed together.

use std::ops::Range;

use super::alike::{Rows, prefetch};
use crate::cpu::stencil::Vectors;
use crate::runs::SHORT;
use crate::scalar::{Kind, Scalar};
use crate::simd::{Level, Simd, level};

/// Rows at a time: their products stay in the first cache.
const ROWS: usize = 64;
/// The widest register.
const WIDEST: usize = 16;

/// The products of some rows.
type Products<S> = [<S as Simd>::Real; ROWS * SHORT + WIDEST];

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// All are [short](crate::runs::Alike::Short).
    pub(super) unsafe fn flat(&self, y: &mut [Y]) {
        match level() {
            Level::Avx512 => flat_avx512(self, y),
            _ => flat_avx2(self, y),
        }
    }

    /// Blocks of rows.
    #[inline(always)]
    unsafe fn blocks<S: Simd<Real = A>, const LANES: usize>(&self, y: &mut [Y]) {
        let mut products = [A::from_f64(0.0); ROWS * SHORT + WIDEST];
        let mut sums = [A::from_f64(0.0); ROWS];
        for (block, y) in y.chunks_mut(ROWS).enumerate() {
            let first = self.first + block * ROWS;
            let offsets = &self.product.a.offsets[first..=first + y.len()];
            self.multiply::<S>(offsets[0]..offsets[y.len()], &mut products);
            for row in (0..y.len()).step_by(LANES) {
                let ends = &offsets[row..=y.len().min(row + LANES)];
                let register = sums_of::<S, LANES>(ends, offsets[0], &products);
                S::store(register, &mut sums[row..row + LANES]);
            }
            self.store(&sums, first, y);
        }
    }

    /// The products of a range of entries.
    #[inline(always)]
    unsafe fn multiply<S: Simd<Real = A>>(
        &self,
        entries: Range<usize>,
        products: &mut Products<S>,
    ) {
        let columns = &self.product.a.columns[entries.clone()];
        let values = &self.product.a.values[entries];
        let parts = columns.chunks(S::LANES).zip(values.chunks(S::LANES));
        for (part, (columns, values)) in parts.enumerate() {
            prefetch(values.as_ptr());
            prefetch(columns.as_ptr());
            let x = self.product.vectors.x.as_ptr();
            let x = S::gather(x, columns.as_ptr(), columns.len());
            let values = S::load(values.as_ptr(), values.len());
            let to = &mut products[part * S::LANES..][..S::LANES];
            S::store(S::multiply_add(values, x, S::zero()), to);
        }
    }
}

macro_rules! flat_of_level {
    ($($name:ident: $simd:ident, $singles:literal, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
            rows: &Rows<'_, A, M, X, Y>,
            y: &mut [Y],
        ) {
            if const { matches!(A::KIND, Kind::F32) } {
                rows.blocks::<A::$simd, $singles>(y);
            } else {
                rows.blocks::<A::$simd, { $singles / 2 }>(y);
            }
        }
    )*};
}

flat_of_level! {
    flat_avx512: Avx512, 16, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    flat_avx2: Avx2, 8, "avx2,fma,f16c";
}

/// The sums of rows that end where `offsets` say, row by lane; `base` is the place of the first
/// product.
///
/// # Safety
/// The host has the instructions of `S`. Rows have at most [`SHORT`] products, and at most `ROWS * SHORT` in all.
#[inline(always)]
unsafe fn sums_of<S: Simd, const LANES: usize>(
    offsets: &[usize],
    base: usize,
    products: &Products<S>,
) -> S::Register {
    let mut starts = [products.as_ptr(); LANES];
    let mut counts = [0; LANES];
    for (row, ends) in offsets.windows(2).enumerate() {
        starts[row] = products[ends[0] - base..].as_ptr();
        counts[row] = ends[1] - ends[0];
    }
    if const { LANES >= SHORT } {
        return S::short_sums(starts, counts);
    }
    let mut rows = [S::zero(); LANES];
    for row in 0..LANES {
        let rest = counts[row].saturating_sub(LANES);
        rows[row] = S::add(
            S::load(starts[row], counts[row] - rest),
            S::load(starts[row].add(LANES), rest),
        );
    }
    S::sums(&mut rows)
}
