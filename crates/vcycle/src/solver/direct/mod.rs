//! Sparse direct factorisation.

#[cfg(test)]
mod tests;

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltParams;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{
    LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::traits::ComplexField;
use faer::{Conj, MatMut, Par, Side, Spec};
use num_traits::{Float, Zero};

use super::random::Numbers;
use crate::error::{Error, Result};
use crate::executor::{Executor, Pooled, Workspace};
use crate::linop::{
    Factory, Footprint, LinOp, Size, Transpose, check_apply, check_square, entries,
};
use crate::matrix::Csr;
use crate::scalar::{Field, Kind, Real, RealOf, Scalar, c32, c64, convert};
use crate::vector::Vector;

/// A sparse direct factorisation as an operator: `x = A^-1 b` up to rounding.
///
/// Hermitian matrices are factorised by Cholesky with an approximate minimum degree ordering;
/// others, and those that turn out not to be positive definite, by LU with column ordering and
/// partial pivoting. The work is done by the crate `faer`, on the threads of the executor.
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

impl<T: Scalar> Factory<T> for Direct {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("direct set-up", 0);
        check_square(a.as_ref(), "direct")?;
        if let Executor::Gpu(gpu) = a.executor() {
            return Err(gpu.lacks("direct", "the factorisation"));
        }
        let a = entries(a.as_ref(), "direct")?;
        match T::KIND {
            Kind::F64 => Ok(Arc::new(Factorised::<f64>::new(&a, ws)?)),
            Kind::F32 => Ok(Arc::new(Factorised::<f32>::new(&a, ws)?)),
            Kind::C64 => Ok(Arc::new(Factorised::<c64>::new(&a, ws)?)),
            Kind::C32 => Ok(Arc::new(Factorised::<c32>::new(&a, ws)?)),
            Kind::F16 | Kind::Bf16 => Err(Error::Unsupported {
                component: "direct".to_owned(),
                operation: format!("the factorisation of {} matrices", T::KIND),
            }),
        }
    }
}

/// What faer can factorise.
trait Factor: Field + ComplexField {}
impl<F: Field + ComplexField> Factor for F {}

/// The factors of a matrix.
struct Factorised<F: Factor> {
    executor: Executor,
    n: usize,
    factors: Factors<F>,
    bytes: usize,
}

/// Factors of the *transpose* `B = A^T`: the rows of `A` are the columns faer wants.
enum Factors<F: Factor> {
    Cholesky {
        symbolic: SymbolicCholesky<usize>,
        values: Vec<F>,
    },
    Lu {
        symbolic: SymbolicLu<usize>,
        numeric: NumericLu<usize, F>,
    },
}

impl<F: Factor> Debug for Factorised<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let method = match &self.factors {
            Factors::Cholesky { .. } => "cholesky",
            Factors::Lu { .. } => "lu",
        };
        write!(f, "direct solver ({method}, {} rows)", self.n)
    }
}

impl<F: Factor> Factorised<F> {
    fn new<T: Scalar>(a: &Csr<T>, ws: &Workspace) -> Result<Self> {
        a.check_finite()?;
        check_no_empty_line(a)?;
        let values: Vec<F> = a.values().iter().map(|&value| convert(value)).collect();
        let columns: Vec<usize> = a.columns().iter().map(|&column| column as usize).collect();
        let n = a.size().rows;
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, a.offsets(), None, &columns);
        let transposed = SparseColMatRef::new(pattern, &values[..]);
        let hermitian = is_hermitian(a);
        let factors = on_threads(a.executor(), |parallel| {
            factorise(transposed, hermitian, parallel)
        })
        .map_err(|failure| failure.into_error(a))?;
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
        let b: Vec<F> = (0..self.n).map(|_| F::from_f64(numbers.next())).collect();
        let b = Vector::from_column(&self.executor, b);
        let mut x = Vector::<F>::zeros_like(&b)?;
        self.solve(None, &b, &mut x, ws)?;
        let (length, bound) = (norm(x.host()?), norm(b.host()?));
        let scale = norm(&a.values().iter().map(|v| convert(*v)).collect::<Vec<F>>());
        let unit = <RealOf<F> as Float>::epsilon().to_f64();
        // Any solution is at most |A^-1| long: this one proves the condition to be at least that.
        let condition = scale * length / bound;
        if self.n == 0 || condition < 0.1 / unit {
            return Ok(());
        }
        Err(Error::Singular {
            component: "direct",
            reason: format!("its condition number is at least {condition:.0e}"),
        })
    }

    /// `x = A^-1 b`, or with a transpose of `A`.
    fn solve<T: Scalar>(
        &self,
        mode: Option<Transpose>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("direct", Size::square(self.n), &self.executor, b, x)?;
        let (rows, cols) = (b.rows(), b.cols());
        let mut work = ws.vector::<F>(&self.executor, rows, cols)?;
        work.copy_from(b)?;
        let need = self.factors.scratch(cols, parallelism(&self.executor));
        let mut stack = ws.take::<Stack>(&self.executor, need.unaligned_bytes_required(), 1)?;
        let (values, memory) = (work.host_mut()?, &mut stack.memory);
        on_threads(&self.executor, |parallel| {
            let rhs = MatMut::from_row_major_slice_mut(values, rows, cols);
            self.factors
                .solve(mode, rhs, parallel, MemStack::new(memory));
        });
        x.copy_from(&*work)
    }
}

impl<F: Factor, T: Scalar> LinOp<T> for Factorised<F> {
    fn size(&self) -> Size {
        Size::square(self.n)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.solve(None, b, x, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.solve(Some(mode), b, x, ws)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.bytes,
            moved: self.bytes,
        }
    }
}

impl<F: Factor> Factors<F> {
    /// Bytes of the values; faer does not tell those of LU.
    fn bytes(&self) -> usize {
        match self {
            Factors::Cholesky { values, .. } => size_of_val(&values[..]),
            Factors::Lu { .. } => 0,
        }
    }

    fn scratch(&self, cols: usize, parallel: Par) -> StackReq {
        match self {
            Factors::Cholesky { symbolic, .. } => {
                symbolic.solve_in_place_scratch::<F>(cols, parallel)
            }
            Factors::Lu { symbolic, .. } => symbolic.solve_in_place_scratch::<F>(cols, parallel),
        }
    }

    /// Solves with `A = B^T`, `A^T = B` or `A^H = conj(B)`.
    fn solve(
        &self,
        mode: Option<Transpose>,
        rhs: MatMut<'_, F>,
        parallel: Par,
        stack: &mut MemStack,
    ) {
        match (self, mode) {
            (Factors::Cholesky { symbolic, values }, mode) => {
                // B is Hermitian: B^T = conj(B).
                let conjugate = match mode {
                    Some(Transpose::Plain) => Conj::No,
                    None | Some(Transpose::Conjugate) => Conj::Yes,
                };
                let factors = LltRef::<usize, F>::new(symbolic, values);
                factors.solve_in_place_with_conj(conjugate, rhs, parallel, stack);
            }
            (Factors::Lu { symbolic, numeric }, None) => {
                let factors = LuRef::new_unchecked(symbolic, numeric);
                factors.solve_transpose_in_place_with_conj(Conj::No, rhs, parallel, stack);
            }
            (Factors::Lu { symbolic, numeric }, Some(mode)) => {
                let conjugate = match mode {
                    Transpose::Plain => Conj::No,
                    Transpose::Conjugate => Conj::Yes,
                };
                let factors = LuRef::new_unchecked(symbolic, numeric);
                factors.solve_in_place_with_conj(conjugate, rhs, parallel, stack);
            }
        }
    }
}

/// Why there are no factors.
enum Failure {
    OutOfMemory,
    NoPivot { index: usize },
}

impl From<FaerError> for Failure {
    fn from(_: FaerError) -> Self {
        // Indices of the machine's width overflow only where memory ends.
        Failure::OutOfMemory
    }
}

impl Failure {
    fn into_error<T: Scalar>(self, a: &Csr<T>) -> Error {
        match self {
            Failure::NoPivot { index } => Error::Singular {
                component: "direct",
                reason: format!("its pattern allows no pivot at step {index}"),
            },
            Failure::OutOfMemory => Error::OutOfMemory {
                bytes: a.bytes(),
                executor: a.executor().name().to_owned(),
            },
        }
    }
}

type Matrix<'a, F> = SparseColMatRef<'a, usize, F>;

fn factorise<F: Factor>(
    b: Matrix<'_, F>,
    hermitian: bool,
    parallel: Par,
) -> Result<Factors<F>, Failure> {
    if hermitian && let Some(factors) = factorise_cholesky(b, parallel)? {
        return Ok(factors);
    }
    factorise_lu(b, parallel)
}

/// `None` if the matrix is not positive definite.
fn factorise_cholesky<F: Factor>(
    b: Matrix<'_, F>,
    parallel: Par,
) -> Result<Option<Factors<F>>, Failure> {
    let (side, ordering) = (Side::Lower, SymmetricOrdering::Amd);
    let symbolic = factorize_symbolic_cholesky(b.symbolic(), side, ordering, Default::default())?;
    let mut values = Vec::new();
    values
        .try_reserve_exact(symbolic.len_val())
        .map_err(|_| Failure::OutOfMemory)?;
    values.resize(symbolic.len_val(), <F as Zero>::zero());
    let parameters: Spec<LltParams, F> = Default::default();
    let need = symbolic.factorize_numeric_llt_scratch::<F>(parallel, parameters);
    let mut memory = MemBuffer::try_new(need).map_err(|_| Failure::OutOfMemory)?;
    let stack = MemStack::new(&mut memory);
    let regularisation = Default::default();
    let result = symbolic.factorize_numeric_llt(
        &mut values,
        b,
        side,
        regularisation,
        parallel,
        stack,
        parameters,
    );
    // A pivot that is not positive is the only thing it complains of.
    let positive = result.is_ok();
    Ok(positive.then_some(Factors::Cholesky { symbolic, values }))
}

fn factorise_lu<F: Factor>(b: Matrix<'_, F>, parallel: Par) -> Result<Factors<F>, Failure> {
    let symbolic = factorize_symbolic_lu(b.symbolic(), Default::default())?;
    let mut numeric = NumericLu::new();
    let need = symbolic.factorize_numeric_lu_scratch::<F>(parallel, Default::default());
    let mut memory = MemBuffer::try_new(need).map_err(|_| Failure::OutOfMemory)?;
    let stack = MemStack::new(&mut memory);
    let result =
        symbolic.factorize_numeric_lu(&mut numeric, b, parallel, stack, Default::default());
    match result {
        Ok(_) => {}
        Err(LuError::SymbolicSingular { index }) => return Err(Failure::NoPivot { index }),
        Err(LuError::Generic(error)) => return Err(error.into()),
    }
    Ok(Factors::Lu { symbolic, numeric })
}

fn parallelism(executor: &Executor) -> Par {
    match executor.threads() {
        1 => Par::Seq,
        threads => Par::rayon(threads),
    }
}

/// Runs `work` on the threads of the executor.
fn on_threads<R: Send>(executor: &Executor, work: impl FnOnce(Par) -> R + Send) -> R {
    let parallel = parallelism(executor);
    match executor.pool() {
        Some(pool) => pool.install(|| work(parallel)),
        None => work(parallel),
    }
}

/// Memory for faer's solves.
struct Stack {
    executor: Executor,
    memory: MemBuffer,
}

impl Pooled for Stack {
    fn allocate(executor: &Executor, bytes: usize, _cols: usize) -> Result<Self> {
        let memory = MemBuffer::try_new(StackReq::new::<u8>(bytes));
        Ok(Self {
            executor: executor.clone(),
            memory: memory.map_err(|_| Error::OutOfMemory {
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

fn norm<F: Field>(values: &[F]) -> f64 {
    let sum: f64 = values.iter().map(|v| v.modulus_squared().to_f64()).sum();
    sum.sqrt()
}
