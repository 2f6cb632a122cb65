//! Factors on the host.

use std::sync::Arc;

use vcycle_direct::{
    Dissection, Factors, Failure, Limits, Method, Number, Order, Symbolic, System,
};

use super::preparation::{Matched, Structure, dissection};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::Transpose;
use crate::matrix::Csr;
use crate::scalar::Field;
use crate::vector::Vector;

/// What is named where memory is short.
pub(super) const WHAT: &str = "the factorisation of solver `direct`";

/// What a factorisation takes, as far as no pivots are left for later.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FactorCost {
    /// Multiplications, each with an addition.
    pub operations: f64,
    /// Numbers that the factors hold.
    pub fill: usize,
    /// Bytes that are held at once, the factors among them.
    pub bytes: usize,
}

/// How matrices of one pattern are factorised.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    symbolic: Arc<Symbolic>,
    method: Method,
    matched: Arc<Matched>,
}

impl Plan {
    /// The best for a matrix of this structure.
    ///
    /// # Errors
    /// For a matrix whose pattern is singular, and when memory is short.
    pub fn new<F: Field>(a: &Csr<F>, structure: Structure, ws: &Workspace) -> Result<Self> {
        Self::ordered(a, structure, &dissection, ws)
    }

    /// The same by minimum degree, which is found in less time.
    ///
    /// # Errors
    /// As those of [`new`](Self::new).
    pub fn quick<F: Field>(a: &Csr<F>, structure: Structure, ws: &Workspace) -> Result<Self> {
        Self::ordered(a, structure, &|_| None, ws)
    }

    fn ordered<F: Field>(
        a: &Csr<F>,
        structure: Structure,
        dissection: Dissection<'_>,
        ws: &Workspace,
    ) -> Result<Self> {
        let _stage = ws.stage("order and fill", 0);
        let matched = Matched::of(a, structure)?;
        let method = structure.method();
        let is_symmetric = method != Method::Lu;
        let (matched, pairs) = match is_symmetric {
            true => matched.in_pairs(a),
            false => (matched, None),
        };
        let order = match &pairs {
            Some(pairs) => Order::InPairs(pairs, dissection),
            None => Order::Best(dissection),
        };
        Ok(Self {
            symbolic: Arc::new(matched.symbolic(a.pattern(), is_symmetric, order)?),
            method,
            matched: Arc::new(matched),
        })
    }

    /// For a matrix that is singular: rows and columns are scaled, and none are moved.
    ///
    /// # Errors
    /// When memory is short.
    pub fn of_singular<F: Field>(a: &Csr<F>, structure: Structure, ws: &Workspace) -> Result<Self> {
        let _stage = ws.stage("order and fill", 0);
        let matched = Matched::equilibrated(a);
        let method = match structure {
            Structure::PerhapsDefinite => Structure::Hermitian.method(),
            other => other.method(),
        };
        let is_symmetric = method != Method::Lu;
        let symbolic = matched.symbolic(a.pattern(), is_symmetric, Order::Best(&dissection))?;
        Ok(Self {
            symbolic: Arc::new(symbolic),
            method,
            matched: Arc::new(matched),
        })
    }

    /// The same order for a Hermitian matrix that is not definite.
    pub fn indefinite(&self) -> Self {
        Self {
            method: Method::Ldl { hermitian: true },
            ..self.clone()
        }
    }

    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether matrices of this structure have such factors.
    pub fn suits(&self, structure: Structure) -> bool {
        let is_hermitian = matches!(structure, Structure::PerhapsDefinite | Structure::Hermitian);
        match self.method {
            Method::Cholesky => structure == Structure::PerhapsDefinite,
            Method::Ldl { hermitian: true } => is_hermitian,
            Method::Ldl { hermitian: false } => structure == Structure::Symmetric,
            Method::Lu => true,
        }
    }

    pub fn cost(&self) -> FactorCost {
        FactorCost {
            operations: self.symbolic.operations(),
            fill: self.symbolic.fill(),
            bytes: self.symbolic.peak().saturating_mul(size_of::<f64>()),
        }
    }

    /// The factors of a matrix; none where it is not positive definite, though it was to be. Pivots of at most `zero` are
    /// those of dependent rows.
    ///
    /// # Errors
    /// For a singular matrix, and when memory is short.
    pub fn factorise<F: Field + Number>(
        &self,
        a: &Csr<F>,
        zero: Option<f64>,
        ws: &Workspace,
    ) -> Result<Option<HostFactors<F>>> {
        let _stage = ws.stage("factors", 0);
        let host = a.executor().on_host();
        let needed = self.symbolic.peak().saturating_mul(size_of::<F>());
        host.check_need(|| WHAT.to_owned(), needed)?;
        let scaled = self.matched.scaling().map(|scales| scaled(a, scales));
        let values = scaled.as_deref().unwrap_or(a.values());
        let limits = Limits {
            zero,
            until: ws.deadline(),
        };
        let made = on_threads(&host, |threads| {
            Factors::new(&self.symbolic, values, self.method, limits, threads)
        });
        match made {
            Ok(factors) => Ok(Some(HostFactors {
                factors,
                matched: Arc::clone(&self.matched),
            })),
            Err(Failure::NotPositive) => Ok(None),
            Err(Failure::OutOfTime) => Err(Error::OutOfTime),
            Err(failure @ Failure::NoPivot { .. }) => Err(Error::Singular {
                component: "direct",
                reason: failure.to_string(),
            }),
            Err(Failure::OutOfMemory) => Err(Error::OutOfMemory {
                bytes: needed,
                executor: host.name().to_owned(),
            }),
        }
    }
}

/// The values of a matrix with its rows and columns multiplied by numbers.
fn scaled<F: Field>(a: &Csr<F>, [rows, columns]: &[Vec<f64>; 2]) -> Vec<F> {
    let of_row = |row: usize| {
        let (places, values) = a.row(row);
        let factor = move |column: u32| F::from_f64(rows[row] * columns[column as usize]);
        places
            .iter()
            .zip(values)
            .map(move |(&column, &value)| value * factor(column))
    };
    (0..a.size().rows).flat_map(of_row).collect()
}

/// The factors of a matrix whose rows and columns were scaled.
#[derive(Debug)]
pub(super) struct HostFactors<F> {
    factors: Factors<F>,
    matched: Arc<Matched>,
}

impl<F: Field + Number> HostFactors<F> {
    pub fn method(&self) -> Method {
        self.factors.method()
    }

    /// How many rows depend on others.
    pub fn dependent(&self) -> usize {
        self.factors.dependent()
    }

    /// Bytes that the factors hold.
    pub fn bytes(&self) -> usize {
        self.factors.bytes()
    }

    /// Replaces right-hand sides on the host by solutions.
    pub fn solve(
        &self,
        transposed: Option<Transpose>,
        b: &mut Vector<F>,
        ws: &Workspace,
    ) -> Result<()> {
        let system = match transposed {
            None => System::Plain,
            Some(Transpose::Plain) => System::Transposed,
            Some(Transpose::Conjugate) => System::Adjoint,
        };
        let (cols, host) = (b.cols(), b.executor().clone());
        let mut scratch = ws.vector::<F>(&host, self.factors.scratch(), cols)?;
        let (values, scratch) = (b.host_mut()?, scratch.host_mut()?);
        let (first, last) = match transposed {
            None => (0, 1),
            Some(_) => (1, 0),
        };
        self.scale(first, values, cols);
        on_threads(&host, |threads| {
            self.factors.solve(system, values, scratch, cols, threads);
        });
        self.scale(last, values, cols);
        Ok(())
    }

    fn scale(&self, side: usize, values: &mut [F], cols: usize) {
        if let Some(scales) = self.matched.scaling() {
            for (row, &scale) in values.chunks_exact_mut(cols).zip(&scales[side]) {
                for value in row {
                    *value *= F::from_f64(scale);
                }
            }
        }
    }
}

/// Runs `work` on the threads of an executor.
fn on_threads<R: Send>(host: &Executor, work: impl FnOnce(usize) -> R + Send) -> R {
    let threads = host.threads();
    match host.pool() {
        Some(pool) => pool.install(|| work(threads)),
        None => work(threads),
    }
}
