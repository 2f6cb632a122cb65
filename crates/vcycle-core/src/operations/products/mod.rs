//! Matrices made of matrices: transposes, products, unions of patterns. Each says nothing on the host.

mod blocks;
mod factors;
mod grouped;
mod merged;
mod multiply;
mod tables;
mod tiles;
mod transpose;
mod union;
mod words;

use std::sync::OnceLock;

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::scalar::Scalar;

pub(crate) use self::factors::Factors;
use self::grouped::{Classes, Grouped};
pub(crate) use self::tables::Product;

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
        let factors = Factors { a, b, p: None };
        Product::new(queue, patterns.0, patterns.1)?.numeric(factors, product)
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
    kept: &Kept,
    patterns: (&Pattern, &Pattern, &Pattern),
    (r, a, p): (&Csr<T>, &Csr<T>, &Csr<T>),
    coarse: &Pattern,
) -> Result<Option<Buffer<T>>> {
    on_device(coarse.executor(), |queue| {
        let grouped = Grouped { queue, r, a, p };
        if kept.0.get().is_none() {
            // Where two threads come here at once both have found the same.
            let _ = kept.0.set(grouped.classes()?);
        }
        if let Some(Some(classes)) = kept.0.get() {
            return grouped.renewed(classes, coarse);
        }
        let product = Product::fused(queue, patterns.0, patterns.1, patterns.2)?;
        let (a, b, p) = (r, a, Some(p));
        product.numeric(Factors { a, b, p }, coarse)
    })
}
