//! Rows of a product with a single vector in registers: those that repeat the row above, moved by one column, and groups of
//! rows with the same columns, as nodes of several unknowns have them.
//!
//! Of moved rows the vector is read in order and columns not at all. What columns of a node bring is copied, not gathered.

use std::mem::MaybeUninit;

use super::{Combination, Product, WAITING, store_all};
use crate::cpu::stencil::Vectors;
use crate::scalar::Scalar;
use crate::simd::Simd;

/// Bytes between what is read and what is asked for.
const AHEAD: usize = 2048;

/// Asks for what will be read soon; the processor's own prefetching ends at every page.
#[inline(always)]
pub(super) fn prefetch<T>(from: *const T) {
    let ahead = from.cast::<i8>().wrapping_add(AHEAD);
    // SAFETY: a hint, allowed for any address.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(ahead) };
}

/// Rows of a product with a single vector that have something in common, and what becomes of their sums.
///
/// The host has AVX2 at least, and the places of `x` fit 31 bits. `A` is a real type; `X` is one that is no half and, like `M`,
/// no wider than `A`.
pub(super) struct Rows<'p, A, M, X, Y: Scalar> {
    pub(super) product: &'p Product<'p, M, X, Y>,
    pub(super) by: &'p Combination<A>,
    /// The first of them.
    pub(super) first: usize,
}

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// Stores what the first sums become, one for each of `y`, which begins with a `row`. A call for many rows costs less than
    /// one for every register.
    #[inline(always)]
    pub(super) unsafe fn store(&self, sums: &[A], row: usize, y: &mut [Y]) {
        let sums = &sums[..y.len()];
        store_all(&self.product.vectors, self.by, sums, (row, 0), y);
    }
}

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// Each has the columns of the row before it, moved by one. Of the pattern only the first is read.
    #[inline(always)]
    pub(super) unsafe fn repeating<S: Simd<Real = A>, const LANES: usize>(&self, y: &mut [Y]) {
        let (product, first) = (self.product, self.first);
        let (columns, _) = product.row(first);
        let start = product.a.offsets[first];
        let all = y.len();
        let mut sums = [A::from_f64(0.0); WAITING];
        for (batch, y) in y.chunks_mut(WAITING).enumerate() {
            let before = batch * WAITING;
            for lead in (0..y.len()).step_by(LANES) {
                let own = LANES.min(y.len() - lead);
                // The last rows once more, of which the first are there already.
                let (from, count) = match own < LANES && all > LANES {
                    true => (all - LANES, LANES),
                    false => (before + lead, own),
                };
                // Rows are as long as the first, which they repeat, so the values of one begin there.
                let values = product.a.values.as_ptr().add(start + from * columns.len());
                let x = product.vectors.x.as_ptr().add(from);
                let register = moved_sums::<S, M, X, LANES>(columns, values, x, count);
                S::store(register, &mut sums[lead..lead + LANES]);
                if own < count {
                    sums.copy_within(lead + count - own..lead + count, lead);
                }
            }
            self.store(&sums, first + before, y);
        }
    }
}

/// The sums of `count` rows with these columns, each row moved by one, row by lane.
///
/// # Safety
/// The host has the instructions of `S`, and `count` is at most `LANES`. `values` points to `count` rows of as many
/// values as there are columns, and for every column `count` numbers are readable from `x + column` on.
#[inline(always)]
unsafe fn moved_sums<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
    count: usize,
) -> S::Register {
    // A constant count is compiled without branches.
    match (count == LANES, columns.len() <= LANES) {
        (true, true) => one_square::<S, M, X, LANES>(columns, values, x),
        (true, false) => across::<S, M, X, LANES>(columns, values, x, LANES),
        (false, _) => across::<S, M, X, LANES>(columns, values, x, count),
    }
}

/// The sums of rows with these columns, each row moved by one, row by lane.
#[inline(always)]
unsafe fn across<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
    count: usize,
) -> S::Register {
    let length = columns.len();
    let mut sums = [S::zero(); 2];
    let (squares, rest) = columns.as_chunks::<LANES>();
    for (index, columns) in squares.iter().enumerate() {
        let square = square::<S, M, LANES>(values.add(index * LANES), length, count, LANES);
        for lane in 0..LANES {
            let x = S::load(x.add(columns[lane] as usize), count);
            sums[lane % 2] = S::multiply_add(square[lane], x, sums[lane % 2]);
        }
    }
    if !rest.is_empty() {
        let values = values.add(length - rest.len());
        let square = square::<S, M, LANES>(values, length, count, rest.len());
        for lane in 0..LANES {
            if lane < rest.len() {
                let x = S::load(x.add(rest[lane] as usize), count);
                sums[lane % 2] = S::multiply_add(square[lane], x, sums[lane % 2]);
            }
        }
    }
    S::add(sums[0], sums[1])
}

/// As [`across`], of as many rows as lanes and no more columns.
///
/// # Safety
/// As for [`moved_sums`] with `count` equal to `LANES`; there are at most `LANES` columns.
#[inline(always)]
unsafe fn one_square<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
) -> S::Register {
    let square = square::<S, M, LANES>(values, columns.len(), LANES, columns.len());
    let mut sum = S::zero();
    for lane in 0..LANES {
        if lane < columns.len() {
            let x = S::load(x.add(columns[lane] as usize), LANES);
            sum = S::multiply_add(square[lane], x, sum);
        }
    }
    sum
}

/// The first `width` values of `count` rows of some `length`, row by lane.
///
/// # Safety
/// The host has the instructions of `S`; `width` is at most `LANES`. From `values` on there are `count` rows, `length`
/// apart, of at least `width` values.
#[inline(always)]
unsafe fn square<S: Simd, M: Scalar, const LANES: usize>(
    values: *const M,
    length: usize,
    count: usize,
    width: usize,
) -> [S::Register; LANES] {
    let mut square = [S::zero(); LANES];
    for row in 0..LANES {
        if row < count {
            let values = values.add(row * length);
            prefetch(values);
            square[row] = S::load(values, width);
        }
    }
    S::transpose(&mut square);
    square
}

/// Numbers of `x` that are copied at a time: whole registers and whole nodes of 2, 3 or 4.
const COPIED: usize = 192;

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// Groups of `SAME` rows that have their columns in common: what these bring is gathered once, or copied where they are
    /// `NODES` of that size.
    #[inline(always)]
    pub(super) unsafe fn together<
        S: Simd<Real = A>,
        const LANES: usize,
        const SAME: usize,
        const NODES: bool,
    >(
        &self,
        y: &mut [Y],
    ) {
        for (block, y) in y.chunks_mut(SAME * LANES).enumerate() {
            let first = self.first + block * SAME * LANES;
            let mut rows = [[S::zero(); LANES]; SAME];
            // A run ends with a whole group.
            for group in (0..y.len()).step_by(SAME) {
                let lanes = match NODES {
                    true => self.node_sums::<S, SAME>(first + group),
                    false => self.shared::<S, SAME>(first + group),
                };
                for (row, lanes) in (group..).zip(lanes) {
                    rows[row / LANES][row % LANES] = lanes;
                }
            }
            let mut sums = [[A::from_f64(0.0); LANES]; SAME];
            for (rows, sums) in rows.iter_mut().zip(&mut sums) {
                S::store(S::sums(rows), sums);
            }
            self.store(sums.as_flattened(), first, y);
        }
    }

    /// The products of `SAME` rows with the columns of the first of them, summed in the lanes of registers.
    #[inline(always)]
    unsafe fn shared<S: Simd<Real = A>, const SAME: usize>(
        &self,
        first: usize,
    ) -> [S::Register; SAME] {
        let (columns, values) = self.product.row(first);
        let (length, x) = (columns.len(), self.product.vectors.x.as_ptr());
        let mut sums = [S::zero(); SAME];
        let mut from = 0;
        while from < length {
            let count = S::LANES.min(length - from);
            let columns = columns.as_ptr().add(from);
            prefetch(columns);
            let x = S::gather(x, columns, count);
            // The rows are equally long, and their values follow each other.
            for (row, sum) in sums.iter_mut().enumerate() {
                let values = values.as_ptr().add(row * length + from);
                prefetch(values);
                *sum = S::multiply_add(S::load(values, count), x, *sum);
            }
            from += S::LANES;
        }
        sums
    }

    /// The products of the `SIZE` rows of a node, summed in the lanes of registers.
    #[inline(always)]
    unsafe fn node_sums<S: Simd<Real = A>, const SIZE: usize>(
        &self,
        first: usize,
    ) -> [S::Register; SIZE] {
        let product = self.product;
        let (columns, values) = product.row(first);
        let length = columns.len();
        let mut copied = [MaybeUninit::<X>::uninit(); COPIED];
        let x = copied.as_mut_ptr().cast::<X>();
        // `nodes` has the first column of every `SIZE`, from the place of the row over `SIZE * SIZE` on. What is loaded of
        // the copy was written before.
        let place = product.a.offsets.get_unchecked(first) / (SIZE * SIZE);
        let mut nodes = product.nodes.as_ptr().add(place);
        let mut sums = [S::zero(); SIZE];
        for start in (0..length).step_by(COPIED) {
            let count = COPIED.min(length - start);
            prefetch(nodes);
            for node in 0..count / SIZE {
                let from = product.vectors.x.as_ptr().add(*nodes.add(node) as usize);
                x.add(node * SIZE)
                    .cast::<[X; SIZE]>()
                    .write_unaligned(from.cast::<[X; SIZE]>().read_unaligned());
            }
            nodes = nodes.add(count / SIZE);
            let values = values.as_ptr().add(start);
            let whole = count / S::LANES * S::LANES;
            for from in (0..whole).step_by(S::LANES) {
                add::<S, M, X, SIZE>(values.add(from), length, x.add(from), S::LANES, &mut sums);
            }
            if whole < count {
                let (values, x) = (values.add(whole), x.add(whole));
                add::<S, M, X, SIZE>(values, length, x, count - whole, &mut sums);
            }
        }
        sums
    }
}

/// Adds the products of `count` columns.
///
/// # Safety
/// The host has the instructions of `S`. `x` points to `count` numbers, at most as many as there are lanes, and `values` to as many of the
/// first of `SIZE` rows that are `length` apart.
#[inline(always)]
unsafe fn add<S: Simd, M: Scalar, X: Scalar, const SIZE: usize>(
    values: *const M,
    length: usize,
    x: *const X,
    count: usize,
    sums: &mut [S::Register; SIZE],
) {
    let x = S::load(x, count);
    for (row, sum) in sums.iter_mut().enumerate() {
        let values = values.add(row * length);
        prefetch(values);
        *sum = S::multiply_add(S::load(values, count), x, *sum);
    }
}
