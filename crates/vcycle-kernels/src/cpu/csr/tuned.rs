//! The kernels for the instructions of the host, and the types that have them.
//!
//! Whatever multiplies is generic; what is listed here is not, so that kernels are compiled once, with this
//! library, and not again wherever somebody multiplies. Other types, and processors without AVX2, do with plain
//! loops.

use super::alike::Rows;
use super::{Operands, Product, block, column, short, store_all, wide};
use crate::cpu::stencil::Vectors;
use crate::runs::{Alike, Run, runs_within};
use crate::scalar::{Field, Scalar, bf16, c32, c64, f16};
use crate::simd::{Level, level};

/// Fewer short rows than this do not fill a register: lines of a grid begin and end with them.
const FEW: usize = 8;
/// Rows whose sums wait to be rounded: they stay in the first cache. Whole groups of rows that kernels do
/// together.
const WAITING: usize = 768;

macro_rules! tuned {
    ($($kernel:ident: [$($m:ty, $x:ty, $y:ty => $a:ty;)*])*) => {
        /// The rows of `y`, `first` being the number of the first, where the host and the types have kernels;
        /// else nothing is done.
        pub(super) fn rows<M: Scalar, X: Scalar, Y: Scalar>(
            product: &Product<'_, M, X, Y>,
            runs: &[Run],
            first: usize,
            y: &mut [Y],
        ) -> bool {
            if !is_possible(product.vectors.x) {
                return false;
            }
            $($(if (M::KIND, X::KIND, Y::KIND) == (<$m>::KIND, <$x>::KIND, <$y>::KIND) {
                #[inline(never)]
                fn kernel(product: &Product<'_, $m, $x, $y>, runs: &[Run], first: usize, y: &mut [$y]) {
                    // SAFETY: `is_possible` has found AVX2, and that the places of `x` fit 31 bits. `runs` are those of
                    // the matrix, and the types of the table are as the kernel asks.
                    unsafe { $kernel::<$a, $m, $x, $y>(product, runs, first, y) }
                }
                // SAFETY: the types are those of the kernel, as every type has a kind of its own.
                let (product, y) = unsafe {
                    let y = std::slice::from_raw_parts_mut(y.as_mut_ptr().cast(), y.len());
                    (&*std::ptr::from_ref(product).cast(), y)
                };
                kernel(product, runs, first, y);
                return true;
            })*)*
            false
        }

        /// Whether there are kernels for the types.
        fn are_tuned<M: Scalar, X: Scalar, Y: Scalar>() -> bool {
            let kinds = (M::KIND, X::KIND, Y::KIND);
            $($(kinds == (<$m>::KIND, <$x>::KIND, <$y>::KIND) ||)*)* false
        }
    };
}

tuned! {
    in_registers: [
        f64, f64, f64 => f64;
        f32, f64, f64 => f64;
        f16, f64, f64 => f64;
        bf16, f64, f64 => f64;
        f32, f32, f64 => f64;
        f16, f32, f64 => f64;
        bf16, f32, f64 => f64;
        f32, f32, f32 => f32;
        f16, f32, f32 => f32;
        bf16, f32, f32 => f32;
    ]
    in_numbers: [
        c64, c64, c64 => c64;
        c32, c32, c32 => c32;
    ]
    in_halves: [
        f16, f16, f16 => f32;
        bf16, bf16, bf16 => f32;
    ]
}

/// Whether the host has the instructions, and registers can hold the places of `x`.
fn is_possible<X>(x: &[X]) -> bool {
    level() != Level::Portable && x.len() <= i32::MAX as usize
}

/// Rows of real numbers.
///
/// # Safety
/// The host has AVX2. `product` keeps the promises of [`Product`], the places of its `x` fit 31 bits, and what `runs`
/// say of the rows from `first` on holds. `X` is no half and, like `M`, no wider than `A`.
unsafe fn in_registers<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) {
    let has_columns = !runs.is_empty() && wide::suits::<M, X, Y>(product.vectors.cols);
    if const { wide::are_types::<M, X, Y>() } && has_columns {
        return wide::rows::<A, M, X, Y>(product, runs, first, y);
    }
    if product.vectors.cols != 1 {
        return block::rows_avx2::<A, M, X, Y>(product, first, y);
    }
    let by = product.vectors.combination::<A>(0);
    let is_short = const { short::suits::<M, X>() };
    for (alike, rows) in runs_within(runs, first..first + y.len()) {
        let y = &mut y[rows.start - first..rows.end - first];
        match alike {
            Alike::Equal if is_short => short::rows(product, &by, true, rows.start, y),
            Alike::Short if is_short && y.len() < FEW => {
                short::rows(product, &by, false, rows.start, y);
            }
            _ => {
                let (by, first) = (&by, rows.start);
                let rows = Rows { product, by, first };
                match alike {
                    Alike::Short => rows.flat(y),
                    _ => rows.gather(alike, y),
                }
            }
        }
    }
}

/// Rows of numbers that registers do not hold, or not those of `x`.
unsafe fn in_numbers<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) {
    if product.vectors.cols != 1 {
        return block::rows_avx2::<A, M, X, Y>(product, first, y);
    }
    let by = product.vectors.combination::<A>(0);
    for (alike, rows) in runs_within(runs, first..first + y.len()) {
        let y = &mut y[rows.start - first..rows.end - first];
        let is_short = matches!(alike, Alike::Equal | Alike::Short);
        match const { short::suits::<M, X>() } && is_short {
            true => short::rows(product, &by, alike == Alike::Equal, rows.start, y),
            false => column::rows(product, &by, rows.start, y),
        }
    }
}

/// Rows of halves between vectors of the same.
///
/// # Safety
/// The host has AVX2, `product` keeps the promises of [`Product`], and what `runs` say of the rows from `first` on holds.
unsafe fn in_halves<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) {
    let has_columns = !runs.is_empty() && wide::suits::<M, X, Y>(product.vectors.cols);
    match has_columns {
        true => wide::rows::<A, M, X, Y>(product, runs, first, y),
        false => in_numbers::<A, M, X, Y>(product, runs, first, y),
    }
}

/// [`rows`] by the kernel for results as wide as the sums, `A`; what becomes of these in `y` follows.
pub(super) fn rounded_rows<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) -> bool {
    let sums_of = Product::<M, X, A> {
        a: product.a,
        nodes: product.nodes,
        vectors: Operands::new(product.vectors.x, product.vectors.cols),
    };
    if Y::KIND == A::KIND || !are_tuned::<M, X, A>() || !is_possible(product.vectors.x) {
        return false;
    }
    let form = |runs: &[Run], first: usize, sums: &mut [A]| _ = rows(&sums_of, runs, first, sums);
    // SAFETY: the host has AVX2, as is possible.
    unsafe { rounded(&product.vectors, runs, first, y, &form) };
    true
}

/// Makes the sums of some rows, given what they have in common and the first of them.
type Form<'a, A> = &'a dyn Fn(&[Run], usize, &mut [A]);

/// The rows of `y`, of which `form` makes the sums of some.
unsafe fn rounded<A: Field, X: Scalar, Y: Scalar>(
    vectors: &Operands<'_, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
    form: Form<'_, A>,
) {
    let cols = vectors.cols;
    let by: Vec<_> = (0..cols)
        .map(|column| vectors.combination::<A>(column))
        .collect();
    // What is stored by one call: rows of one column, or a row whose columns are alike.
    let together = match by.iter().all(|other| *other == by[0]) {
        true if cols == 1 => WAITING,
        true => cols,
        false => 1,
    };
    let mut sums = vec![A::zero(); (2 * WAITING).min(y.len() / cols) * cols];
    let all = first..first + y.len() / cols;
    let runs = match runs {
        [] => vec![(Alike::Not, all)],
        _ => runs_within(runs, all).collect(),
    };
    for (alike, run) in runs {
        let mut row = run.start;
        while row < run.end {
            let rest = run.end - row;
            let count = if rest < 2 * WAITING { rest } else { WAITING };
            let sums = &mut sums[..count * cols];
            form(&[Run { first: row, alike }], row, sums);
            let y = &mut y[(row - first) * cols..][..count * cols];
            let parts = y.chunks_mut(together).zip(sums.chunks(together));
            for (part, (y, sums)) in parts.enumerate() {
                let (row, column) = (row + part * together / cols, part * together % cols);
                store_all(vectors, &by[column], sums, (row, column), y);
            }
            row += count;
        }
    }
}
