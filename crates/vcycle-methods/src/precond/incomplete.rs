//! Incomplete factors `L U` on one pattern, and the ways to solve with them.

use std::sync::Arc;

use num_traits::One;

use super::fixed_point::FixedPoint;
use super::isai;
use super::pattern::power_pattern;
use super::triangular::{Factors, invert};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Product};
use crate::matrix::{Csr, Pattern};
use crate::operations::remark;
use crate::scalar::{Mixes, Scalar};

/// `L` with a unit diagonal and `U`, whose entries lie side by side on one pattern.
pub(super) struct Incomplete<'a, T: Scalar> {
    /// Who made them.
    pub(super) component: &'static str,
    pub(super) pattern: &'a Pattern,
    pub(super) values: &'a [T::Arith],
    /// Where the diagonal entry of every row is.
    pub(super) diagonal: &'a [usize],
}

/// How to solve with triangular factors: by substitution, or by so many sweeps, or by approximate inverses on that power of
/// the pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solves {
    pub(super) sweeps: usize,
    pub(super) isai: usize,
}

impl<T: Mixes<T, T>> Incomplete<'_, T> {
    /// `(L U)^-1`.
    ///
    /// # Errors
    /// When a pivot is zero or not finite, and for two ways to solve at once.
    pub(super) fn operator(&self, solves: Solves, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        match (solves.sweeps, solves.isai) {
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
        Factors::unit_lower(self.component, self.pattern, self.values, self.diagonal)
    }

    fn by_sweeps(&self, sweeps: usize, ws: &Workspace) -> Result<Option<Arc<dyn LinOp<T>>>> {
        let factors = (self.values, self.diagonal);
        FixedPoint::unit_lower(self.component, self.pattern, factors, sweeps, ws)
    }

    /// Incomplete sparse approximate inverses of both factors.
    fn by_inverses(&self, power: usize) -> Result<Arc<dyn LinOp<T>>> {
        let pivots = self.diagonal.iter().map(|&place| self.values[place]);
        invert(self.component, pivots.collect())?;
        let one = T::store(T::Arith::one());
        let upper = self.triangle(|row, column| column >= row, |_, place| self.value(place));
        let lower = self.triangle(
            |row, column| column <= row,
            |row, place| match place == self.diagonal[row] {
                true => one,
                false => self.value(place),
            },
        );
        let inverse = |triangle: Csr<T>| -> Result<Arc<dyn LinOp<T>>> {
            let pattern = power_pattern(&triangle, power);
            Ok(Arc::new(isai::fill(&triangle, pattern)?))
        };
        Ok(Arc::new(Product::new(vec![
            inverse(upper)?,
            inverse(lower)?,
        ])?))
    }

    fn value(&self, place: usize) -> T {
        T::store(self.values[place])
    }

    fn triangle(
        &self,
        holds: impl Fn(usize, usize) -> bool,
        value: impl Fn(usize, usize) -> T,
    ) -> Csr<T> {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.pattern.size().rows {
            for place in self.pattern.range(row) {
                let column = self.pattern.columns()[place];
                if holds(row, column as usize) {
                    columns.push(column);
                    values.push(value(row, place));
                }
            }
            offsets.push(columns.len());
        }
        let pattern = self.pattern;
        Csr::from_canonical(pattern.executor(), pattern.size(), offsets, columns, values)
    }
}
