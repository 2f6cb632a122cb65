//! CSR kernels over row ranges of equal work.
//!
//! A product, its scaled form and the residual are one kernel: `y = alpha A x + beta z`. So is a
//! sweep of a relaxation, which makes more of the same sums.
//!
//! Functions on registers are unsafe: the host has to have the instructions of `S`, AVX2 at least, and the [`Product`] and
//! its rows have to be what they say.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "these functions are unsafe as a whole: what they ask for is what the functions they call ask for"
)]

#[cfg(target_arch = "x86_64")]
mod alike;
mod block;
mod column;
#[cfg(target_arch = "x86_64")]
mod flat;
#[cfg(target_arch = "x86_64")]
mod gather;
#[cfg(target_arch = "x86_64")]
mod short;
mod transposed;
#[cfg(target_arch = "x86_64")]
mod tuned;
#[cfg(target_arch = "x86_64")]
mod wide;

use super::Threads;
pub use crate::reference::csr::{CsrArrays, Operands, SweepArrays};
use crate::runs::Run;
use crate::scalar::{Field, Mixes, Scalar, convert};
pub use transposed::apply_transposed;

/// Rows whose sums are formed before they are stored.
const WAITING: usize = 64;

/// `y = alpha A x + beta z`, where `z` is the old `y` unless something else is given; or a sweep.
///
/// Kernels look places up unchecked. They rely on what patterns and `check_apply` have made sure of: `offsets` increases
/// up to the number of entries, every column is below `x.len() / cols`, and rows of `y` are rows of the matrix. Runs are those of its
/// pattern, and `nodes` those of the runs. Whoever calls [`run`](Self::run) promises that.
#[derive(Clone, Copy)]
pub struct Product<'a, M, X, Y: Scalar> {
    /// The matrix.
    pub a: CsrArrays<'a, M>,
    /// What [`node_columns`](crate::runs::node_columns) has found, where runs are of [nodes](crate::runs::Alike::Nodes).
    pub nodes: &'a [u32],
    /// The vectors, and what becomes of the product.
    pub vectors: Operands<'a, X, Y>,
}

impl<M: Scalar, X: Scalar, Y: Scalar> Product<'_, M, X, Y> {
    /// Whether it has use for runs of rows that are alike.
    pub fn goes_by_runs(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if wide::suits::<M, X, Y>(self.vectors.cols) {
            return true;
        }
        self.vectors.cols == 1
    }

    /// Runs it on row ranges of about equal work, with runs of rows that are alike.
    ///
    /// # Safety
    /// What [`Product`] says holds, and `pieces` end with the rows of the matrix.
    pub unsafe fn run(&self, threads: &Threads, pieces: &[usize], runs: &[Run], y: &mut [Y])
    where
        M: Mixes<X, Y>,
    {
        let bytes = size_of_val(self.a.values) + size_of_val(self.a.columns);
        threads.for_row_ranges(pieces, y, self.vectors.cols, bytes, &|first, y| {
            self.rows::<M::Accumulator>(runs, first, y)
        });
    }

    /// The rows of `y`, `first` being the number of the first, with sums in `A`; `runs` are those of the
    /// pattern.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    fn rows<A: Field>(&self, runs: &[Run], first: usize, y: &mut [Y]) {
        #[cfg(target_arch = "x86_64")]
        if tuned::rows(self, runs, first, y)
            || tuned::rounded_rows::<A, M, X, Y>(self, runs, first, y)
        {
            return;
        }
        match self.vectors.cols {
            1 => column::rows(self, &self.vectors.combination::<A>(0), first, y),
            _ => block::rows::<A, M, X, Y>(self, first, y),
        }
    }

    /// The columns and values of a row.
    #[inline(always)]
    fn row(&self, row: usize) -> (&[u32], &[M]) {
        debug_assert!(row + 1 < self.a.offsets.len());
        // SAFETY: `row` is a row of `y`, hence of the matrix, and `offsets` increases up to the number of entries:
        // see [`Product`].
        unsafe {
            let offsets = &self.a.offsets;
            let range = *offsets.get_unchecked(row)..*offsets.get_unchecked(row + 1);
            (
                self.a.columns.get_unchecked(range.clone()),
                self.a.values.get_unchecked(range),
            )
        }
    }
}

impl<X: Scalar, Y: Scalar> Operands<'_, X, Y> {
    /// What becomes of the sums of one column.
    #[inline(always)]
    pub(super) fn combination<A: Field>(&self, column: usize) -> Combination<A> {
        let number = A::from_f64;
        if let Some(sweep) = &self.sweep {
            return Combination {
                alpha: number(sweep.alpha),
                beta: number(sweep.beta),
                gamma: number(sweep.gamma),
                plain: false,
            };
        }
        let alpha: A = convert(self.alpha.evaluate(column));
        let beta: A = convert(self.beta.evaluate(column));
        Combination {
            alpha,
            beta,
            gamma: number(0.0),
            plain: alpha.is_one() && beta.is_zero(),
        }
    }

    /// Stores what the sums of one column for `N` rows from `row` on become in `y`; parts that are
    /// multiplied by zero do not count. Where vectors have several columns, `N` columns of one row take the place of rows.
    #[inline(always)]
    pub(super) fn store<A: Field, const N: usize>(
        &self,
        by: &Combination<A>,
        sums: [A; N],
        (row, column): (usize, usize),
        y: &mut [Y; N],
    ) {
        let place = row * self.cols + column;
        if by.plain {
            for lane in 0..N {
                y[lane] = convert(sums[lane]);
            }
        } else if let Some(sweep) = &self.sweep {
            self.store_swept(by, sweep, sums, (row, place), y);
        } else {
            self.store_combined(by, sums, place, y);
        }
    }

    /// `alpha sum + beta z`.
    #[inline(always)]
    fn store_combined<A: Field, const N: usize>(
        &self,
        by: &Combination<A>,
        sums: [A; N],
        place: usize,
        y: &mut [Y; N],
    ) {
        let mut values = [A::zero(); N];
        for lane in 0..N {
            if !by.alpha.is_zero() {
                values[lane] = by.alpha * sums[lane];
            }
        }
        if !by.beta.is_zero() {
            let z = self.z.map_or(&*y, |z| part(z, place));
            for lane in 0..N {
                values[lane] += by.beta * convert::<Y, A>(z[lane]);
            }
        }
        for lane in 0..N {
            y[lane] = convert(values[lane]);
        }
    }

    /// `alpha d (b - sum) + beta x + gamma y`.
    #[inline(always)]
    fn store_swept<A: Field, const N: usize>(
        &self,
        by: &Combination<A>,
        sweep: &SweepArrays<'_, Y>,
        sums: [A; N],
        (row, place): (usize, usize),
        y: &mut [Y; N],
    ) {
        let b = part::<Y, N>(sweep.b, place);
        let d = match self.cols {
            1 => *part::<Y, N>(sweep.d, row),
            _ => [sweep.d[row]; N],
        };
        let x = part::<X, N>(self.x, place);
        let mut values = sums;
        for lane in 0..N {
            let step =
                by.alpha * (convert::<Y, A>(d[lane]) * (convert::<Y, A>(b[lane]) - sums[lane]));
            values[lane] = step + by.beta * convert::<X, A>(x[lane]);
        }
        if !by.gamma.is_zero() {
            for lane in 0..N {
                values[lane] += by.gamma * convert::<Y, A>(y[lane]);
            }
        }
        for lane in 0..N {
            y[lane] = convert(values[lane]);
        }
    }
}

/// Stores what sums become from a place on: of consecutive rows, or of neighbouring columns of one row where vectors have several.
#[inline(always)]
fn store_sums<A: Field, X: Scalar, Y: Scalar>(
    vectors: &Operands<'_, X, Y>,
    by: &Combination<A>,
    sums: &[A],
    (row, column): (usize, usize),
    y: &mut [Y],
) {
    // Registers of AVX2 hold four large numbers or eight small ones; kernels of several columns store one register at a time.
    match const { size_of::<A>() > size_of::<f32>() } {
        true => store_chunks::<A, X, Y, 4>(vectors, by, sums, (row, column), y),
        false => store_chunks::<A, X, Y, 8>(vectors, by, sums, (row, column), y),
    }
}

/// So many at once, and what is left one by one.
#[inline(always)]
fn store_chunks<A: Field, X: Scalar, Y: Scalar, const N: usize>(
    vectors: &Operands<'_, X, Y>,
    by: &Combination<A>,
    sums: &[A],
    (row, column): (usize, usize),
    y: &mut [Y],
) {
    let place = |count: usize| match vectors.cols {
        1 => (row + count, 0),
        _ => (row, column + count),
    };
    let (chunks, rest) = y.as_chunks_mut::<N>();
    let (chunks_of_sums, rest_of_sums) = sums.as_chunks::<N>();
    let done = N * chunks.len();
    for (index, (y, sums)) in chunks.iter_mut().zip(chunks_of_sums).enumerate() {
        vectors.store(by, *sums, place(N * index), y);
    }
    for (index, (y, sum)) in rest.iter_mut().zip(rest_of_sums).enumerate() {
        let y = std::array::from_mut(y);
        vectors.store(by, [*sum], place(done + index), y);
    }
}

/// [`store_sums`] on any processor. A call and not a copy at the end of every kernel, of which there are many.
#[inline(never)]
fn store_any<A: Field, X: Scalar, Y: Scalar>(
    vectors: &Operands<'_, X, Y>,
    by: &Combination<A>,
    sums: &[A],
    place: (usize, usize),
    y: &mut [Y],
) {
    store_sums(vectors, by, sums, place, y);
}

/// The same with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline(never)]
fn store_all<A: Field, X: Scalar, Y: Scalar>(
    vectors: &Operands<'_, X, Y>,
    by: &Combination<A>,
    sums: &[A],
    place: (usize, usize),
    y: &mut [Y],
) {
    store_sums(vectors, by, sums, place, y);
}

/// What becomes of sums in neighbouring columns of vectors that have several.
struct Neighbours<A, const LANES: usize> {
    by: [Combination<A>; LANES],
    /// Whether it is the same in all of them.
    are_equal: bool,
}

impl<A: Field, const LANES: usize> Neighbours<A, LANES> {
    /// From a column on.
    #[inline(never)]
    fn new<X: Scalar, Y: Scalar>(vectors: &Operands<'_, X, Y>, column: usize) -> Self {
        let by = std::array::from_fn(|lane| vectors.combination(column + lane));
        let are_equal = by.iter().all(|other| *other == by[0]);
        Self { by, are_equal }
    }

    /// Stores what the sums of a row become, from the same column on, by [`store_any`] or a relative of it.
    #[inline(always)]
    fn store<Y>(
        &self,
        sums: &[A; LANES],
        (row, column): (usize, usize),
        y: &mut [Y],
        store: impl Fn(&Combination<A>, &[A], (usize, usize), &mut [Y]),
    ) {
        if self.are_equal {
            return store(&self.by[0], sums, (row, column), y);
        }
        for (lane, by) in self.by.iter().enumerate() {
            let place = (row, column + lane);
            store(by, &sums[lane..=lane], place, &mut y[lane..=lane]);
        }
    }
}

/// The coefficients of one column in the arithmetic of the product.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Combination<A> {
    alpha: A,
    beta: A,
    gamma: A,
    /// Whether the sums are the result.
    plain: bool,
}

/// `N` of the values, from one on.
#[inline(always)]
fn part<T, const N: usize>(values: &[T], from: usize) -> &[T; N] {
    let values = &values[from..from + N];
    values.try_into().expect("as many as were taken")
}
