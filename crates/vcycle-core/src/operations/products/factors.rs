//! The factors of a product, as kernels take them.

use crate::launch::prelude::*;
use crate::scalar::Element;

/// `A B`, or `A B P` with a `P` that has one entry a row.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'f, T> {
    pub a: &'f Csr<T>,
    pub b: &'f Csr<T>,
    pub p: Option<&'f Csr<T>>,
}

impl<'f, T: Scalar> Factors<'f, T> {
    pub(crate) fn of(a: &'f Csr<T>, b: &'f Csr<T>) -> Self {
        Self { a, b, p: None }
    }

    /// What `FACTORS` of `kernels/products.c` stands for: the values of each.
    pub(super) fn values(&self) -> Result<(Read<T>, Read<T>, Read<T>)> {
        let of = |of: &Csr<T>| of.values_buffer().pointer();
        Ok((
            of(self.a)?,
            of(self.b)?,
            self.p.map(Csr::values_buffer).pass()?,
        ))
    }
}

/// The type that values are added in.
pub(super) fn sums_in<T: Scalar>() -> Define {
    ("ACC", T::Arith::NAME)
}

/// Whether values of a type may be summed by words of columns, and in blocks.
pub(crate) fn are_plain<T: Scalar>() -> bool {
    T::KIND == T::Arith::KIND && !T::KIND.is_complex()
}
