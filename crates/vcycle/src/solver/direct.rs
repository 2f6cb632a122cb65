//! Sparse direct factorisation.

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
    NotPositive,
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
            Failure::NotPositive => Error::Singular {
                component: "direct",
                reason: "a pivot is not positive".to_owned(),
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
    if hermitian {
        match factorise_cholesky(b, parallel) {
            Err(Failure::NotPositive) => {}
            result => return result,
        }
    }
    factorise_lu(b, parallel)
}

fn factorise_cholesky<F: Factor>(b: Matrix<'_, F>, parallel: Par) -> Result<Factors<F>, Failure> {
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
    // The pivot is the only thing it complains of.
    result.map_err(|_| Failure::NotPositive)?;
    Ok(Factors::Cholesky { symbolic, values })
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
    match executor {
        Executor::Reference => work(parallel),
        Executor::Cpu(threads) => threads.install(|| work(parallel)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linop::LinOp;
    use crate::matrix::Duplicates;
    use crate::scalar::{Mixes, f16};
    use crate::solver::testing;
    use crate::solver::{Ir, Solver};
    use crate::stop::Stop;

    fn factorise<T: Mixes<T, T>>(a: &Arc<Csr<T>>) -> Result<Arc<dyn LinOp<T>>> {
        let a: Arc<dyn LinOp<T>> = a.clone();
        Direct::default().generate(&a, &Workspace::new())
    }

    /// Solves with the matrix, its transpose and its adjoint.
    fn check<T: Mixes<T, T>>(a: &Arc<Csr<T>>, tolerance: f64, method: &str) {
        let (ws, n) = (Workspace::new(), a.size().rows);
        let inverse = factorise(a).unwrap();
        assert!(format!("{inverse:?}").contains(method));
        let known = Vector::from_rows(a.executor(), 2, testing::values::<T>(2 * n, 5)).unwrap();
        let mut b = Vector::<T>::zeros_like(&known).unwrap();
        let mut x = Vector::<T>::zeros_like(&known).unwrap();
        for mode in [None, Some(Transpose::Plain), Some(Transpose::Conjugate)] {
            let a: &dyn LinOp<T> = a.as_ref();
            match mode {
                None => {
                    a.apply(&known, &mut b, &ws).unwrap();
                    inverse.apply(&b, &mut x, &ws).unwrap();
                }
                Some(mode) => {
                    a.apply_transposed(mode, &known, &mut b, &ws).unwrap();
                    inverse.apply_transposed(mode, &b, &mut x, &ws).unwrap();
                }
            }
            x.axpy(crate::vector::Coefficient::real(-1.0), &known)
                .unwrap();
            for error in x.norms().unwrap() {
                assert!(error.to_f64() < tolerance, "{mode:?}: {error}");
            }
        }
    }

    #[test]
    fn every_kind_of_matrix_is_inverted() {
        let two = Executor::cpu_with_threads(2).unwrap();
        for executor in [Executor::reference(), Executor::cpu(), two] {
            check::<f64>(&testing::laplacian_2d(&executor, 30), 1e-10, "cholesky");
            check::<f32>(&testing::laplacian_2d(&executor, 8), 1e-3, "cholesky");
            check::<c64>(&testing::hermitian(&executor, 20), 1e-10, "cholesky");
            check::<f64>(&testing::indefinite(&executor, 30), 1e-10, "lu");
            check::<f64>(&testing::convection_diffusion(&executor, 30), 1e-10, "lu");
            check::<c64>(&testing::shifted_laplacian(&executor, 10), 1e-10, "lu");
            check::<c32>(&testing::shifted_laplacian(&executor, 5), 1e-3, "lu");
        }
    }

    #[test]
    fn refinement_polishes_the_solution() {
        let host = Executor::reference();
        let a = testing::convection_diffusion::<f64>(&host, 20);
        let solver = Solver::<f64>::new(Ir::default(), a)
            .unwrap()
            .preconditioned_by(&Direct::default())
            .unwrap()
            .stopping(Stop::relative(1e-15));
        let b = Vector::from_column(&host, testing::values::<f64>(400, 2));
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert!(outcome.converged() && outcome.iterations <= 3, "{outcome}");
    }

    fn pattern(n: usize, entries: &[(usize, u32)]) -> Arc<Csr<f64>> {
        let offsets = (0..=n)
            .map(|row| entries.partition_point(|entry| entry.0 < row))
            .collect();
        let columns = entries.iter().map(|entry| entry.1).collect();
        let values = testing::values(entries.len(), 4);
        let host = Executor::reference();
        let size = Size::square(n);
        let matrix = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
        Arc::new(matrix.unwrap())
    }

    #[test]
    fn singular_matrices_are_named() {
        let host = Executor::reference();
        let neumann = |n: usize| {
            let mut a = (*testing::laplacian_2d::<f64>(&host, n)).clone();
            for row in 0..n * n {
                let (first, last) = (a.offsets()[row], a.offsets()[row + 1]);
                let sum: f64 = a.values()[first..last].iter().sum();
                let place = a
                    .row(row)
                    .0
                    .iter()
                    .position(|&c| c as usize == row)
                    .unwrap();
                a.values_mut()[first + place] -= sum;
            }
            Arc::new(a)
        };
        let singular = [
            ("an empty row", pattern(2, &[(0, 0), (0, 1)])),
            ("an empty column", pattern(2, &[(0, 0), (1, 0)])),
            (
                "two rows for one column",
                pattern(3, &[(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]),
            ),
            (
                "a zero pivot",
                Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0])),
            ),
            ("pure Neumann conditions", neumann(2)),
            ("pure Neumann conditions on more points", neumann(20)),
        ];
        for (name, a) in singular {
            let result = factorise(&a);
            assert!(
                matches!(result, Err(Error::Singular { .. })),
                "{name}: {result:?}"
            );
        }
    }

    #[test]
    fn random_patterns_are_solved_or_refused() {
        let mut numbers = Numbers(11);
        for trial in 0..300 {
            let n = 1 + trial % 12;
            let mut entries: Vec<(usize, u32)> = (0..2 * n)
                .map(|_| {
                    let mut pick = || ((numbers.next() * 0.5 + 0.5) * n as f64) as usize;
                    (pick().min(n - 1), pick().min(n - 1) as u32)
                })
                .collect();
            entries.sort_unstable();
            entries.dedup();
            let result = factorise(&pattern(n, &entries));
            assert!(matches!(result, Ok(_) | Err(Error::Singular { .. })));
        }
    }

    #[test]
    fn what_cannot_be_factorised_is_refused() {
        let host = Executor::reference();
        let mut nan = (*testing::laplacian_1d::<f64>(&host, 4)).clone();
        nan.values_mut()[0] = f64::NAN;
        assert!(matches!(
            factorise(&Arc::new(nan)),
            Err(Error::NonFiniteEntry { row: 0, column: 0 })
        ));
        assert!(matches!(
            factorise(&testing::laplacian_1d::<f16>(&host, 4)),
            Err(Error::Unsupported { .. })
        ));
        let (offsets, columns, values) = (vec![0, 1], vec![0], vec![1.0]);
        let size = Size::new(1, 2);
        let wide = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
        assert!(matches!(
            factorise(&Arc::new(wide.unwrap())),
            Err(Error::NotSquare { .. })
        ));
    }

    #[test]
    fn an_empty_matrix_is_its_own_inverse() {
        let host = Executor::reference();
        let inverse = factorise(&pattern(0, &[])).unwrap();
        let b = Vector::<f64>::zeros(&host, 0, 1).unwrap();
        let mut x = b.clone();
        inverse.apply(&b, &mut x, &Workspace::new()).unwrap();
    }
}
