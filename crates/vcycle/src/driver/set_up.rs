//! The set-up of one attempt.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use vcycle_core::matrix::{StoredMatrix, WorkingScalar};

use super::attempt::Attempt;
use super::factors::{Analysed, Known, factors};
use super::kept::Kept;
use super::matrix::format_of;
use super::projection::Projection;
use super::ready::{Made, SolverIn};
use super::{System, SystemMatrix};
use crate::configuration::{
    Config, MatrixFormat, Nullspace, PreconditionerConfig, Preprocessing, RunConfig, Unit,
};
use crate::error::{ConfigError, Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::multigrid::{Amg, LevelPrecisions, NearNullspace, Report};
use crate::precond::Preprocessed;
use crate::scalar::{Kind, c32, c64};
use crate::solver::{Solver, SolverFactory};
use crate::stop::Stop;
use crate::structured::{StencilMatrix, StructMg};
use crate::vector::Vector;

/// What attempts are set up for.
pub struct Setting<'d, T> {
    pub(super) config: Cow<'d, Config>,
    pub(super) system: &'d System<T>,
    /// What is taken out of vectors, of a singular matrix.
    pub(super) nullspace: Option<Cow<'d, Projection>>,
    /// The matrix as a stencil, where that had to be known to choose a solver.
    pub(super) stencil: Option<StencilMatrix<f64>>,
    pub(super) kept: Option<&'d mut Kept>,
    /// The matrix without the rounding that costs it its symmetry: what preconditioners and factors are made of. Products and
    /// residuals are those of the system.
    pub(super) symmetrised: Option<Arc<Csr<T>>>,
    /// Order and fill of factors, where they are known.
    pub(super) analysed: Option<Analysed>,
    pub(super) stop: Stop,
    pub(super) ws: &'d Workspace,
    /// The matrix for products, a `StoredMatrix` in the precision of the attempts, once it is made.
    pub(super) stored: Option<Box<dyn Any>>,
}

impl<'d, T> Setting<'d, T> {
    /// Of a system of which nothing more is known.
    pub(super) fn new(
        config: &'d Config,
        system: &'d System<T>,
        stop: Stop,
        ws: &'d Workspace,
    ) -> Self {
        Self {
            config: Cow::Borrowed(config),
            system,
            nullspace: None,
            stencil: None,
            kept: None,
            symmetrised: None,
            analysed: None,
            stop,
            ws,
            stored: None,
        }
    }
}

/// A type systems are given in: `f64` or [`c64`]. Being no generic functions, those that set up are compiled here once, with
/// all solvers, and not again by every crate that calls them.
pub trait Wide: WorkingScalar<Wide = Self> {
    /// Stores the matrix in the precision that is asked for, before the first attempt.
    #[doc(hidden)]
    fn store_system(setting: &mut Setting<'_, Self>) -> Result<()>;

    /// Sets up an attempt in that precision, and adds messages. Ranks that share the rows call it together.
    #[doc(hidden)]
    fn set_up(
        setting: &mut Setting<'_, Self>,
        attempt: &Attempt,
        messages: &mut Vec<String>,
    ) -> Result<Made<Self>>;

    /// Rounds numbers to single precision.
    #[doc(hidden)]
    fn round_to_single(x: &mut Vector<Self>) -> Result<()>;
}

macro_rules! wide {
    ($($wide:ty, $narrow:ty;)*) => {$(
        impl Wide for $wide {
            fn store_system(setting: &mut Setting<'_, Self>) -> Result<()> {
                match is_narrow(&setting.config) {
                    true => stored::<Self, $narrow>(setting).map(drop),
                    false => stored::<Self, Self>(setting).map(drop),
                }
            }

            fn set_up(
                setting: &mut Setting<'_, Self>,
                attempt: &Attempt,
                messages: &mut Vec<String>,
            ) -> Result<Made<Self>> {
                match is_narrow(&setting.config) {
                    true => InPrecision::<Self, $narrow>::new(setting)?.set_up(attempt, messages),
                    false => InPrecision::<Self, Self>::new(setting)?.set_up(attempt, messages),
                }
            }

            fn round_to_single(x: &mut Vector<Self>) -> Result<()> {
                let mut single = Vector::<$narrow>::zeros_like(x)?;
                single.copy_from(x)?;
                x.copy_from(&single)
            }
        }
    )*};
}

wide! { f64, f32; c64, c32; }

/// Whether solvers compute in less than double precision.
fn is_narrow(config: &Config) -> bool {
    config.precision.unwrap_or_default().working != Unit::Double
}

/// The matrix for vectors of `W`, made the first time.
fn stored<T: WorkingScalar, W: WorkingScalar<Wide = T>>(
    setting: &mut Setting<'_, T>,
) -> Result<StoredMatrix<W>> {
    let known = setting.stored.as_ref();
    if let Some(known) = known.and_then(|known| known.downcast_ref::<StoredMatrix<W>>()) {
        return Ok(known.clone());
    }
    let (config, system) = (&setting.config, setting.system);
    let near = system.near_nullspace.as_ref();
    let block_size = near.map_or(1, NearNullspace::block_size);
    let unit = config.precision.unwrap_or_default().matrix;
    let mut made = system.matrix.stored::<W>(unit, config.format, block_size)?;
    if let Some(symmetrised) = &setting.symmetrised {
        let symmetrised = SystemMatrix::Whole(Arc::clone(symmetrised));
        let rows = symmetrised.stored::<W>(unit, Some(MatrixFormat::Csr), block_size)?;
        made.entries = rows.entries;
    }
    setting.stored = Some(Box::new(made.clone()));
    Ok(made)
}

/// Sets up attempts with vectors of `W`.
struct InPrecision<'s, 'd, T, W: WorkingScalar> {
    setting: &'s mut Setting<'d, T>,
    matrix: StoredMatrix<W>,
}

/// A solver, what finds its initial guess if that is not zero, and the levels of multigrid with their parameters decided.
type Built<W> = (
    Solver<W>,
    Option<Arc<dyn LinOp<W>>>,
    Option<(Report, PreconditionerConfig)>,
);

impl<'s, 'd, T: WorkingScalar, W: WorkingScalar<Wide = T>> InPrecision<'s, 'd, T, W> {
    fn new(setting: &'s mut Setting<'d, T>) -> Result<Self> {
        let matrix = stored(setting)?;
        Ok(Self { setting, matrix })
    }

    fn set_up(&mut self, attempt: &Attempt, messages: &mut Vec<String>) -> Result<Made<T>> {
        let (solver, start, multigrid) = self.build(attempt, messages)?;
        let (multigrid, decided) = multigrid.unzip();
        let config = self.decided_config(attempt, decided);
        let precision = config.precision.unwrap_or_default();
        Ok(Made {
            bytes: solver.footprint().held,
            multigrid,
            iteration: Box::new(SolverIn {
                solver,
                start,
                precision,
            }),
            config,
        })
    }

    /// The configuration with every `auto` decided.
    fn decided_config(&self, attempt: &Attempt, decided: Option<PreconditionerConfig>) -> Config {
        let mut config = self.setting.config.clone().into_owned();
        attempt.configure(&mut config);
        if let Some(decided) = decided {
            config.preconditioner = decided;
        }
        config.precision = Some(config.precision.unwrap_or_default());
        let a = &self.setting.system.matrix;
        if a.shared().is_none() {
            config.format = Some(format_of(&self.matrix));
        }
        config.run = RunConfig::of(a.executor());
        config
    }

    /// Sets up an attempt. Ranks that share the rows call it together.
    fn build(&mut self, attempt: &Attempt, messages: &mut Vec<String>) -> Result<Built<W>> {
        attempt.check()?;
        let method = match &mut self.setting.kept {
            Some(kept) => kept.method(&attempt.solver)?,
            None => attempt.solver.method()?,
        };
        let factory = SolverFactory {
            method,
            preconditioner: None,
            stop: self.setting.stop.clone(),
        };
        let preconditioner = attempt.preconditioner_factory()?;
        if let PreconditionerConfig::StructMg(parameters) = &attempt.preconditioner {
            return self.structured(&factory, parameters, messages);
        }
        let solver = factory.solver(&self.matrix.operator, self.setting.ws)?;
        let Some(preconditioner) = preconditioner else {
            return Ok((solver, None, None));
        };
        let known = Known {
            analysed: self.setting.analysed.take(),
            kept: self.setting.kept.as_deref_mut(),
        };
        let made = factors(attempt, &self.matrix.entries, known, self.setting.ws)?;
        if let Some((inverse, message)) = made {
            messages.extend(message);
            return Ok((solver.with_preconditioner(inverse)?, None, None));
        }
        let prepared = self.prepared(attempt, messages)?;
        if let PreconditionerConfig::Amg(amg) = &attempt.preconditioner {
            return self.multigrid(solver, amg.clone(), prepared.as_ref(), messages);
        }
        let a = prepared
            .as_ref()
            .map_or(&self.matrix.entries, Preprocessed::matrix);
        let made = preconditioner.generate(a, self.setting.ws)?;
        let inverse = undone(prepared.as_ref(), made)?;
        Ok((solver.with_preconditioner(inverse)?, None, None))
    }

    /// What the preconditioner is made of, where that is not the matrix itself.
    fn prepared(
        &mut self,
        attempt: &Attempt,
        messages: &mut Vec<String>,
    ) -> Result<Option<Preprocessed<W>>> {
        if attempt.preprocessing.is_none() {
            return Ok(None);
        }
        let (a, ws) = (&self.matrix.entries, self.setting.ws);
        let prepared = attempt.preprocessing.prepare(a, ws)?;
        report_once(messages, prepared.notes().to_vec());
        Ok(Some(prepared))
    }

    fn multigrid(
        &mut self,
        solver: Solver<W>,
        mut amg: Amg,
        prepared: Option<&Preprocessed<W>>,
        messages: &mut Vec<String>,
    ) -> Result<Built<W>> {
        let double = LevelPrecisions::uniform(Unit::Double);
        if self.setting.nullspace.is_some() && amg.precision != double {
            let why = "singular: cycles in double precision, so that rounding does not reintroduce the null space";
            messages.push(why.to_owned());
            amg.precision = double;
        }
        let components = NearNullspace::components(amg.block_size)?;
        let near = self.setting.system.near_nullspace.as_ref();
        let near = near.unwrap_or(&components);
        let a = &self.matrix.entries;
        let (hierarchy, reused) = match (&mut self.setting.kept, prepared) {
            (_, Some(prepared)) => {
                let near = near_nullspace_of(prepared, near)?;
                let made = amg.hierarchy_with(prepared.matrix(), &near, self.setting.ws)?;
                (made, None)
            }
            (None, None) => (amg.hierarchy_with(a, near, self.setting.ws)?, None),
            (Some(kept), None) => kept.hierarchy(&amg, a, near, self.setting.ws)?,
        };
        messages.extend(reused);
        let report = hierarchy.report().clone();
        messages.extend(report.stalled.clone());
        report_once(messages, report.notes.clone());
        messages.extend(report.scaling_note());
        let start = match amg.fmg_start {
            true => Some(undone(prepared, Arc::clone(hierarchy.full_multigrid()))?),
            false => None,
        };
        let decided = PreconditionerConfig::Amg(hierarchy.amg().clone());
        let solver = solver.with_preconditioner(undone(prepared, hierarchy.shared())?)?;
        Ok((solver, start, Some((report, decided))))
    }

    /// The products are those of the stencil, too. Cells in double precision are for vectors in double precision.
    fn structured(
        &mut self,
        factory: &SolverFactory<W>,
        parameters: &StructMg,
        messages: &mut Vec<String>,
    ) -> Result<Built<W>> {
        let stencil = self.setting.stencil.take().filter(|_| W::KIND == Kind::F64);
        let mut anew = Kept::default();
        let kept = self.setting.kept.as_deref_mut().unwrap_or(&mut anew);
        let mut known: Option<Arc<dyn LinOp<W>>> = None;
        let (a, near) = match &self.setting.system.matrix {
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
        let (made, reused) = kept.structured(parameters, a, near, self.setting.ws)?;
        messages.extend(reused);
        messages.extend(made.report.notes.clone());
        messages.extend(made.report.scaling_note());
        let matrix = made.matrix.as_ref().or(known.as_ref());
        let solver = factory.solver(matrix.unwrap_or(&self.matrix.operator), self.setting.ws)?;
        let decided = PreconditionerConfig::StructMg(made.parameters);
        let solver = solver.with_preconditioner(made.operator)?;
        Ok((solver, None, Some((made.report, decided))))
    }
}

/// Adds what is not there yet, from an earlier attempt say.
pub(super) fn report_once(messages: &mut Vec<String>, notes: Vec<String>) {
    for note in notes {
        if !messages.contains(&note) {
            messages.push(note);
        }
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
