//! Factors on the host, by the crate `faer`.

use std::fmt::{Debug, Formatter};

use vcycle_direct::{Factors, Failure, Memory, Number, Rows, Symbolic, System};

use super::checks::Quality;
use crate::error::{Error, Result};
use crate::executor::{Executor, Pooled, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose, check_apply};
use crate::matrix::Csr;
use crate::scalar::{Field, Scalar};
use crate::vector::Vector;

/// The factors of a matrix.
pub(super) struct Factorised<F> {
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
    /// Of a matrix on any executor; what is known of one of the same pattern is not found again.
    ///
    /// # Errors
    /// For a singular matrix, and when memory is short.
    pub fn new(
        a: &Csr<F>,
        hermitian: bool,
        known: Option<&Symbolic>,
        ws: &Workspace,
    ) -> Result<Self> {
        let columns: Vec<usize> = a.columns().iter().map(|&column| column as usize).collect();
        let rows = Rows {
            offsets: a.offsets(),
            columns: &columns,
            values: a.values(),
            hermitian,
            memory: a.executor().on_host().available_memory(),
        };
        let factors = on_threads(a.executor(), |threads| F::factorise(rows, known, threads))
            .map_err(|failure| told(failure, a))?;
        let factorised = Self {
            executor: a.executor().clone(),
            n: a.size().rows,
            bytes: factors.bytes().max(a.bytes()),
            factors,
        };
        Quality::of(&factorised, a, ws)?.check_regular()?;
        Ok(factorised)
    }

    /// What matrices of the same pattern share.
    pub fn symbolic(&self) -> Symbolic {
        self.factors.symbolic()
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
        if self.executor.is_device() {
            let mut here = ws.vector::<F>(&self.executor.on_host(), rows, cols)?;
            work.read(here.host_mut()?)?;
            self.solve_in_place(system, &mut here, ws)?;
            work.write(here.host()?)?;
        } else {
            self.solve_in_place(system, &mut work, ws)?;
        }
        x.copy_from(&*work)
    }

    /// Replaces right-hand sides on the host by solutions.
    fn solve_in_place(&self, system: System, b: &mut Vector<F>, ws: &Workspace) -> Result<()> {
        let (cols, host) = (b.cols(), self.executor.on_host());
        let need = self.factors.memory(cols, host.threads());
        let mut stack = ws.take::<Stack>(&host, need, 1)?;
        let (values, memory) = (b.host_mut()?, &mut stack.memory);
        on_threads(&host, |threads| {
            self.factors.solve(system, values, cols, threads, memory);
        });
        Ok(())
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
fn told<F: Field>(failure: Failure, a: &Csr<F>) -> Error {
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
                    what: "the factorisation of solver `direct`".to_owned(),
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
