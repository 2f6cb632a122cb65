//! Incomplete factors `L U` on one pattern, and how to solve with them.

use num_traits::One;

use super::fixed_point::FixedPoint;
use super::isai;
use super::order::Side;
use super::power::power_pattern;
use super::triangular::{entries_of, invert, unit_lower};
use crate::linop::Product;
use crate::operations::remark;
use crate::prelude::*;

/// `L` with a unit diagonal and `U`, whose entries lie side by side on one pattern.
pub(super) struct Incomplete<'a, T: Scalar> {
    /// The component that made them.
    pub(super) component: &'static str,
    pub(super) pattern: &'a Pattern,
    pub(super) values: &'a [T::Arith],
    /// Where the diagonal entry of every row is.
    pub(super) diagonal: &'a [usize],
}

impl<T: Mixes<T, T>> Incomplete<'_, T> {
    /// `(L U)^-1`, solved with by substitution, by so many sweeps, or by approximate inverses on that power (`isai`) of the pattern.
    pub(super) fn operator(
        &self,
        (sweeps, isai): (usize, usize),
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        match (sweeps, isai) {
            (0, 0) => {}
            (0, power) => return self.by_inverses(power),
            (sweeps, 0) => {
                if let Some(sweeping) = self.by_sweeps(sweeps, ws)? {
                    return Ok(sweeping);
                }
                remark(format!(
                    "{}: {sweeps} sweeps are far from a triangular solve; it is done by substitution",
                    self.component
                ));
            }
            _ => {
                return Err(Error::bad_parameter(
                    "isai",
                    "choose sweeps or isai for the triangular solves, not both",
                ));
            }
        }
        unit_lower(self.component, self.pattern, self.values, self.diagonal)
    }

    /// So many sweeps for each factor; none where the sweeps are of no use.
    fn by_sweeps(&self, sweeps: usize, ws: &Workspace) -> Result<Option<Arc<dyn LinOp<T>>>> {
        let pivots = self.diagonal.iter().map(|&place| self.values[place]);
        let ones = vec![T::Arith::one(); self.diagonal.len()];
        let factor = |side, diagonal| {
            let entries = (self.pattern, self.values);
            FixedPoint::<T>::new(self.component, entries, (side, diagonal), sweeps)
        };
        let upper = factor(Side::Upper, pivots.collect())?;
        let lower = factor(Side::Lower, ones)?;
        if !(upper.is_of_use(ws)? && lower.is_of_use(ws)?) {
            return Ok(None);
        }
        Ok(Some(Arc::new(Product::new(vec![
            Arc::new(upper),
            Arc::new(lower),
        ])?)))
    }

    /// Incomplete sparse approximate inverses of both factors.
    fn by_inverses(&self, power: usize) -> Result<Arc<dyn LinOp<T>>> {
        let pivots = self.diagonal.iter().map(|&place| self.values[place]);
        invert(self.component, pivots.collect())?;
        let is_upper = |row: usize, place| place >= self.diagonal[row];
        let upper = entries_of(self.pattern, is_upper, |_, place| self.values[place]);
        let is_lower = |row: usize, place| place <= self.diagonal[row];
        let lower = entries_of(self.pattern, is_lower, |row, place| {
            match place == self.diagonal[row] {
                true => T::Arith::one(),
                false => self.values[place],
            }
        });
        let inverse = |triangle: Csr<T>| -> Result<Arc<dyn LinOp<T>>> {
            let pattern = power_pattern(triangle.pattern(), power)?;
            Ok(Arc::new(isai::fill(&triangle, &pattern)?))
        };
        Ok(Arc::new(Product::new(vec![
            inverse(upper)?,
            inverse(lower)?,
        ])?))
    }
}
