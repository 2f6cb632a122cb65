//! The set-up of one attempt.

use std::any::Any;
use std::sync::Arc;

use vcycle_core::matrix::WorkingScalar;

use super::SystemMatrix;
use super::auto::Attempt;
use super::sequence::Kept;
use super::storage::Wide;
use super::tries::Tries;
use crate::configuration::{Config, Nullspace, PreconditionerConfig, Preprocessing, Unit};
use crate::error::{ConfigError, Error, Result};
use crate::linop::LinOp;
use crate::multigrid::{Amg, LevelPrecisions, NearNullspace, Report};
use crate::precond::Preprocessed;
use crate::scalar::Kind;
use crate::solver::{Solver, SolverFactory};
use crate::structured::StructMg;

/// What the set-up of an attempt makes.
pub(super) struct Made<W: WorkingScalar> {
    pub solver: Solver<W>,
    /// What finds the initial guess, if that is not zero.
    pub start: Option<Arc<dyn LinOp<W>>>,
    pub multigrid: Option<Report>,
    /// The parameters of multigrid with every `auto` decided.
    pub decided: Option<PreconditionerConfig>,
}

impl<W: WorkingScalar> From<Solver<W>> for Made<W> {
    fn from(solver: Solver<W>) -> Self {
        Self {
            solver,
            start: None,
            multigrid: None,
            decided: None,
        }
    }
}

impl<T: Wide, W: WorkingScalar<Wide = T>> Tries<'_, T, W> {
    /// Sets up an attempt. Ranks that share the rows call it together.
    pub fn build(&mut self, attempt: &Attempt) -> Result<Made<W>> {
        attempt.check()?;
        let method = match &mut self.kept {
            Some(kept) => kept.method(&attempt.solver)?,
            None => attempt.solver.method()?,
        };
        let factory = SolverFactory {
            method,
            preconditioner: None,
            stop: self.stop.clone(),
        };
        let preconditioner = attempt.preconditioner_factory()?;
        if let PreconditionerConfig::StructMg(parameters) = &attempt.preconditioner {
            return self.structured(&factory, parameters);
        }
        let solver = factory.solver(&self.matrix.operator, self.ws)?;
        match (preconditioner, &attempt.preconditioner) {
            (None, _) => Ok(solver.into()),
            (Some(_), PreconditionerConfig::Amg(amg)) => {
                let prepared = self.prepared(attempt)?;
                self.multigrid(solver, amg.clone(), prepared.as_ref())
            }
            (Some(factory), _) => {
                if let Some(inverse) = self.factors(attempt)? {
                    return Ok(solver.with_preconditioner(inverse)?.into());
                }
                let prepared = self.prepared(attempt)?;
                let a = prepared
                    .as_ref()
                    .map_or(&self.matrix.entries, Preprocessed::matrix);
                let made = factory.generate(a, self.ws)?;
                let made = undone(prepared.as_ref(), made)?;
                Ok(solver.with_preconditioner(made)?.into())
            }
        }
    }

    /// The inverse of the direct solver, where earlier matrices may have left an order for it.
    #[cfg(feature = "direct")]
    fn factors(&mut self, attempt: &Attempt) -> Result<Option<Arc<dyn LinOp<W>>>> {
        let (Some(kept), crate::configuration::SolverConfig::Direct(direct)) =
            (&mut self.kept, &attempt.solver)
        else {
            return Ok(None);
        };
        let (inverse, reused) = kept.factors(direct, &self.matrix.entries, self.ws)?;
        self.report(reused);
        Ok(Some(inverse))
    }

    #[cfg(not(feature = "direct"))]
    fn factors(&mut self, _: &Attempt) -> Result<Option<Arc<dyn LinOp<W>>>> {
        Ok(None)
    }

    /// What the preconditioner is made of, where that is not the matrix itself.
    fn prepared(&mut self, attempt: &Attempt) -> Result<Option<Preprocessed<W>>> {
        if attempt.preprocessing.is_none() {
            return Ok(None);
        }
        let prepared = attempt
            .preprocessing
            .prepare(&self.matrix.entries, self.ws)?;
        self.report_once(prepared.notes().to_vec());
        Ok(Some(prepared))
    }

    fn multigrid(
        &mut self,
        solver: Solver<W>,
        mut amg: Amg,
        prepared: Option<&Preprocessed<W>>,
    ) -> Result<Made<W>> {
        let double = LevelPrecisions::uniform(Unit::Double);
        if self.nullspace.is_some() && amg.precision != double {
            let why = "singular: cycles in double precision, so that rounding does not reintroduce the null space";
            self.report([why.to_owned()]);
            amg.precision = double;
        }
        let components = NearNullspace::components(amg.block_size)?;
        let near = self.system.near_nullspace.as_ref().unwrap_or(&components);
        let a = &self.matrix.entries;
        let (hierarchy, reused) = match (&mut self.kept, prepared) {
            (_, Some(prepared)) => {
                let near = near_nullspace_of(prepared, near)?;
                let made = amg.hierarchy_with(prepared.matrix(), &near, self.ws)?;
                (made, None)
            }
            (None, None) => (amg.hierarchy_with(a, near, self.ws)?, None),
            (Some(kept), None) => kept.hierarchy(&amg, a, near, self.ws)?,
        };
        self.report(reused);
        let report = hierarchy.report().clone();
        self.report(report.stalled.clone());
        self.report_once(report.notes.clone());
        self.report(report.scaling_note());
        let start = match amg.fmg_start {
            true => Some(undone(prepared, Arc::clone(hierarchy.full_multigrid()))?),
            false => None,
        };
        Ok(Made {
            decided: Some(PreconditionerConfig::Amg(hierarchy.amg().clone())),
            solver: solver.with_preconditioner(undone(prepared, hierarchy.shared())?)?,
            start,
            multigrid: Some(report),
        })
    }

    /// The products are those of the stencil, too. Cells in double precision are for vectors in double precision.
    fn structured(&mut self, factory: &SolverFactory<W>, parameters: &StructMg) -> Result<Made<W>> {
        let stencil = self.stencil.take().filter(|_| W::KIND == Kind::F64);
        let mut anew = Kept::default();
        let kept = self.kept.as_deref_mut().unwrap_or(&mut anew);
        let mut known: Option<Arc<dyn LinOp<W>>> = None;
        let (a, near) = match &self.system.matrix {
            SystemMatrix::Shared(_) => (&self.matrix.entries, stencil),
            SystemMatrix::Whole(_) => {
                let stencil = stencil.map(|stencil| Arc::new(stencil) as Arc<dyn LinOp<f64>>);
                known = stencil.and_then(|stencil| {
                    let any: &dyn Any = &stencil;
                    any.downcast_ref::<Arc<dyn LinOp<W>>>().cloned()
                });
                (known.as_ref().unwrap_or(&self.matrix.entries), None)
            }
        };
        let (made, reused) = kept.structured(parameters, a, near, self.ws)?;
        self.report(reused);
        self.report(made.report.notes.clone());
        self.report(made.report.scaling_note());
        let matrix = made.matrix.as_ref().or(known.as_ref());
        let solver = factory.solver(matrix.unwrap_or(&self.matrix.operator), self.ws)?;
        Ok(Made {
            solver: solver.with_preconditioner(made.operator)?,
            start: None,
            multigrid: Some(made.report),
            decided: Some(PreconditionerConfig::StructMg(made.parameters)),
        })
    }
}

/// An approximate inverse of the matrix, from one of what was made of it.
fn undone<W: WorkingScalar>(
    prepared: Option<&Preprocessed<W>>,
    inverse: Arc<dyn LinOp<W>>,
) -> Result<Arc<dyn LinOp<W>>> {
    match prepared {
        None => Ok(inverse),
        Some(prepared) => prepared.undo(inverse),
    }
}

/// What the matrix that was made of the given one nearly annihilates.
fn near_nullspace_of<W: WorkingScalar>(
    prepared: &Preprocessed<W>,
    near: &NearNullspace,
) -> Result<NearNullspace> {
    if near.block_size() > 1 {
        let why = "equilibrate, match and reorder are for one unknown per node: reordering would separate a node's unknowns";
        return Err(ConfigError::Conflict(why.to_owned()).into());
    }
    let rows = prepared.matrix().size().rows;
    let constant = [vec![1.0; rows]];
    let vectors = match near.vectors() {
        [] => &constant[..],
        vectors => vectors,
    };
    let moved: Result<Vec<_>> = vectors.iter().map(|v| prepared.unknowns(v)).collect();
    NearNullspace::new(1, moved?)
}

/// Fails for what is not made for ranks.
pub(super) fn check_for_ranks(config: &Config) -> Result<()> {
    config.solver.registration().check_over_ranks()?;
    config.preconditioner.registration().check_over_ranks()?;
    let preprocessing = config.preprocessing(Preprocessing::default());
    if preprocessing.is_none() && config.nullspace != Nullspace::NearNullspace {
        return Ok(());
    }
    Err(Error::Unsupported {
        component: "equilibrate, match, reorder and nullspace = near-nullspace".to_owned(),
        operation: "matrices whose rows several ranks share".to_owned(),
    })
}
