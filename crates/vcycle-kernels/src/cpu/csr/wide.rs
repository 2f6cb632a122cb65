//! Several columns of vectors in registers: each number of the input is loaded and converted once for all rows that have the same columns.

use std::mem::MaybeUninit;

use super::{Neighbours, Product, block, store_all};
use crate::cpu::stencil::Vectors;
use crate::runs::{Alike, Run, runs_within};
use crate::scalar::{Kind, Scalar};
use crate::simd::{Level, Simd, level};

/// Rows done for one group of columns before the next one: their values stay in cache. Whole groups of 2, 3 or 4.
const ROWS: usize = 96;
/// Values of a row that are converted at a time, in whole registers.
const CONVERTED: usize = 128;
/// Columns of vectors come in groups of so many.
const GROUP: usize = 8;

/// Whether types gain by it: values that are halves do, which are converted by instructions for that, and single precision where rows share the input.
pub(super) const fn are_types<M: Scalar, X: Scalar, Y: Scalar>() -> bool {
    is_half(M::KIND) || are_single::<M, X, Y>()
}

const fn is_half(kind: Kind) -> bool {
    matches!(kind, Kind::F16 | Kind::Bf16)
}

const fn are_single<M: Scalar, X: Scalar, Y: Scalar>() -> bool {
    matches!(
        (M::KIND, X::KIND, Y::KIND),
        (Kind::F32, Kind::F32, Kind::F32)
    )
}

/// Whether this host multiplies so many columns of these types in registers.
pub(super) fn suits<M: Scalar, X: Scalar, Y: Scalar>(cols: usize) -> bool {
    let is_whole = cols > 0 && cols.is_multiple_of(GROUP);
    are_types::<M, X, Y>() && is_whole && level() != Level::Portable
}

/// The rows of `y`, `first` being the number of the first. Sums are formed in the order of the entries of a row, so that
/// they are the same bits at every level.
///
/// # Safety
/// `product` keeps the promises of [`Product`], what `runs` say of the rows from `first` on holds, and types and columns [suit](suits). All types are real, and none is
/// wider than `A`.
pub(super) unsafe fn rows<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) {
    let cols = product.vectors.cols;
    for (alike, rows) in runs_within(runs, first..first + y.len() / cols) {
        let y = &mut y[(rows.start - first) * cols..(rows.end - first) * cols];
        let size = match alike {
            Alike::Same(size) | Alike::Nodes(size) => size,
            _ => 1,
        };
        if size == 1 && const { are_single::<M, X, Y>() } {
            block::rows_avx2::<A, M, X, Y>(product, rows.start, y);
            continue;
        }
        for (batch, y) in y.chunks_mut(ROWS * cols).enumerate() {
            let first = rows.start + batch * ROWS;
            match level() {
                Level::Avx512 => batch_avx512::<A, M, X, Y>(product, size, first, y),
                _ => batch_avx2::<A, M, X, Y>(product, size, first, y),
            }
        }
    }
}

macro_rules! batch_of_level {
    ($($name:ident, $features:literal: {$($kind:ident: $($simd:ident[$lanes:literal; $wide:literal]),*;)*})*) => {$(
        /// All columns of rows in groups of `size` with the same columns, the widest groups of columns first.
        #[target_feature(enable = $features)]
        unsafe fn $name<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
            product: &Product<'_, M, X, Y>,
            size: u8,
            first: usize,
            y: &mut [Y],
        ) {
            let mut column = 0;
            $(if const { matches!(A::KIND, Kind::$kind) } {
                $(while product.vectors.cols - column >= $lanes * $wide {
                    product.of_size::<A::$simd, $lanes, $wide>(size, (first, column), y);
                    column += $lanes * $wide;
                })*
            })*
        }
    )*};
}

batch_of_level! {
    batch_avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c": {
        F32: Avx512[16; 2], Avx512[16; 1], Avx2[8; 1];
        F64: Avx512[8; 2], Avx512[8; 1];
    }
    batch_avx2, "avx2,fma,f16c": {
        F32: Avx2[8; 2], Avx2[8; 1];
        F64: Avx2[4; 2];
    }
}

impl<M: Scalar, X: Scalar, Y: Scalar> Product<'_, M, X, Y> {
    /// `WIDE` registers of columns, from a row and a column on; there are so many columns left.
    #[inline(always)]
    unsafe fn of_size<S: Simd, const LANES: usize, const WIDE: usize>(
        &self,
        size: u8,
        at: (usize, usize),
        y: &mut [Y],
    ) {
        match size {
            2 => self.groups::<S, LANES, WIDE, 2>(at, y),
            3 => self.groups::<S, LANES, WIDE, 3>(at, y),
            4 => self.groups::<S, LANES, WIDE, 4>(at, y),
            _ => self.groups::<S, LANES, WIDE, 1>(at, y),
        }
    }

    /// The same for groups of `SIZE` rows that have the same columns.
    #[inline(always)]
    unsafe fn groups<S: Simd, const LANES: usize, const WIDE: usize, const SIZE: usize>(
        &self,
        (first, column): (usize, usize),
        y: &mut [Y],
    ) {
        let cols = self.vectors.cols;
        let columns: [_; WIDE] = std::array::from_fn(|register| {
            Neighbours::<S::Real, LANES>::new(&self.vectors, column + register * LANES)
        });
        for (group, y) in y.chunks_exact_mut(SIZE * cols).enumerate() {
            let row = first + group * SIZE;
            let sums = self.row_sums::<S, WIDE, SIZE>(row, column);
            for (place, sums) in sums.into_iter().enumerate() {
                for (register, sums) in sums.into_iter().enumerate() {
                    let column = column + register * LANES;
                    let y = &mut y[place * cols + column..][..LANES];
                    let mut lanes = [num_traits::Zero::zero(); LANES];
                    S::store(sums, &mut lanes);
                    let place = (row + place, column);
                    columns[register].store(&lanes, place, y, |by, sums, place, y| {
                        store_all(&self.vectors, by, sums, place, y);
                    });
                }
            }
        }
    }

    /// The sums of `SIZE` rows in `WIDE` registers of columns.
    #[inline(always)]
    unsafe fn row_sums<S: Simd, const WIDE: usize, const SIZE: usize>(
        &self,
        row: usize,
        column: usize,
    ) -> [[S::Register; WIDE]; SIZE] {
        let (columns, values) = self.row(row);
        let (length, mut values) = (columns.len(), values.as_ptr());
        let mut converted = [[MaybeUninit::<S::Real>::uninit(); CONVERTED]; SIZE];
        // The `SIZE` rows have the same columns, hence the same length, and their values follow each other.
        let x = self.vectors.x.as_ptr().add(column);
        let mut sums = [[S::zero(); WIDE]; SIZE];
        for columns in columns.chunks(CONVERTED) {
            for (row, to) in converted.iter_mut().enumerate() {
                convert::<S, M>(values.add(row * length), columns.len(), to);
            }
            for (entry, &place) in columns.iter().enumerate() {
                let x = x.add(place as usize * self.vectors.cols);
                let mut inputs = [S::zero(); WIDE];
                for (register, input) in inputs.iter_mut().enumerate() {
                    *input = S::load(x.add(register * S::LANES), S::LANES);
                }
                for (sums, values) in sums.iter_mut().zip(&converted) {
                    let value = S::splat(values.get_unchecked(entry).assume_init());
                    for (sum, &input) in sums.iter_mut().zip(&inputs) {
                        *sum = add_product::<S, M, X>(value, input, *sum);
                    }
                }
            }
            values = values.add(columns.len());
        }
        sums
    }
}

/// `count` values of a row in the type of the sums.
///
/// # Safety
/// The host has the instructions of `S`, and `count` values are readable, at most [`CONVERTED`].
#[inline(always)]
unsafe fn convert<S: Simd, M: Scalar>(
    values: *const M,
    count: usize,
    to: &mut [MaybeUninit<S::Real>; CONVERTED],
) {
    for from in (0..count).step_by(S::LANES) {
        let to = to[from..].as_mut_ptr().cast();
        let register = S::load(values.add(from), S::LANES.min(count - from));
        S::store(register, std::slice::from_raw_parts_mut(to, S::LANES));
    }
}

/// `sum + value * input`, rounded twice as kernels without these registers do it.
#[inline(always)]
unsafe fn add_product<S: Simd, M: Scalar, X: Scalar>(
    value: S::Register,
    input: S::Register,
    sum: S::Register,
) -> S::Register {
    match const { is_exact::<S::Real, M, X>() } {
        true => S::multiply_add(value, input, sum),
        false => S::add(sum, S::multiply(value, input)),
    }
}

/// Whether products of `M` and `X` have no more digits than `A`.
const fn is_exact<A: Scalar, M: Scalar, X: Scalar>() -> bool {
    const fn digits(kind: Kind) -> u32 {
        match kind {
            Kind::Bf16 => 8,
            Kind::F16 => 11,
            Kind::F32 | Kind::C32 => 24,
            Kind::F64 | Kind::C64 => 53,
        }
    }
    digits(M::KIND) + digits(X::KIND) <= digits(A::KIND)
}
