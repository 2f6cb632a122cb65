//! Sparse direct factorisations for vcycle: a thin layer over the crate `faer`, on plain arrays.
//!
//! faer's algorithms are generic, and every type they are used with is compiled anew. Here they are compiled once,
//! for double precision, real and complex; crates that depend on this one compile none of them.

use std::fmt::Debug;
use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltParams;
use faer::sparse::linalg::cholesky::{
    LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::linalg::{LuError, amd};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::traits::ComplexField;
use faer::{Conj, MatMut, Par, Side, Spec};

pub use faer::c64;

/// A square matrix, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, F> {
    /// For every row the place of its first entry, and at the end the number of entries.
    pub offsets: &'a [usize],
    /// The column of every entry; they increase within a row.
    pub columns: &'a [usize],
    /// The value of every entry.
    pub values: &'a [F],
    /// Whether the matrix is its own adjoint.
    pub hermitian: bool,
    /// Bytes of memory there are for the factors, where that is known.
    pub memory: Option<usize>,
}

/// Which system is solved with the factors of `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `A x = b`.
    Plain,
    /// `A^T x = b`.
    Transposed,
    /// `A^H x = b`.
    Adjoint,
}

/// Why there are no factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The factors do not fit in memory.
    #[error("the factors do not fit in memory")]
    OutOfMemory {
        /// What they need, where that is known before they are made.
        bytes: Option<usize>,
    },
    /// The pattern of the matrix is singular.
    #[error("its pattern allows no pivot at step {index}")]
    NoPivot {
        /// The step of the elimination.
        index: usize,
    },
}

const NO_MEMORY: Failure = Failure::OutOfMemory { bytes: None };

impl From<FaerError> for Failure {
    fn from(_: FaerError) -> Self {
        // Indices of the machine's width overflow only where memory ends.
        NO_MEMORY
    }
}

/// The approximate minimum degree order of the pattern of `A + A^T`: the old index at each new place.
///
/// # Errors
/// When memory is short.
///
/// # Panics
/// For arrays that are not those of a square matrix.
pub fn minimum_degree(offsets: &[usize], columns: &[usize]) -> Result<Vec<usize>, Failure> {
    let n = offsets.len() - 1;
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, offsets, None, columns);
    let (mut order, mut inverse) = (vec![0; n], vec![0; n]);
    let need = amd::order_scratch::<usize>(n, columns.len());
    let mut memory = MemBuffer::try_new(need).map_err(|_| NO_MEMORY)?;
    let stack = MemStack::new(&mut memory);
    amd::order(&mut order, &mut inverse, pattern, Default::default(), stack)?;
    Ok(order)
}

/// Memory that solves write to.
pub struct Memory(MemBuffer);

impl Memory {
    /// So many bytes; nothing where the machine has no more.
    pub fn new(bytes: usize) -> Option<Self> {
        MemBuffer::try_new(StackReq::new::<u8>(bytes))
            .ok()
            .map(Self)
    }
}

/// The order and the places of the entries of factors, for all matrices of one pattern.
#[derive(Clone)]
pub struct Symbolic(Kind);

#[derive(Clone)]
enum Kind {
    Cholesky(Arc<SymbolicCholesky<usize>>),
    Lu(Arc<SymbolicLu<usize>>),
}

impl Debug for Symbolic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Kind::Cholesky(_) => "cholesky",
            Kind::Lu(_) => "lu",
        })
    }
}

/// The factors of a matrix.
pub trait Factors<F>: Debug + Send + Sync {
    /// `cholesky` or `lu`.
    fn method(&self) -> &'static str;
    /// What matrices with other values in the same places share.
    fn symbolic(&self) -> Symbolic;
    /// Bytes of the values, where faer tells them.
    fn bytes(&self) -> usize;
    /// Bytes of [`Memory`] that a solve with so many columns needs.
    fn memory(&self, cols: usize, threads: usize) -> usize;
    /// Replaces right-hand sides by solutions. Columns of a row lie side by side.
    fn solve(
        &self,
        system: System,
        values: &mut [F],
        cols: usize,
        threads: usize,
        memory: &mut Memory,
    );
}

/// What matrices are factorised in: `f64` or [`c64`].
pub trait Number: Copy + Send + Sync + 'static {
    /// Factorises a matrix on so many threads of the current pool: by Cholesky with an approximate minimum degree
    /// ordering if it is Hermitian and positive definite, by LU with column ordering and partial pivoting otherwise. What is
    /// known of a matrix of the same pattern is not found again.
    ///
    /// # Errors
    /// When memory is short, or the pattern is singular.
    ///
    /// # Panics
    /// For arrays that are not those of a square matrix.
    fn factorise(
        a: Rows<'_, Self>,
        known: Option<&Symbolic>,
        threads: usize,
    ) -> Result<Box<dyn Factors<Self>>, Failure>;
}

impl Number for f64 {
    fn factorise(
        a: Rows<'_, f64>,
        known: Option<&Symbolic>,
        threads: usize,
    ) -> Result<Box<dyn Factors<f64>>, Failure> {
        factorise(a, known, threads)
    }
}

impl Number for c64 {
    fn factorise(
        a: Rows<'_, c64>,
        known: Option<&Symbolic>,
        threads: usize,
    ) -> Result<Box<dyn Factors<c64>>, Failure> {
        factorise(a, known, threads)
    }
}

/// Factors of the *transpose* `B = A^T`: the rows of `A` are the columns faer wants.
enum Factorised<F> {
    Cholesky {
        symbolic: Arc<SymbolicCholesky<usize>>,
        values: Vec<F>,
    },
    Lu {
        symbolic: Arc<SymbolicLu<usize>>,
        numeric: Box<NumericLu<usize, F>>,
    },
}

impl<F: ComplexField> Debug for Factorised<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.method())
    }
}

type Matrix<'a, F> = SparseColMatRef<'a, usize, F>;

fn factorise<F: ComplexField + 'static>(
    a: Rows<'_, F>,
    known: Option<&Symbolic>,
    threads: usize,
) -> Result<Box<dyn Factors<F>>, Failure> {
    let n = a.offsets.len() - 1;
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, a.offsets, None, a.columns);
    let b = SparseColMatRef::new(pattern, a.values);
    let parallel = parallelism(threads);
    let (definite, general) = match known.map(|known| &known.0) {
        None => (None, None),
        Some(Kind::Cholesky(symbolic)) => (Some(Arc::clone(symbolic)), None),
        Some(Kind::Lu(symbolic)) => (None, Some(Arc::clone(symbolic))),
    };
    // A matrix that was not definite before is not tried for it again.
    if a.hermitian
        && general.is_none()
        && let Some(factors) = cholesky(b, definite, a.memory, parallel)?
    {
        return Ok(Box::new(factors));
    }
    Ok(Box::new(lu(b, general, parallel)?))
}

/// `None` if the matrix is not positive definite.
fn cholesky<F: ComplexField>(
    b: Matrix<'_, F>,
    known: Option<Arc<SymbolicCholesky<usize>>>,
    available: Option<usize>,
    parallel: Par,
) -> Result<Option<Factorised<F>>, Failure> {
    let (side, ordering) = (Side::Lower, SymmetricOrdering::Amd);
    let symbolic = match known {
        Some(known) => known,
        None => Arc::new(factorize_symbolic_cholesky(
            b.symbolic(),
            side,
            ordering,
            Default::default(),
        )?),
    };
    let parameters: Spec<LltParams, F> = Default::default();
    let need = symbolic.factorize_numeric_llt_scratch::<F>(parallel, parameters);
    let bytes = symbolic.len_val().saturating_mul(size_of::<F>());
    let bytes = bytes.saturating_add(need.unaligned_bytes_required());
    let too_large = || Failure::OutOfMemory { bytes: Some(bytes) };
    if available.is_some_and(|available| bytes > available) {
        return Err(too_large());
    }
    let mut values = Vec::new();
    values
        .try_reserve_exact(symbolic.len_val())
        .map_err(|_| too_large())?;
    values.resize(symbolic.len_val(), F::zero_impl());
    let mut memory = MemBuffer::try_new(need).map_err(|_| too_large())?;
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
    Ok(positive.then_some(Factorised::Cholesky { symbolic, values }))
}

fn lu<F: ComplexField>(
    b: Matrix<'_, F>,
    known: Option<Arc<SymbolicLu<usize>>>,
    parallel: Par,
) -> Result<Factorised<F>, Failure> {
    let symbolic = match known {
        Some(known) => known,
        None => Arc::new(factorize_symbolic_lu(b.symbolic(), Default::default())?),
    };
    let mut numeric = NumericLu::new();
    let need = symbolic.factorize_numeric_lu_scratch::<F>(parallel, Default::default());
    let mut memory = MemBuffer::try_new(need).map_err(|_| NO_MEMORY)?;
    let stack = MemStack::new(&mut memory);
    let result =
        symbolic.factorize_numeric_lu(&mut numeric, b, parallel, stack, Default::default());
    match result {
        Ok(_) => {}
        Err(LuError::SymbolicSingular { index }) => return Err(Failure::NoPivot { index }),
        Err(LuError::Generic(error)) => return Err(error.into()),
    }
    Ok(Factorised::Lu {
        symbolic,
        numeric: Box::new(numeric),
    })
}

fn parallelism(threads: usize) -> Par {
    match threads {
        1 => Par::Seq,
        threads => Par::rayon(threads),
    }
}

impl<F: ComplexField> Factors<F> for Factorised<F> {
    fn method(&self) -> &'static str {
        match self {
            Factorised::Cholesky { .. } => "cholesky",
            Factorised::Lu { .. } => "lu",
        }
    }

    fn symbolic(&self) -> Symbolic {
        Symbolic(match self {
            Factorised::Cholesky { symbolic, .. } => Kind::Cholesky(Arc::clone(symbolic)),
            Factorised::Lu { symbolic, .. } => Kind::Lu(Arc::clone(symbolic)),
        })
    }

    fn bytes(&self) -> usize {
        match self {
            Factorised::Cholesky { values, .. } => size_of_val(&values[..]),
            Factorised::Lu { .. } => 0,
        }
    }

    fn memory(&self, cols: usize, threads: usize) -> usize {
        let parallel = parallelism(threads);
        let need = match self {
            Factorised::Cholesky { symbolic, .. } => {
                symbolic.solve_in_place_scratch::<F>(cols, parallel)
            }
            Factorised::Lu { symbolic, .. } => symbolic.solve_in_place_scratch::<F>(cols, parallel),
        };
        need.unaligned_bytes_required()
    }

    fn solve(
        &self,
        system: System,
        values: &mut [F],
        cols: usize,
        threads: usize,
        memory: &mut Memory,
    ) {
        let (parallel, stack) = (parallelism(threads), MemStack::new(&mut memory.0));
        let rhs = MatMut::from_row_major_slice_mut(values, values.len() / cols.max(1), cols);
        // `A = B^T`, `A^T = B` and `A^H = conj(B)`.
        match (self, system) {
            (Factorised::Cholesky { symbolic, values }, system) => {
                // B is Hermitian: B^T = conj(B).
                let conjugate = match system {
                    System::Transposed => Conj::No,
                    System::Plain | System::Adjoint => Conj::Yes,
                };
                let factors = LltRef::<usize, F>::new(symbolic, values);
                factors.solve_in_place_with_conj(conjugate, rhs, parallel, stack);
            }
            (Factorised::Lu { symbolic, numeric }, System::Plain) => {
                let factors = LuRef::new_unchecked(symbolic, numeric);
                factors.solve_transpose_in_place_with_conj(Conj::No, rhs, parallel, stack);
            }
            (Factorised::Lu { symbolic, numeric }, system) => {
                let conjugate = match system {
                    System::Adjoint => Conj::Yes,
                    System::Plain | System::Transposed => Conj::No,
                };
                let factors = LuRef::new_unchecked(symbolic, numeric);
                factors.solve_in_place_with_conj(conjugate, rhs, parallel, stack);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[[4, 1], [s, 3]]`: positive definite for `s = 1`.
    fn solved(s: f64, system: System) -> (&'static str, [f64; 2]) {
        let a = Rows {
            offsets: &[0, 2, 4],
            columns: &[0, 1, 0, 1],
            values: &[4.0, 1.0, s, 3.0],
            hermitian: s == 1.0,
            memory: None,
        };
        let known = f64::factorise(a, None, 1).unwrap().symbolic();
        let factors = f64::factorise(a, Some(&known), 1).unwrap();
        let mut memory = Memory::new(factors.memory(1, 1)).unwrap();
        let mut x = [6.0, 7.0];
        factors.solve(system, &mut x, 1, 1, &mut memory);
        (factors.method(), x)
    }

    #[test]
    fn systems_are_those_of_the_rows() {
        let (method, x) = solved(1.0, System::Plain);
        assert_eq!(method, "cholesky");
        assert!(
            (x[0] - 1.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14,
            "{x:?}"
        );
        let (method, x) = solved(-1.0, System::Plain);
        assert_eq!(method, "lu");
        assert!((4.0 * x[0] + x[1] - 6.0).abs() < 1e-14, "{x:?}");
        let (_, x) = solved(-1.0, System::Transposed);
        assert!((4.0 * x[0] - x[1] - 6.0).abs() < 1e-14, "{x:?}");
    }

    #[test]
    fn the_middle_of_a_star_is_numbered_last() {
        let offsets = [0, 5, 7, 9, 11, 13];
        let columns = [0, 1, 2, 3, 4, 0, 1, 0, 2, 0, 3, 0, 4];
        let mut order = minimum_degree(&offsets, &columns).unwrap();
        assert!(order[3..].contains(&0), "{order:?}");
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_singular_pattern_is_named() {
        let a = Rows {
            offsets: &[0, 1, 2],
            columns: &[0, 0],
            values: &[1.0, 2.0],
            hermitian: false,
            memory: None,
        };
        let failure = f64::factorise(a, None, 1).err();
        assert!(
            matches!(failure, Some(Failure::NoPivot { .. })),
            "{failure:?}"
        );
    }
}
