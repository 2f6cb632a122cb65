//! What one matrix leaves for the next.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::configuration::SolverConfig;
use crate::error::{ConfigError, Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::multigrid::{Amg, Hierarchy, NearNullspace, Report, Setup};
use crate::scalar::{Mixes, Scalar};
#[cfg(feature = "direct")]
use crate::solver::DirectSetup;
use crate::solver::Method;
use crate::structured::{Generated, GridSetup, StencilMatrix, StructMg};

/// The multigrid set-up that later matrices may share.
#[derive(Debug, Default)]
pub struct Kept {
    /// What was set up as these parameters say.
    setup: Option<(Amg, Setup)>,
    /// The same of structured multigrid.
    structured: Option<(StructMg, GridSetup)>,
    /// An iteration that keeps a space from system to system, with the parameters it was made by.
    recycling: Option<(SolverConfig, Box<dyn Any + Send + Sync>)>,
    /// The order and the fill of factors.
    #[cfg(feature = "direct")]
    factors: Option<DirectSetup>,
    /// Whether the last hierarchy came from an earlier set-up.
    reused: bool,
}

impl Kept {
    /// Whether nothing is kept that takes memory already.
    pub(super) fn is_empty(&self) -> bool {
        self.setup.is_none() && self.structured.is_none()
    }

    /// Whether the last hierarchy came from an earlier set-up.
    pub(super) fn reused(&self) -> bool {
        self.reused
    }

    /// The iteration of a solver: the one of an earlier system where that has something to remember.
    pub(super) fn method<W: Mixes<W, W>>(
        &mut self,
        solver: &SolverConfig,
    ) -> Result<Arc<dyn Method<W>>, ConfigError> {
        if !matches!(solver, SolverConfig::GcroDr(_)) {
            return solver.method();
        }
        let known = self.recycling.as_ref().filter(|(of, _)| of == solver);
        if let Some(method) = known.and_then(|(_, kept)| kept.downcast_ref::<Arc<dyn Method<W>>>())
        {
            return Ok(Arc::clone(method));
        }
        let method = solver.method::<W>()?;
        self.recycling = Some((solver.clone(), Box::new(Arc::clone(&method))));
        Ok(method)
    }

    /// A hierarchy from the set-up that is kept, or else from a new one; and a message.
    pub(super) fn hierarchy<W: Scalar>(
        &mut self,
        amg: &Amg,
        a: &Arc<dyn LinOp<W>>,
        near_nullspace: &NearNullspace,
        ws: &Workspace,
    ) -> Result<(Hierarchy<W>, Option<String>)> {
        if W::KIND.is_complex() {
            // Complex levels are not renewed.
            self.reused = false;
            return Ok((amg.hierarchy_with(a, near_nullspace, ws)?, None));
        }
        self.setup.take_if(|(asked, _)| asked != amg);
        let update = |(_, setup): &mut (Amg, Setup)| setup.update_values(a, ws);
        let (hierarchy, message) = renewed("multigrid", &mut self.setup, update, || {
            let (setup, hierarchy) = amg.setup_with(a, near_nullspace, ws)?;
            Ok(((amg.clone(), setup), hierarchy))
        })?;
        let message = self.message(message, hierarchy.report());
        Ok((hierarchy, message))
    }

    /// The inverse of a matrix, in the order that was found for an earlier one of the same pattern.
    #[cfg(feature = "direct")]
    pub(super) fn factors<W: Scalar>(
        &mut self,
        make: impl FnOnce() -> Result<(DirectSetup, Arc<dyn LinOp<W>>)>,
        a: &Arc<dyn LinOp<W>>,
        ws: &Workspace,
    ) -> Result<(Arc<dyn LinOp<W>>, Option<String>)> {
        self.reused = false;
        let update = |known: &mut DirectSetup| known.update_values(a, ws);
        let (inverse, renewal) = renewed("direct", &mut self.factors, update, make)?;
        let reused = || "direct: order and fill of an earlier set-up reused".to_owned();
        Ok((inverse, renewal.unwrap_or_else(|| Some(reused()))))
    }

    /// The same for structured multigrid; of rows that ranks share the near cells of this one may be known.
    pub(super) fn structured<W: Mixes<W, W>>(
        &mut self,
        parameters: &StructMg,
        a: &Arc<dyn LinOp<W>>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<(Generated<W>, Option<String>)> {
        let near = Cell::new(near);
        self.structured.take_if(|(asked, _)| asked != parameters);
        let update =
            |(_, setup): &mut (StructMg, GridSetup)| setup.update_known(a, near.take(), ws);
        let (made, message) = renewed("multigrid", &mut self.structured, update, || {
            let made = parameters.generate_known(a, near.take(), ws)?;
            Ok(((parameters.clone(), made.setup.clone()), made))
        })?;
        let message = self.message(message, &made.report);
        Ok((made, message))
    }

    /// Notes whether levels were reused, and says so.
    fn message(&mut self, renewal: Option<Renewal>, report: &Report) -> Renewal {
        self.reused = renewal.is_none();
        let levels = report.levels.len();
        let reused = || format!("multigrid: {levels} levels of an earlier set-up reused");
        renewal.unwrap_or_else(|| Some(reused()))
    }
}

/// Why something was made anew, where something was kept.
type Renewal = Option<String>;

/// What a set-up that is kept makes of other values, or else a new one, which is kept, and why it is new.
fn renewed<S, M>(
    what: &str,
    kept: &mut Option<S>,
    update: impl FnOnce(&mut S) -> Result<M>,
    make: impl FnOnce() -> Result<(S, M)>,
) -> Result<(M, Option<Renewal>)> {
    let mut known = kept.take();
    let message = match known.as_mut().map(update) {
        None => None,
        Some(Ok(made)) => {
            *kept = known;
            return Ok((made, None));
        }
        Some(Err(error)) => Some(anew(what, error)?),
    };
    let (setup, made) = make()?;
    *kept = Some(setup);
    Ok((made, Some(message)))
}

/// The message on a matrix that an earlier set-up is not for; other errors are passed on.
fn anew(what: &str, error: Error) -> Result<String> {
    let is_of_pattern = matches!(
        error,
        Error::InvalidStructure { .. } | Error::SizeMismatch { .. } | Error::NotAStencil { .. }
    );
    match is_of_pattern {
        true => Ok(format!("{what}: set up anew: {error}")),
        false => Err(error),
    }
}

/// A set-up is given up when it needs this many times the iterations of its own matrix.
const REBUILD_RATIO: usize = 2;

/// Iterations by which it is seen whether levels still suit the matrix.
#[derive(Debug)]
pub(super) struct Staleness {
    /// Those of the first solve with levels that were made for its matrix; 0 before it.
    fresh: AtomicUsize,
    last: AtomicUsize,
}

impl Staleness {
    /// Of levels that took so many iterations with their own matrix; 0 where that is not known yet.
    pub fn new(fresh: usize) -> Self {
        let (fresh, last) = (AtomicUsize::new(fresh), AtomicUsize::new(0));
        Self { fresh, last }
    }

    /// What a solve took with these levels, and in the end.
    pub fn note(&self, iterations: usize, at_last: usize) {
        self.last.store(iterations, Relaxed);
        let first = at_last.max(1);
        let _ = self.fresh.compare_exchange(0, first, Relaxed, Relaxed);
    }

    /// The iterations with levels that were made for their matrix.
    pub fn fresh(&self) -> usize {
        self.fresh.load(Relaxed)
    }

    /// Whether the last solve took much more than the first.
    pub fn is_stale(&self) -> bool {
        self.last.load(Relaxed) > REBUILD_RATIO * self.fresh().max(1)
    }
}
