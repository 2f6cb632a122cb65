//! Incomplete factors that all entries approach at once.

use num_traits::{Float, One, Zero};

use super::ic::factorise_shifted;
use super::ilu::in_order;
use super::rounding;
use crate::matrix::{balance, fill_rows, fill_rows_with};
use crate::operations::factor::{Factorisation, Sweeping};
use crate::operations::{self, remark};
use crate::prelude::*;
use crate::scalar::RealOf;

/// A column in which a row has no entry.
const NOWHERE: usize = usize::MAX;

/// Factors on the pattern of a matrix `a`, or of its lower triangle, that all entries approach at once.
///
/// What is swept is `F = (L - I) D + U` with the diagonal `D` of `U`, or `F = L D^(1/2)` with the squares `D` of the diagonal of `L`.
pub(super) struct Sweeper<'a, T: Scalar> {
    pub(super) component: &'static str,
    pub(super) factorisation: Factorisation,
    pub(super) a: &'a Csr<T>,
    pub(super) diagonal: &'a [usize],
}

impl<T: Scalar> Sweeper<'_, T> {
    /// The factors after `sweeps` sweeps from `start`, or from the matrix itself; those made row after row where one of them
    /// enlarges the residual.
    pub(super) fn factors(
        &self,
        start: Option<Vec<T::Arith>>,
        sweeps: usize,
        ws: &Workspace,
    ) -> Result<Vec<T::Arith>> {
        let _factors = ws.stage("factors", 0);
        if let Some(values) = self.swept(start, sweeps)? {
            return Ok(values);
        }
        let exact = match self.factorisation {
            Factorisation::Lu => "ilu0",
            Factorisation::Cholesky => "ic0",
        };
        let component = self.component;
        remark(format!(
            "{component}: the sweeps diverge; the factors are those of {exact} on its pattern"
        ));
        self.in_order()
    }

    /// The factors after so many sweeps; none where one of them enlarges the residual or a pivot is not positive.
    pub(super) fn swept(
        &self,
        mut start: Option<Vec<T::Arith>>,
        sweeps: usize,
    ) -> Result<Option<Vec<T::Arith>>> {
        let (a, diagonal) = (self.a, self.diagonal);
        let sweeping = Sweeping {
            factorisation: self.factorisation,
            sweeps,
            exact: exact(T::KIND),
        };
        if let Some(found) = operations::factor::swept(a, diagonal, &mut start, sweeping)? {
            return Ok(found);
        }
        let start = start.unwrap_or_else(|| a.values().iter().map(|value| value.load()).collect());
        let found = self.fixed_point(start, sweeps);
        Ok(found.and_then(|values| self.divided(values)))
    }

    /// `F` after so many sweeps; none where one of them enlarges the residual.
    pub(super) fn fixed_point(&self, start: Vec<T::Arith>, sweeps: usize) -> Option<Vec<T::Arith>> {
        let (a, diagonal) = (self.a, self.diagonal);
        let sweep = |old: &[T::Arith], new: &mut [T::Arith]| match self.factorisation {
            Factorisation::Lu => sweep_lu(a, diagonal, old, new),
            Factorisation::Cholesky => sweep_cholesky(a, diagonal, old, new),
        };
        let distance = |x: &[T::Arith], y: &[T::Arith]| distance(a, diagonal, x, y);
        guarded(start, sweeps, exact(T::KIND), sweep, distance)
    }

    /// The factors from `F`; none where the pivots of a Cholesky factor are not positive.
    fn divided(&self, mut values: Vec<T::Arith>) -> Option<Vec<T::Arith>> {
        let pivot = |&place: &usize| values[place];
        let divisors: Option<Vec<T::Arith>> = match self.factorisation {
            Factorisation::Lu => Some(self.diagonal.iter().map(pivot).collect()),
            Factorisation::Cholesky => {
                let root = |place| {
                    let pivot = pivot(place).real();
                    (pivot > RealOf::<T>::default()).then(|| T::Arith::from_real(pivot.sqrt()))
                };
                self.diagonal.iter().map(root).collect()
            }
        };
        let (a, divisors) = (self.a, divisors?);
        fill_rows(a.executor(), a.offsets(), &mut values, |row, values| {
            for (value, place) in values.iter_mut().zip(self.scaled(row)) {
                *value /= divisors[a.columns()[place] as usize];
            }
        });
        Some(values)
    }

    /// `F` of the factors that are made row after row.
    pub(super) fn exact_fixed_point(&self) -> Result<Vec<T::Arith>> {
        let mut values = self.in_order()?;
        let pivots: Vec<T::Arith> = self.diagonal.iter().map(|&place| values[place]).collect();
        for row in 0..self.diagonal.len() {
            for place in self.scaled(row) {
                values[place] *= pivots[self.a.columns()[place] as usize];
            }
        }
        Ok(values)
    }

    /// The entries of a row that the diagonal of their column scales in `F`.
    fn scaled(&self, row: usize) -> std::ops::Range<usize> {
        let own = self.a.pattern().range(row);
        match self.factorisation {
            Factorisation::Lu => own.start..self.diagonal[row],
            Factorisation::Cholesky => own,
        }
    }

    /// The factors row after row; Cholesky's with a shift where it needs one.
    fn in_order(&self) -> Result<Vec<T::Arith>> {
        match self.factorisation {
            Factorisation::Lu => in_order(self.a, self.diagonal),
            Factorisation::Cholesky => {
                Ok(factorise_shifted(self.component, self.a, self.diagonal, 0.0)?.0)
            }
        }
    }
}

/// The part of the norm of a matrix that counts as rounding in residuals of its factors.
pub(super) fn exact(kind: Kind) -> f64 {
    64.0 * rounding(kind)
}

/// `sweeps` sweeps from `values`; none where one of them enlarges the residual. What is not larger than the `exact` part of the
/// start may grow.
fn guarded<A: Field>(
    mut values: Vec<A>,
    sweeps: usize,
    exact: f64,
    sweep: impl Fn(&[A], &mut [A]),
    distance: impl Fn(&[A], &[A]) -> f64,
) -> Option<Vec<A>> {
    let mut next = vec![A::zero(); values.len()];
    let exact = exact * distance(&values, &next);
    let mut least = f64::INFINITY;
    // What a sweep changes is the residual of what it starts from: one more is made to see that of the last.
    for done in 0..=sweeps {
        sweep(&values, &mut next);
        let residual = distance(&values, &next);
        if !(residual < least || residual <= exact) {
            return None;
        }
        if done < sweeps {
            std::mem::swap(&mut values, &mut next);
        }
        least = residual;
    }
    Some(values)
}

/// One sweep for `(L - I) D + U`, from `old` to `new`.
fn sweep_lu<T: Scalar>(a: &Csr<T>, diagonal: &[usize], old: &[T::Arith], new: &mut [T::Arith]) {
    let (pattern, columns) = (a.pattern(), a.columns());
    let invert = |&place: &usize| T::Arith::one() / old[place];
    let inverse: Vec<T::Arith> = diagonal.iter().map(invert).collect();
    // Where the current row has its entry of each column.
    let places = || vec![NOWHERE; diagonal.len()];
    let of_row = |places: &mut Vec<usize>, row: usize, new: &mut [T::Arith]| {
        let own = pattern.range(row);
        for (at, place) in own.clone().enumerate() {
            places[columns[place] as usize] = at;
            new[at] = a.values()[place].load();
        }
        for left in own.start..diagonal[row] {
            let above = columns[left] as usize;
            let factor = old[left] * inverse[above];
            for other in diagonal[above] + 1..pattern.range(above).end {
                let at = places[columns[other] as usize];
                if at != NOWHERE {
                    new[at] -= factor * old[other];
                }
            }
        }
        own.for_each(|place| places[columns[place] as usize] = NOWHERE);
        Ok(())
    };
    let bounds = balance(diagonal.len(), |row| a.offsets()[row] + row);
    fill_rows_with(a.executor(), a.offsets(), &bounds, new, places, of_row)
        .expect("work that cannot fail");
}

/// One sweep for `L D^(1/2)`, from `old` to `new`.
fn sweep_cholesky<T: Scalar>(
    a: &Csr<T>,
    diagonal: &[usize],
    old: &[T::Arith],
    new: &mut [T::Arith],
) {
    let invert = |&place: &usize| T::Arith::one() / old[place];
    let inverse: Vec<T::Arith> = diagonal.iter().map(invert).collect();
    let (pattern, columns) = (a.pattern(), a.columns());
    // What the current row has in each column, over the pivot.
    let scratch = || vec![T::Arith::zero(); diagonal.len()];
    let of_row = |left: &mut Vec<T::Arith>, row: usize, new: &mut [T::Arith]| {
        for place in pattern.range(row) {
            let column = columns[place] as usize;
            left[column] = old[place] * inverse[column];
        }
        for (place, value) in pattern.range(row).zip(new) {
            let column = columns[place] as usize;
            let mut sum = a.values()[place].load();
            for other in pattern.range(column).start..diagonal[column] {
                sum -= left[columns[other] as usize] * Field::conj(old[other]);
            }
            *value = sum;
        }
        pattern
            .range(row)
            .for_each(|place| left[columns[place] as usize] = T::Arith::zero());
        Ok(())
    };
    let bounds = balance(diagonal.len(), |row| a.offsets()[row] + row);
    fill_rows_with(a.executor(), a.offsets(), &bounds, new, scratch, of_row)
        .expect("work that cannot fail");
}

/// The norm of a difference of values on the pattern of `a`, which is scaled to a unit diagonal for that.
fn distance<T: Scalar>(a: &Csr<T>, diagonal: &[usize], x: &[T::Arith], y: &[T::Arith]) -> f64 {
    let size = |&place: &usize| a.values()[place].load().modulus_squared().to_f64().sqrt();
    let scale: Vec<f64> = diagonal.iter().map(size).collect();
    let of_rows = |ends: &[usize]| {
        let mut sum = 0.0;
        for row in ends[0]..ends[1] {
            for place in a.pattern().range(row) {
                let part = (x[place] - y[place]).modulus_squared().to_f64();
                sum += part / (scale[row] * scale[a.columns()[place] as usize]);
            }
        }
        sum
    };
    let bounds = balance(diagonal.len(), |row| a.offsets()[row] + row);
    let sums: Vec<f64> = (a.executor()).run(size_of_val(x), bounds.windows(2).collect(), of_rows);
    sums.into_iter().sum::<f64>().sqrt()
}
