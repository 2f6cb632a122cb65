//! Factors on the host.

use std::sync::Arc;

use vcycle_direct::{
    Dissection, Factors, Failure, Limits, Method, Number, Order, Symbolic, System,
};

use super::preparation::{
    Matched, Structure, dissection, equilibration, has_small_pivots, symbolic,
};
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
    preparation: Preparation,
}

/// What is done to a matrix before it is factorised.
#[derive(Clone, Debug)]
enum Preparation {
    Nothing,
    /// Rows and columns are scaled. Rows with small entries on the diagonal find pivots once others are eliminated.
    Scaled,
    /// Large entries are moved to the diagonal, those of symmetric matrices next to it.
    Matched(Arc<Matched>),
}

impl Plan {
    /// For a matrix of this structure.
    ///
    /// # Errors
    /// When memory is short.
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
        let preparation = match structure != Structure::PerhapsDefinite && has_small_pivots(a) {
            true => Preparation::Scaled,
            false => Preparation::Nothing,
        };
        let order = Order::Best(dissection);
        Self::of(a, preparation, structure.method(), order)
    }

    fn matched<F: Field>(a: &Csr<F>, method: Method, ws: &Workspace) -> Result<Self> {
        let _stage = ws.stage("order and fill", 0);
        let (matched, pairs) = Matched::of(a, method)?;
        let order = match &pairs {
            Some(pairs) => Order::InPairs(pairs, &dissection),
            None => Order::Best(&dissection),
        };
        Self::of(a, Preparation::Matched(Arc::new(matched)), method, order)
    }

    fn of<F: Field>(
        a: &Csr<F>,
        preparation: Preparation,
        method: Method,
        order: Order<'_>,
    ) -> Result<Self> {
        let rows = match &preparation {
            Preparation::Matched(matched) => matched.rows.clone(),
            Preparation::Nothing | Preparation::Scaled => (0..a.size().rows as u32).collect(),
        };
        let host = a.executor().on_host();
        let made = on_threads(&host, |_| {
            symbolic(a.pattern(), &rows, method != Method::Lu, order)
        });
        Ok(Self {
            symbolic: Arc::new(made?),
            method,
            preparation,
        })
    }

    /// What comes next where these factors are none, or bad; the last one if nothing does.
    ///
    /// # Errors
    /// For a matrix whose pattern is singular, and when memory is short.
    pub fn next<F: Field>(&self, a: &Csr<F>, ws: &Workspace) -> Result<Option<Self>> {
        let method = match (self.method, &self.preparation) {
            (Method::Cholesky, _) => return Ok(Some(self.indefinite())),
            (Method::Lu, Preparation::Nothing | Preparation::Matched(_)) => return Ok(None),
            (method, Preparation::Scaled) if has_small_pivots(a) => method,
            _ => Method::Lu,
        };
        Self::matched(a, method, ws).map(Some)
    }

    /// The same order for a Hermitian matrix that is not definite, or for a singular matrix.
    fn indefinite(&self) -> Self {
        Self {
            symbolic: Arc::clone(&self.symbolic),
            method: match self.method {
                Method::Cholesky => Method::Ldl { hermitian: true },
                method => method,
            },
            preparation: Preparation::Scaled,
        }
    }

    /// For the same matrix, which is singular.
    ///
    /// # Errors
    /// When memory is short.
    pub fn of_singular<F: Field>(
        &self,
        a: &Csr<F>,
        structure: Structure,
        ws: &Workspace,
    ) -> Result<Self> {
        match &self.preparation {
            Preparation::Nothing | Preparation::Scaled => Ok(self.indefinite()),
            Preparation::Matched(_) => Ok(Self::new(a, structure, ws)?.indefinite()),
        }
    }

    /// Whether rows and columns are scaled so that their entries are about one.
    pub fn is_scaled(&self) -> bool {
        matches!(self.preparation, Preparation::Scaled)
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

    /// The factors of a matrix; none where it is not positive definite, though it was to be, or many rows find no
    /// pivots. Time is limited by that of the workspace.
    ///
    /// # Errors
    /// For a singular matrix, and when memory is short.
    pub fn factorise<F: Field + Number>(
        &self,
        a: &Csr<F>,
        limits: Limits,
        ws: &Workspace,
    ) -> Result<Option<HostFactors<F>>> {
        let _stage = ws.stage("factors", 0);
        let host = a.executor().on_host();
        let needed = self.symbolic.peak().saturating_mul(size_of::<F>());
        host.check_need(|| WHAT.to_owned(), needed)?;
        let scales = match &self.preparation {
            Preparation::Nothing => None,
            Preparation::Scaled => Some(Arc::new(equilibration(a, self.symbolic.symmetric))),
            Preparation::Matched(matched) => Some(Arc::clone(&matched.scales)),
        };
        let scaled = scales.as_ref().map(|scales| scaled(a, scales));
        let values = scaled.as_deref().unwrap_or(a.values());
        let limits = Limits {
            until: ws.deadline(),
            ..limits
        };
        let made = on_threads(&host, |threads| {
            Factors::new(&self.symbolic, values, self.method, limits, threads)
        });
        match made {
            Ok(factors) => Ok(Some(HostFactors { factors, scales })),
            Err(Failure::NotPositive | Failure::ManyDelays) => Ok(None),
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
    let mut scaled = Vec::with_capacity(a.nonzeros());
    for (row, scale) in rows.iter().enumerate() {
        let (places, values) = a.row(row);
        let entries = places.iter().zip(values);
        let factor = |column: u32| F::from_f64(scale * columns[column as usize]);
        scaled.extend(entries.map(|(&column, &value)| value * factor(column)));
    }
    scaled
}

/// The factors of a matrix whose rows and columns were scaled.
#[derive(Debug)]
pub(super) struct HostFactors<F> {
    factors: Factors<F>,
    scales: Option<Arc<[Vec<f64>; 2]>>,
}

impl<F: Field + Number> HostFactors<F> {
    pub fn method(&self) -> Method {
        self.factors.method()
    }

    /// The smallest pivot of Cholesky factors as a part of its diagonal entry.
    pub fn smallest_pivot(&self, a: &Csr<F>) -> Option<f64> {
        self.factors.smallest_pivot(&a.diagonal())
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
        if let Some(scales) = &self.scales {
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
