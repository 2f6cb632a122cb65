//! The inverse of a matrix by its factors: dense fronts on a device, those of the crate `faer` on the host.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use vcycle_direct::{Failure, Memory, Number, Rows, System};

use super::checks::Quality;
use super::tree::tree;
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor, Pooled, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose, check_apply};
use crate::matrix::Csr;
use crate::operations::multifrontal::{self, Fronts};
use crate::scalar::{Field, Scalar};
use crate::vector::Vector;

const WHAT: &str = "the factorisation of solver `direct`";

/// What is known of a matrix whatever its values are.
#[derive(Clone, Debug)]
pub(super) enum Symbolic {
    Host(vcycle_direct::Symbolic),
    Device(Arc<Fronts>),
}

/// The inverse of a matrix.
pub(super) struct Inverse<F> {
    executor: Executor,
    n: usize,
    factors: Factors<F>,
}

enum Factors<F> {
    Host(Box<dyn vcycle_direct::Factors<F>>, usize),
    Device(Arc<Fronts>, Buffer<F>),
}

impl<F> Debug for Inverse<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let method = match &self.factors {
            Factors::Host(factors, _) => factors.method(),
            Factors::Device(..) => "fronts",
        };
        write!(f, "direct solver ({method}, {} rows)", self.n)
    }
}

impl<F: Field + Number> Inverse<F> {
    fn new(a: &Csr<F>, factors: Factors<F>) -> Self {
        Self {
            executor: a.executor().clone(),
            n: a.size().rows,
            factors,
        }
    }

    /// Of a matrix on any executor, by the host; what is known of one of the same pattern is not found again.
    ///
    /// # Errors
    /// For a singular matrix, and when memory is short.
    pub fn by_host(
        a: &Csr<F>,
        hermitian: bool,
        known: Option<&Symbolic>,
        ws: &Workspace,
    ) -> Result<Self> {
        let known = match known {
            Some(Symbolic::Host(symbolic)) => Some(symbolic),
            Some(Symbolic::Device(_)) | None => None,
        };
        let columns: Vec<usize> = a.columns().iter().map(|&column| column as usize).collect();
        let rows = Rows {
            offsets: a.offsets(),
            columns: &columns,
            values: a.values(),
            hermitian,
            memory: a.executor().on_host().available_memory(),
        };
        let factors = on_threads(a.executor(), |threads| F::factorise(rows, known, threads))
            .map_err(|failure| named(failure, a))?;
        let bytes = factors.bytes().max(a.bytes());
        let made = Self::new(a, Factors::Host(factors, bytes));
        Quality::of(&made, a, ws)?.check_regular()?;
        Ok(made)
    }

    /// Of a matrix on a device, with the fronts of another one of the same pattern. None where pivots are too small.
    ///
    /// # Errors
    /// For a matrix that is singular whatever its values are, and when memory is short.
    pub fn by_device(
        a: &Csr<F>,
        hermitian: bool,
        known: Option<&Symbolic>,
        ws: &Workspace,
    ) -> Result<Option<Self>> {
        if let Some(Symbolic::Device(fronts)) = known
            && let Some(made) = Self::by_fronts(a, Arc::clone(fronts), ws)?
        {
            return Ok(Some(made));
        }
        // Other values may need another matching.
        let tree = {
            let _stage = ws.stage("order and fill", 0);
            tree(&a.copy_to(&a.executor().on_host())?, hermitian)?
        };
        let executor = a.executor();
        let bytes = tree.values().saturating_mul(size_of::<F>());
        executor.check_need(|| WHAT.to_owned(), bytes)?;
        match multifrontal::fronts(executor, tree) {
            Some(fronts) => Self::by_fronts(a, Arc::new(fronts), ws),
            None => Ok(None),
        }
    }

    fn by_fronts(a: &Csr<F>, fronts: Arc<Fronts>, ws: &Workspace) -> Result<Option<Self>> {
        let values = {
            let _stage = ws.stage("factors", 0);
            fronts.factorise(a.values_buffer())?
        };
        let Some(values) = values else {
            return Ok(None);
        };
        let made = Self::new(a, Factors::Device(fronts, values));
        let is_good = Quality::of::<F>(&made, a, ws)?.is_good();
        Ok(is_good.then_some(made))
    }

    /// What matrices of the same pattern share.
    pub fn symbolic(&self) -> Symbolic {
        match &self.factors {
            Factors::Host(factors, _) => Symbolic::Host(factors.symbolic()),
            Factors::Device(fronts, _) => Symbolic::Device(Arc::clone(fronts)),
        }
    }

    /// `x = A^-1 b`, or with a transpose of `A`.
    fn solve<T: Scalar>(
        &self,
        transposed: Option<Transpose>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("direct", Size::square(self.n), &self.executor, b, x)?;
        let scratch = |rows| ws.vector::<F>(&self.executor, rows, b.cols());
        let mut work = scratch(b.rows())?;
        work.copy_from(b)?;
        match &self.factors {
            Factors::Device(fronts, values) => {
                let mut ordered = scratch(b.rows())?;
                let mut inner = scratch(fronts.work_rows())?;
                let mut solution = scratch(b.rows())?;
                let scratch = (&mut *inner, &mut *ordered);
                fronts.solve(values, transposed, &work, scratch, &mut solution)?;
                return x.copy_from(&*solution);
            }
            Factors::Host(factors, _) if self.executor.is_device() => {
                let mut here = ws.vector::<F>(&self.executor.on_host(), b.rows(), b.cols())?;
                work.read(here.host_mut()?)?;
                self.solve_in_place(factors.as_ref(), transposed, &mut here, ws)?;
                work.write(here.host()?)?;
            }
            Factors::Host(factors, _) => {
                self.solve_in_place(factors.as_ref(), transposed, &mut work, ws)?;
            }
        }
        x.copy_from(&*work)
    }

    /// Replaces right-hand sides on the host by solutions.
    fn solve_in_place(
        &self,
        factors: &dyn vcycle_direct::Factors<F>,
        transposed: Option<Transpose>,
        b: &mut Vector<F>,
        ws: &Workspace,
    ) -> Result<()> {
        let system = match transposed {
            None => System::Plain,
            Some(Transpose::Plain) => System::Transposed,
            Some(Transpose::Conjugate) => System::Adjoint,
        };
        let (cols, host) = (b.cols(), self.executor.on_host());
        let need = factors.memory(cols, host.threads());
        let mut stack = ws.take::<Stack>(&host, need, 1)?;
        let (values, memory) = (b.host_mut()?, &mut stack.memory);
        on_threads(&host, |threads| {
            factors.solve(system, values, cols, threads, memory);
        });
        Ok(())
    }
}

impl<F: Field + Number, T: Scalar> LinOp<T> for Inverse<F> {
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
        let (moved, more) = match &self.factors {
            Factors::Host(_, bytes) => (*bytes, 0),
            Factors::Device(fronts, values) => (values.bytes(), fronts.bytes()),
        };
        Footprint {
            held: moved + more,
            moved,
        }
    }
}

/// Why there are no factors, as an error of this library.
fn named<F: Field>(failure: Failure, a: &Csr<F>) -> Error {
    match failure {
        Failure::NoPivot { .. } => Error::Singular {
            component: "direct",
            reason: failure.to_string(),
        },
        Failure::OutOfMemory { bytes } => {
            let host = a.executor().on_host();
            let (needed, available) = (bytes.unwrap_or_else(|| a.bytes()), host.available_memory());
            let executor = host.name().to_owned();
            match available {
                Some(available) if needed > available => Error::NotEnoughMemory {
                    what: WHAT.to_owned(),
                    needed,
                    available,
                    executor,
                },
                // The system refused what it seemed to have.
                _ => Error::OutOfMemory {
                    bytes: needed,
                    executor,
                },
            }
        }
    }
}

/// Runs `work` on the threads of the executor, or of the host of a device.
fn on_threads<R: Send>(executor: &Executor, work: impl FnOnce(usize) -> R + Send) -> R {
    let executor = executor.on_host();
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
