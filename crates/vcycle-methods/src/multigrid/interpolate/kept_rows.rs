//! The rows of a matrix whose weak entries are added to its diagonal.

use num_traits::Zero;

use crate::prelude::*;
use crate::reference::csr::CsrArrays;

/// The diagonal entry of a row of `A_F`, and the sum of all absolute values over that of its own.
#[derive(Clone, Copy, Default)]
pub(super) struct Pivot<V> {
    pub own: V,
    pub row_sum: f64,
}

/// The rows of `A` and of the filter.
pub(super) struct KeptRows<'a, V: Field> {
    pub a: CsrArrays<'a, V>,
    filter: Option<(&'a [usize], &'a [u32])>,
}

impl<'a, V: Field> KeptRows<'a, V> {
    pub fn new(a: &'a Csr<V>, filter: Option<&'a Pattern>) -> Self {
        Self {
            a: a.at_hand(),
            filter: filter.map(|filter| (filter.offsets(), filter.columns())),
        }
    }

    /// `visit(column, value of A)` for the entries of a row that are kept, those of the diagonal
    /// included; returns the sum of the others.
    #[inline(always)]
    pub fn for_each(&self, row: usize, mut visit: impl FnMut(usize, V)) -> V {
        let (columns, values) = self.a.row(row);
        // One place that visits: a function that is called in two is not inlined.
        let all = self.filter.is_none();
        let strong = self.filter.map_or(&[][..], |(offsets, columns)| {
            &columns[offsets[row]..offsets[row + 1]]
        });
        let (mut next, mut left_out) = (0, V::zero());
        for (at, &column) in columns.iter().enumerate() {
            while next < strong.len() && strong[next] < column {
                next += 1;
            }
            let is_strong = all || (next < strong.len() && strong[next] == column);
            if is_strong || column as usize == row {
                visit(column as usize, values[at]);
            } else {
                left_out += values[at];
            }
        }
        left_out
    }

    #[inline(always)]
    pub fn pivot(&self, row: usize) -> Pivot<V> {
        let (mut own, mut beside) = (V::zero(), 0.0);
        let left_out = self.for_each(row, |column, value| match column == row {
            true => own = value,
            false => beside += value.modulus().to_f64(),
        });
        let own = match ((own + left_out) * own.conj()).real() > V::Real::zero() {
            true => own + left_out,
            false => own,
        };
        Pivot {
            own,
            row_sum: 1.0 + beside / own.modulus().to_f64(),
        }
    }
}
