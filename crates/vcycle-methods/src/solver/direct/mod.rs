//! Sparse direct factorisation.

#[cfg(test)]
mod tests;

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use num_traits::{Float, Zero};
use vcycle_direct::{Factors, Failure, Memory, Number, Rows, System};

use super::random::Numbers;
use crate::error::{Error, Result};
use crate::executor::{Executor, Pooled, Workspace};
use crate::linop::{
    Factory, Footprint, LinOp, Size, Transpose, check_apply, check_square, entries,
};
use crate::matrix::Csr;
use crate::registration::{Component, Need, Registration, Symmetry, preconditioner};
use crate::scalar::{Field, Kind, Real, RealOf, Scalar, c64, convert};
use crate::vector::Vector;

/// A sparse direct factorisation as an operator: `x = A^-1 b` up to rounding.
///
/// Hermitian matrices are factorised by Cholesky with an approximate minimum degree ordering;
/// others, and those that turn out not to be positive definite, by LU with column ordering and
/// partial pivoting. The work is done by the crate `faer`, on the threads of the executor, in double precision
/// whatever the matrix is stored in.
///
/// **Choose it** for systems small enough, or thin enough, for the factors to fit in memory, and
/// for the coarsest level of multigrid. As the preconditioner of [`Ir`](super::Ir) it is a
/// direct solver with refinement.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, vector::Vector};
/// use vcycle::solver::{Direct, Ir, Solver};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, -2.0, 4.0]));
/// let solver = Solver::<f64>::new(Ir::default(), a)?.preconditioned_by(&Direct::default())?;
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// assert_eq!(solver.solve(&b, &mut x)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Direct {}

impl Component for Direct {
    const REGISTRATION: Registration = Registration {
        name: "direct",
        summary: "A factorisation, refined.",
        after_colon: &[],
        needs: &[Need::Entries, Need::Host],
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }
}

preconditioner!(Direct);

impl<T: Scalar> Factory<T> for Direct {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("direct set-up", 0);
        check_square(a.as_ref(), "direct")?;
        if a.executor().is_device() {
            return Err(a.executor().lacks("direct", "the factorisation"));
        }
        let a = entries(a.as_ref(), "direct")?;
        // Constants: only one of the ways is compiled for a type.
        if const { matches!(T::KIND, Kind::F64 | Kind::F32) } {
            Ok(Arc::new(Factorised::<f64>::new(&a, ws)?))
        } else if const { T::KIND.is_complex() } {
            Ok(Arc::new(Factorised::<c64>::new(&a, ws)?))
        } else {
            Err(Error::Unsupported {
                component: "direct".to_owned(),
                operation: format!("the factorisation of {} matrices", T::KIND),
            })
        }
    }
}

/// The factors of a matrix.
struct Factorised<F> {
    executor: Executor,
    n: usize,
    factors: Box<dyn Factors<F>>,
    bytes: usize,
}

impl<F> Debug for Factorised<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let method = self.factors.method();
        write!(f, "direct solver ({method}, {} rows)", self.n)
    }
}

impl<F: Field + Number> Factorised<F> {
    fn new<T: Scalar>(a: &Csr<T>, ws: &Workspace) -> Result<Self> {
        a.check_finite()?;
        check_no_empty_line(a)?;
        let values: Vec<F> = a.values().iter().map(|&value| convert(value)).collect();
        let columns: Vec<usize> = a.columns().iter().map(|&column| column as usize).collect();
        let n = a.size().rows;
        let rows = Rows {
            offsets: a.offsets(),
            columns: &columns,
            values: &values,
            hermitian: is_hermitian(a),
            memory: a.executor().available_memory(),
        };
        let factors = on_threads(a.executor(), |threads| F::factorise(rows, threads))
            .map_err(|failure| told(failure, a))?;
        let factorised = Self {
            executor: a.executor().clone(),
            n,
            bytes: factors.bytes().max(a.bytes()),
            factors,
        };
        factorised.check_regular(a, ws)?;
        Ok(factorised)
    }

    /// Fails if the factors cannot solve: a pivot was zero but for rounding.
    fn check_regular<T: Scalar>(&self, a: &Csr<T>, ws: &Workspace) -> Result<()> {
        let mut numbers = Numbers(1);
        // As large as the rows are: how they are scaled does not count.
        let number = |row| F::from_f64(row_norm(a, row, |_| 1.0) * numbers.next());
        let b: Vec<F> = (0..self.n).map(number).collect();
        let b = Vector::from_column(&self.executor, b);
        let mut x = Vector::<F>::zeros_like(&b)?;
        self.solve(System::Plain, &b, &mut x, ws)?;
        let (solution, bound) = (x.host()?, norm(b.host()?));
        let term = |column: usize| solution[column].modulus().to_f64();
        let terms = (0..self.n).map(|row| row_norm(a, row, term).powi(2));
        let unit = <RealOf<F> as Float>::epsilon().to_f64();
        // Terms of A x so much larger than b prove a condition of at least that, and of all right-hand sides
        // one of random numbers shows the part of one in the root of their number.
        let condition = (terms.sum::<f64>() * self.n as f64).sqrt() / bound;
        if self.n == 0 || condition < 0.1 / unit {
            return Ok(());
        }
        let reason = match condition.is_finite() {
            true => {
                format!("to working precision: its condition number is at least {condition:.0e}")
            }
            false => "a pivot of its factors is zero".to_owned(),
        };
        Err(Error::Singular {
            component: "direct",
            reason,
        })
    }

    /// `x = A^-1 b`, or with a transpose of `A`.
    fn solve<T: Scalar>(
        &self,
        system: System,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("direct", Size::square(self.n), &self.executor, b, x)?;
        let (rows, cols) = (b.rows(), b.cols());
        let mut work = ws.vector::<F>(&self.executor, rows, cols)?;
        work.copy_from(b)?;
        let need = self.factors.memory(cols, self.executor.threads());
        let mut stack = ws.take::<Stack>(&self.executor, need, 1)?;
        let (values, memory) = (work.host_mut()?, &mut stack.memory);
        on_threads(&self.executor, |threads| {
            self.factors.solve(system, values, cols, threads, memory);
        });
        x.copy_from(&*work)
    }
}

impl<F: Field + Number, T: Scalar> LinOp<T> for Factorised<F> {
    fn size(&self) -> Size {
        Size::square(self.n)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.solve(System::Plain, b, x, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let system = match mode {
            Transpose::Plain => System::Transposed,
            Transpose::Conjugate => System::Adjoint,
        };
        self.solve(system, b, x, ws)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.bytes,
            moved: self.bytes,
        }
    }
}

/// Why there are no factors, in the words of this library.
fn told<T: Scalar>(failure: Failure, a: &Csr<T>) -> Error {
    match failure {
        Failure::NoPivot { .. } => Error::Singular {
            component: "direct",
            reason: failure.to_string(),
        },
        Failure::OutOfMemory { bytes } => Error::NotEnoughMemory {
            what: "the factorisation of solver `direct`".to_owned(),
            needed: bytes.unwrap_or_else(|| a.bytes()),
            available: a.executor().available_memory().unwrap_or(0),
            executor: a.executor().name().to_owned(),
        },
    }
}

/// Runs `work` on the threads of the executor.
fn on_threads<R: Send>(executor: &Executor, work: impl FnOnce(usize) -> R + Send) -> R {
    let threads = executor.threads();
    match executor.pool() {
        Some(pool) => pool.install(|| work(threads)),
        None => work(threads),
    }
}

/// Memory for faer's solves.
struct Stack {
    executor: Executor,
    memory: Memory,
}

impl Pooled for Stack {
    fn allocate(executor: &Executor, bytes: usize, _cols: usize) -> Result<Self> {
        Ok(Self {
            executor: executor.clone(),
            memory: Memory::new(bytes).ok_or_else(|| Error::OutOfMemory {
                bytes,
                executor: executor.name().to_owned(),
            })?,
        })
    }
    fn executor(&self) -> &Executor {
        &self.executor
    }
}

fn check_no_empty_line<T: Scalar>(a: &Csr<T>) -> Result<()> {
    let n = a.size().rows;
    let mut used = vec![false; n];
    let is_entry = |value: &T| !value.load().is_zero();
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

fn is_hermitian<T: Scalar>(a: &Csr<T>) -> bool {
    (0..a.size().rows).all(|row| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).all(|(&column, value)| {
            a.entry(column as usize, row)
                .is_some_and(|mirrored| mirrored.load() == value.load().conj())
        })
    })
}

/// The norm of the terms of `A x` in a row.
fn row_norm<T: Scalar>(a: &Csr<T>, row: usize, x: impl Fn(usize) -> f64) -> f64 {
    let (columns, values) = a.row(row);
    let terms = columns.iter().zip(values);
    let square = |(&column, value): (&u32, &T)| {
        (value.load().modulus().to_f64() * x(column as usize)).powi(2)
    };
    terms.map(square).sum::<f64>().sqrt()
}

fn norm<F: Field>(values: &[F]) -> f64 {
    let sum: f64 = values.iter().map(|v| v.modulus_squared().to_f64()).sum();
    sum.sqrt()
}
