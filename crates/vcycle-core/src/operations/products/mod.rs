//! Matrices made of matrices: transposes, products, unions of patterns. Each says nothing on the host.

mod blocks;
mod factors;
mod grouped;
mod merged;
mod tables;
mod transpose;
mod words;

use std::sync::OnceLock;

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::gpu::kernels::union;

pub(crate) use self::factors::{Factors, are_plain};
use self::grouped::{Classes, Grouped};
pub(crate) use self::tables::Product;
use self::words::are_long;
use crate::launch::prelude::*;

compiled_fn! {
    /// The transpose of a matrix whose rows can be numbered.
    pub(crate) fn transpose[any T: Scalar](a: &Csr<T>) -> Result<Option<Csr<T>>> {
        on_device(a.executor(), |queue| queue.transpose(a))
    }
}

compiled_fn! {
    /// The conjugate transpose of a complex matrix whose rows can be numbered.
    pub(crate) fn adjoint[any T: Scalar](a: &Csr<T>) -> Result<Option<Csr<T>>> {
        on_device(a.executor(), |queue| queue.adjoint(a))
    }
}

/// The transpose of a pattern whose rows can be numbered.
pub(crate) fn transpose_pattern(a: &Pattern) -> Result<Option<Pattern>> {
    on_device(a.executor(), |queue| queue.transpose_pattern(a))
}

/// The positions of two patterns.
pub(crate) fn union(a: &Pattern, b: &Pattern) -> Result<Option<Pattern>> {
    on_device(a.executor(), |queue| queue.union(a, b))
}

/// `A B`.
pub(crate) fn multiply<T: Scalar>(a: &Csr<T>, b: &Csr<T>) -> Result<Option<Csr<T>>> {
    on_device(a.executor(), |queue| queue.multiply(a, b))
}

/// The same in tiles of 4 by 4.
pub(crate) fn multiply_in_tiles<T: Scalar>(a: &Csr<T>, b: &Csr<T>) -> Result<Option<Csr<T>>> {
    on_device(a.executor(), |queue| queue.multiply_in_tiles(a, b))
}

/// Where the entries of `A B` stand.
pub(crate) fn product_pattern(a: &Pattern, b: &Pattern) -> Result<Option<Pattern>> {
    on_device(a.executor(), |queue| Product::new(queue, a, b)?.symbolic())
}

/// The values of `A B`, whose pattern is known, with what is known of the patterns of both.
pub(crate) fn product_values<T: Scalar>(
    patterns: (&Pattern, &Pattern),
    (a, b): (&Csr<T>, &Csr<T>),
    product: &Pattern,
) -> Result<Option<Buffer<T>>> {
    on_device(product.executor(), |queue| {
        Product::new(queue, patterns.0, patterns.1)?.numeric(Factors::of(a, b), product)
    })
}

/// `R A P`.
pub(crate) fn galerkin<T: Scalar>(r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Option<Csr<T>>> {
    on_device(r.executor(), |queue| queue.galerkin(r, a, p))
}

/// Whether every row of a pattern has one entry.
pub(crate) fn has_single_entries(p: &Pattern) -> Result<Option<bool>> {
    on_device(p.executor(), |queue| p.has_single_entries(&queue))
}

/// Where the entries of `R A P` stand, for `P` with one entry a row.
pub(crate) fn fused_pattern(r: &Pattern, a: &Pattern, p: &Pattern) -> Result<Option<Pattern>> {
    on_device(r.executor(), |queue| {
        Product::fused(queue, r, a, p)?.symbolic()
    })
}

/// What is kept of a product between its renewals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(OnceLock<Option<Classes>>);

/// The values of `R A P`, whose pattern is known, with what is known of the patterns of all three; for `P` with one
/// entry a row.
pub(crate) fn fused_values<T: Scalar>(
    known: &Kept,
    patterns: (&Pattern, &Pattern, &Pattern),
    (r, a, p): (&Csr<T>, &Csr<T>, &Csr<T>),
    coarse: &Pattern,
) -> Result<Option<Buffer<T>>> {
    on_device(coarse.executor(), |queue| {
        let grouped = Grouped { queue, r, a, p };
        if let Some(classes) = kept(&known.0, || grouped.classes())? {
            return grouped.renewed(classes, coarse);
        }
        let product = Product::fused(queue, patterns.0, patterns.1, patterns.2)?;
        let (a, b, p) = (r, a, Some(p));
        product.numeric(Factors { a, b, p }, coarse)
    })
}

impl Queue<'_> {
    /// `A B`, in blocks where the device is known to multiply in such with both.
    pub(crate) fn multiply<T: Scalar>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>> {
        if let Some(product) = self.multiply_blocks(a, b)? {
            return Ok(product);
        }
        let product = Product::new(*self, a.pattern(), b.pattern())?;
        product.whole(Factors::of(a, b), true)
    }

    /// `R (A P)`, in blocks as [`multiply`](Self::multiply); what is in between is sorted where merging or words do that.
    fn triple<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        if let Some(product) = self.triple_blocks(r, a, p)? {
            return Ok(product);
        }
        let right = Product::new(*self, a.pattern(), p.pattern())?;
        let is_sorted = are_long(a.pattern(), p.pattern());
        let ap: Csr<T> = right.whole(Factors::of(a, p), is_sorted)?;
        let left = match is_sorted || right.merged_for_values().is_some() {
            true => Product::new(*self, r.pattern(), ap.pattern())?,
            false => Product::by_tables(*self, r.pattern(), ap.pattern())?,
        };
        left.whole(Factors::of(r, &ap), true)
    }

    /// `R A P`, without `A P` where `P` has one entry a row.
    pub(crate) fn galerkin<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        if !p.pattern().has_single_entries(self)? {
            return self.triple(r, a, p);
        }
        let queue = *self;
        if let Some(product) = (Grouped { queue, r, a, p }).product()? {
            return Ok(product);
        }
        let product = Product::fused(queue, r.pattern(), a.pattern(), p.pattern())?;
        let (a, b, p) = (r, a, Some(p));
        product.whole(Factors { a, b, p }, true)
    }

    /// The positions of either of two patterns of equal size.
    pub(crate) fn union(&self, a: &Pattern, b: &Pattern) -> Result<Pattern> {
        let rows = a.size().rows;
        let mut counts = self.uninit(rows)?;
        union::union_count(rows, a, b, &mut counts)?.items(self, rows)?;
        self.new_pattern(a.size(), &counts, |out| {
            union::union_fill(rows, a, b, out)?.items(self, rows)
        })
    }
}
