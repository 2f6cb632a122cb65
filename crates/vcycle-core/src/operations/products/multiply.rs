//! Products of matrices, in the way that suits them.

use crate::arrays::Csr;
use crate::error::Result;
use crate::launch::Queue;
use crate::operations::products::factors::Factors;
use crate::operations::products::grouped::Grouped;
use crate::operations::products::tables::Product;
use crate::operations::products::words::are_long;
use crate::scalar::Scalar;

impl Queue<'_> {
    /// `A B`, in blocks where the device is known to multiply in such with both.
    pub(crate) fn multiply<T: Scalar>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>> {
        if let Some(product) = self.multiply_blocks(a, b)? {
            return Ok(product);
        }
        let product = Product::new(*self, a.pattern(), b.pattern())?;
        product.whole(Factors { a, b, p: None }, true)
    }

    /// `R (A P)`, in blocks as [`multiply`](Self::multiply); what is in between is sorted where merging or words do that.
    fn triple<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        if let Some(product) = self.triple_blocks(r, a, p)? {
            return Ok(product);
        }
        let right = Product::new(*self, a.pattern(), p.pattern())?;
        let is_sorted = are_long(a.pattern(), p.pattern());
        let ap: Csr<T> = right.whole(Factors { a, b: p, p: None }, is_sorted)?;
        let left = match is_sorted || right.merged_for_values().is_some() {
            true => Product::new(*self, r.pattern(), ap.pattern())?,
            false => Product::by_tables(*self, r.pattern(), ap.pattern())?,
        };
        let (a, b, p) = (r, &ap, None);
        left.whole(Factors { a, b, p }, true)
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
}
