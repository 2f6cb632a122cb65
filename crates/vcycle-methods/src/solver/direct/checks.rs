//! Requirements of a matrix and of its factors.

use num_traits::Float;

use super::super::Numbers;
use crate::dense::norm;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::scalar::{Field, Real, RealOf};
use crate::vector::Vector;

/// Rounding errors of factors without a search for pivots that are refused, in units of the last place.
const GROWTH: f64 = 1e6;

/// What a solve with random numbers says of factors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quality {
    /// The condition number is at least that.
    condition: f64,
    /// The residual over the terms it is the sum of.
    residual: f64,
    unit: f64,
}

impl Quality {
    /// Of the inverse of a matrix.
    pub fn of<F: Field>(inverse: &dyn LinOp<F>, a: &Csr<F>, ws: &Workspace) -> Result<Self> {
        let unit = <RealOf<F> as Float>::epsilon().to_f64();
        let n = a.size().rows;
        if n == 0 {
            let (condition, residual) = (0.0, 0.0);
            return Ok(Self {
                condition,
                residual,
                unit,
            });
        }
        let mut numbers = Numbers(1);
        // As large as the rows are: how they are scaled does not count.
        let sizes = in_rows(a, |row| row_norm(a, row, |_| 1.0)).into_iter();
        let given: Vec<F> = sizes
            .map(|size| F::from_f64(size * numbers.next()))
            .collect();
        let bound = norm(&given);
        let b = Vector::from_column(inverse.executor(), given.clone());
        let mut x = Vector::<F>::zeros_like(&b)?;
        inverse.apply(&b, &mut x, ws)?;
        let solution = x.to_vec();
        let term = |column: usize| solution[column].modulus().to_f64();
        let terms = in_rows(a, |row| row_norm(a, row, term));
        let terms = norm(&terms);
        let residuals = in_rows(a, |row| given[row] - product(a, row, &solution));
        // Terms of A x so much larger than b prove a condition of at least that, and of all right-hand sides
        // one of random numbers shows the part of one in the root of their number.
        Ok(Self {
            condition: terms * (n as f64).sqrt() / bound,
            residual: norm(&residuals) / (terms + bound),
            unit,
        })
    }

    /// Fails if the factors cannot solve: a pivot was zero but for rounding.
    pub fn check_regular(&self) -> Result<()> {
        if self.condition < 0.1 / self.unit {
            return Ok(());
        }
        let reason = match self.condition.is_finite() {
            true => {
                format!(
                    "to working precision: its condition number is at least {:.0e}",
                    self.condition
                )
            }
            false => "a pivot of its factors is zero".to_owned(),
        };
        Err(Error::Singular {
            component: "direct",
            reason,
        })
    }

    /// Whether the factors are those of a regular matrix up to rounding errors that have not grown much.
    pub fn is_good(&self) -> bool {
        self.condition < 0.1 / self.unit && self.residual < GROWTH * self.unit
    }
}

/// The relative residual of a system that has a solution, one of random numbers.
pub(super) fn solution_error<F: Field>(
    inverse: &dyn LinOp<F>,
    a: &Csr<F>,
    ws: &Workspace,
) -> Result<f64> {
    let mut numbers = Numbers(2);
    let n = a.size().rows;
    let known: Vec<F> = (0..n).map(|_| F::from_f64(numbers.next())).collect();
    let given: Vec<F> = in_rows(a, |row| product(a, row, &known));
    let b = Vector::from_column(inverse.executor(), given.clone());
    let mut x = Vector::<F>::zeros_like(&b)?;
    inverse.apply(&b, &mut x, ws)?;
    let solution = x.to_vec();
    let residuals = in_rows(a, |row| given[row] - product(a, row, &solution));
    Ok(norm(&residuals) / norm(&given).max(f64::MIN_POSITIVE))
}

/// Fails for a row or column without entries.
pub(super) fn check_no_empty_line<F: Field>(a: &Csr<F>) -> Result<()> {
    let n = a.size().rows;
    let mut used = vec![false; n];
    let is_entry = |value: &F| !value.is_zero();
    let empty = |line: &str, index: usize| Error::Singular {
        component: "direct",
        reason: format!("{line} {index} has no entry other than zero"),
    };
    for row in 0..n {
        let (columns, values) = a.row(row);
        if !values.iter().any(is_entry) {
            return Err(empty("row", row));
        }
        for (&column, _) in columns
            .iter()
            .zip(values)
            .filter(|(_, value)| is_entry(value))
        {
            used[column as usize] = true;
        }
    }
    match used.iter().position(|used| !used) {
        None => Ok(()),
        Some(column) => Err(empty("column", column)),
    }
}

/// What is found for every row, on the threads of the matrix.
fn in_rows<F: Field, R: Clone + Send>(
    a: &Csr<F>,
    of_row: impl Fn(usize) -> R + Sync + Send,
) -> Vec<R> {
    let pieces = a.map_pieces(|rows| rows.map(&of_row).collect::<Vec<R>>());
    pieces.concat()
}

/// The norm of the terms of `A x` in a row.
fn row_norm<F: Field>(a: &Csr<F>, row: usize, x: impl Fn(usize) -> f64) -> f64 {
    let (columns, values) = a.row(row);
    let terms = columns.iter().zip(values);
    let square =
        |(&column, value): (&u32, &F)| (value.modulus().to_f64() * x(column as usize)).powi(2);
    terms.map(square).sum::<f64>().sqrt()
}

/// A row of `A x`.
fn product<F: Field>(a: &Csr<F>, row: usize, x: &[F]) -> F {
    let (columns, values) = a.row(row);
    let terms = columns.iter().zip(values);
    terms
        .map(|(&column, &value)| value * x[column as usize])
        .sum()
}
