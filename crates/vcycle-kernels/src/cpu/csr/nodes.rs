//! Groups of rows with the same columns, as nodes of several unknowns have them. What columns of a node bring is copied, not gathered.

use std::mem::MaybeUninit;

use super::lanes::{Rows, prefetch};
use crate::cpu::stencil::Vectors;
use crate::scalar::Scalar;
use crate::simd::Simd;

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
            for (square, (rows, y)) in rows.iter_mut().zip(y.chunks_mut(LANES)).enumerate() {
                self.store::<S, LANES>((S::sums(rows), 0), first + square * LANES, y);
            }
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
