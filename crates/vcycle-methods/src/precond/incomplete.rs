//! Incomplete factors `L U` on one pattern, and the ways to solve with them.

use std::sync::Arc;

use num_traits::One;

use super::fixed_point::FixedPoint;
use super::isai;
use super::pattern::power_pattern;
use super::triangular::{Factors, entries_of, invert};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Product};
use crate::matrix::{Csr, Pattern};
use crate::operations::remark;
use crate::scalar::{Field, Mixes, Scalar};

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
            let pattern = power_pattern(triangle.pattern(), power);
            Ok(Arc::new(isai::fill(&triangle, pattern)?))
        };
        Ok(Arc::new(Product::new(vec![
            inverse(upper)?,
            inverse(lower)?,
        ])?))
    }
}

/// Both factors as they are made, row after row.
pub(super) struct FactorRows<A> {
    pub(super) offsets: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<A>,
    /// Where the diagonal entry of every row is.
    pub(super) diagonal: Vec<usize>,
}

impl<A: Field> FactorRows<A> {
    pub(super) fn new() -> Self {
        Self {
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            diagonal: Vec::new(),
        }
    }

    /// Adds an entry of the last row.
    pub(super) fn push(&mut self, column: u32, value: A) {
        if column as usize + 1 == self.offsets.len() {
            self.diagonal.push(self.columns.len());
        }
        self.columns.push(column);
        self.values.push(value);
    }

    /// Ends the last row.
    pub(super) fn end_row(&mut self) {
        self.offsets.push(self.columns.len());
    }

    /// `(L U)^-1`, in the place of a matrix.
    pub(super) fn operator<T: Mixes<T, T> + Scalar<Arith = A>>(
        self,
        component: &'static str,
        like: &Csr<T>,
        solves: Solves,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let (executor, size) = (like.executor(), like.size());
        let pattern = Pattern::new(executor, size, self.offsets, self.columns);
        let factors = Incomplete::<T> {
            component,
            pattern: &pattern,
            values: &self.values,
            diagonal: &self.diagonal,
        };
        factors.operator(solves, ws)
    }
}
