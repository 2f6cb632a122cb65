//! Set-ups that are kept, and hierarchies made from them for matrices of the same pattern with new values.

use std::sync::Arc;

use vcycle_kernels::compiled;

use super::amg::Amg;
use super::clock::Clock;
use super::coarsest::KeptFactors;
use super::finest::{finest, placed};
use super::hierarchy::Hierarchy;
use super::interpolate::spectral_radius;
use super::near_nullspace::NearNullspace;
use super::precision::LevelPrecisions;
use super::scaling::LevelScaling;
use super::shared::{self, SharedSetup, is_shared};
use super::steps::{Record, analysed, coarsen, product, without_empty_rows};
use super::systems::Unknowns;
use super::working::{Matrices, Transfer};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size};
use crate::matrix::{Csr, Galerkin, Pattern};
use crate::scalar::Scalar;

/// What a hierarchy can share with those of other matrices that have the same pattern.
///
/// Made by [`Amg::setup`] together with the first hierarchy. For other values
/// [`update_values`](Self::update_values) keeps the transfer operators and the places of the
/// entries of coarse matrices, and makes anew what depends on values: coarse matrices, smoothers,
/// coarsest solver, scaling. Whatever `auto` has decided for the first matrix stays so.
///
/// **Choose it** for time steps and Newton iterations in which the matrix changes little by little:
/// the transfer operators of one matrix then suit the next. Where iterations grow,
/// [keep fewer levels](Self::keeping) or set up anew. It holds the transfer operators in double
/// precision, beside what the hierarchies hold themselves. Of a matrix that ranks share all call everything together, and
/// the levels that are gathered, which are small, are always coarsened anew.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, matrix::Csr, multigrid::Amg};
/// let (cpu, ws) = (Executor::cpu(), Workspace::new());
/// let k = gallery::build("poisson5:64", &cpu)?.matrix;
/// let implicit = |dt| k.add(dt, 1.0, &Csr::identity(&cpu, 64 * 64));
/// let a: Arc<dyn LinOp<f64>> = Arc::new(implicit(10.0)?);
/// let (setup, first) = Amg::default().setup(&a, &ws)?;
/// let a: Arc<dyn LinOp<f64>> = Arc::new(implicit(20.0)?);
/// let second = setup.update_values(&a, &ws)?;
/// assert_eq!(second.report().levels.len(), first.report().levels.len());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Setup {
    amg: Amg,
    /// Of the finest matrix.
    pattern: Arc<Pattern>,
    steps: Vec<Step>,
    /// Whether the levels below the steps are coarsened anew.
    anew: bool,
    /// Why there are no levels below the steps, if that is not for being small.
    stalled: Option<String>,
    /// Of the coarsest level.
    factors: KeptFactors,
    /// What is kept instead of steps where ranks share the matrix.
    shared: Option<SharedSetup>,
}

/// The matrices of one level, see [`Setup::matrices`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LevelMatrices {
    /// Of this level.
    pub a: Arc<Csr<f64>>,
    /// To the next level; none on the coarsest.
    pub restriction: Option<Arc<Csr<f64>>>,
    /// From the next level; none on the coarsest.
    pub prolongation: Option<Arc<Csr<f64>>>,
}

/// What is kept of the way from one level to the next.
#[derive(Clone, Debug)]
struct Step {
    transfer: Transfer,
    block: Size,
    /// None where the patterns depend on values: products by blocks leave out zeros.
    product: Option<Galerkin>,
    /// Of the next level.
    unknowns: Unknowns,
    /// Whether the spectral radius of the matrix was found on the way.
    measured: bool,
}

impl Amg {
    /// Sets up all levels for `a` as [`hierarchy`](Amg::hierarchy) does, and keeps what
    /// hierarchies for matrices with other values can share.
    ///
    /// # Errors
    /// As those of [`hierarchy`](Amg::hierarchy).
    pub fn setup<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<(Setup, Hierarchy<T>)> {
        self.setup_with(a, &NearNullspace::components(self.block_size)?, ws)
    }

    /// [`setup`](Amg::setup) for a matrix that nearly annihilates given vectors.
    ///
    /// # Errors
    /// As those of [`hierarchy_with`](Amg::hierarchy_with).
    pub fn setup_with<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        near_nullspace: &NearNullspace,
        ws: &Workspace,
    ) -> Result<(Setup, Hierarchy<T>)> {
        compiled!(working T:
            fn(&Amg, &Arc<dyn LinOp<T>>, &NearNullspace, &Workspace) -> Result<(Setup, Hierarchy<T>)> = set_up
        )(self, a, near_nullspace, ws)
    }
}

fn set_up<T: Scalar>(
    amg: &Amg,
    a: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    ws: &Workspace,
) -> Result<(Setup, Hierarchy<T>)> {
    let _stage = ws.stage("amg set-up", 0);
    amg.check(near_nullspace)?;
    let clock = Clock::new(ws, a.executor());
    if is_shared(a.as_ref()) {
        return set_up_shared(amg, a, near_nullspace, clock);
    }
    let (amg, mut levels, unknowns) = analysed(amg, a, near_nullspace, &clock)?;
    let mut records = Vec::new();
    let stalled = coarsen(&amg, 0, &mut levels, unknowns, &clock, Some(&mut records))?;
    let setup = Setup {
        amg: amg.clone(),
        pattern: Arc::clone(levels[0].a.pattern()),
        steps: steps(&levels, records),
        anew: false,
        stalled: stalled.clone(),
        factors: coarsest_factors(&levels),
        shared: None,
    };
    let hierarchy = Hierarchy::of_levels(amg, a, levels, stalled, clock)?;
    Ok((setup, hierarchy))
}

/// The same of a matrix that ranks share.
fn set_up_shared<T: Scalar>(
    amg: &Amg,
    a: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: Clock<'_>,
) -> Result<(Setup, Hierarchy<T>)> {
    let made = shared::set_up(amg, a, near_nullspace, &clock)?;
    let shared = SharedSetup::of(&made);
    let setup = Setup {
        amg: made.amg.clone(),
        pattern: Arc::clone(shared.pattern()),
        steps: Vec::new(),
        anew: false,
        stalled: None,
        factors: KeptFactors::default(),
        shared: Some(shared),
    };
    Ok((setup, Hierarchy::of_made(made, a, clock)?))
}

/// What the hierarchy to come will have found of its coarsest level.
fn coarsest_factors(levels: &[Matrices]) -> KeptFactors {
    levels
        .last()
        .map_or_else(KeptFactors::default, |level| level.factors.clone())
}

fn steps(levels: &[Matrices], records: Vec<Record>) -> Vec<Step> {
    let way = |level: &Matrices| Some((level.transfer.clone()?, level.radius.is_some()));
    let ways = levels.iter().filter_map(way);
    let mut by_rows = true;
    let step = |((transfer, measured), record): ((Transfer, bool), Record)| {
        by_rows &= record.product.is_some();
        Step {
            transfer,
            block: record.block,
            product: record.product.filter(|_| by_rows),
            unknowns: record.unknowns,
            measured,
        }
    };
    ways.zip(records).map(step).collect()
}

impl Setup {
    /// Keeps the transfer operators from the finest `levels` levels alone: those below are
    /// coarsened anew for every matrix. More than there are keep everything, as without this.
    ///
    /// # Errors
    /// For no levels: [`Amg::hierarchy`] is what keeps nothing.
    pub fn keeping(mut self, levels: usize) -> Result<Self> {
        if levels == 0 {
            return Err(Error::bad_parameter("levels", "at least one is kept"));
        }
        if levels < self.steps.len() {
            self.steps.truncate(levels);
            self.anew = true;
        }
        Ok(self)
    }

    /// Stores the hierarchies to come in other precisions: one coarsening serves them all.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, multigrid::Amg};
    /// use vcycle::multigrid::LevelScaling;
    /// let ws = Workspace::new();
    /// let a = gallery::build("poisson5:64", &Executor::cpu())?.matrix;
    /// let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    /// let (setup, single) = Amg::default().setup(&a, &ws)?;
    /// let halves = setup.storing("sp/hp".parse()?, LevelScaling::Auto).update_values(&a, &ws)?;
    /// assert!(halves.report().bytes() < single.report().bytes());
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    #[must_use]
    pub fn storing(mut self, precision: LevelPrecisions, scaling: LevelScaling) -> Self {
        self.amg.precision = precision;
        self.amg.scaling = scaling;
        self
    }

    /// The hierarchy for a matrix with the pattern of the first one, stored zeros included.
    ///
    /// # Errors
    /// For a matrix of another size or pattern or on another executor, and as those of
    /// [`Amg::hierarchy`].
    pub fn update_values<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Hierarchy<T>> {
        compiled!(working T: fn(&Setup, &Arc<dyn LinOp<T>>, &Workspace) -> Result<Hierarchy<T>>
            = |setup, a, ws| {
                let _stage = ws.stage("amg update", 0);
                let clock = Clock::new(ws, a.executor());
                if let Some(shared) = &setup.shared {
                    let made = shared.updated(&setup.amg, a, &clock)?;
                    return Hierarchy::of_made(made, a, clock);
                }
                let (levels, stalled) = setup.updated(a, &clock)?;
                Hierarchy::of_levels(setup.amg.clone(), a, levels, stalled, clock)
            }
        )(self, a, ws)
    }

    /// The matrices a hierarchy of `a` is made of, from the finest level down, in double precision
    /// and before any scaling. Coarse ones are computed here: hierarchies keep what they work with.
    ///
    /// # Errors
    /// As those of [`update_values`](Self::update_values).
    pub fn matrices<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Vec<LevelMatrices>> {
        let (levels, _) = self.updated(a, &Clock::new(ws, a.executor()))?;
        let matrices = |level: Matrices| LevelMatrices {
            a: level.a,
            restriction: level.transfer.as_ref().map(|t| Arc::clone(&t.restriction)),
            prolongation: level.transfer.map(|t| t.prolongation),
        };
        Ok(levels.into_iter().map(matrices).collect())
    }

    /// All levels for other values, and why there are no more if that is not for being small.
    fn updated<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        clock: &Clock<'_>,
    ) -> Result<(Vec<Matrices>, Option<String>)> {
        let finest = {
            let _stage = clock.stage(0, "analysis");
            let finest = finest(self.amg.host_rows_needed(), a)?;
            self.check(finest.pattern())?;
            finest
        };
        let mut levels = self.renewed(finest, clock)?;
        let stalled = match self.steps.last() {
            Some(last) if self.anew => coarsen(
                &self.amg,
                0,
                &mut levels,
                last.unknowns.clone(),
                clock,
                None,
            )?,
            _ => self.stalled.clone(),
        };
        if let Some(coarsest) = levels.last_mut() {
            coarsest.factors = self.factors.clone();
        }
        Ok((levels, stalled))
    }

    fn check(&self, found: &Pattern) -> Result<()> {
        let operation = "update of values";
        let kept = &self.pattern;
        check_size(operation, kept.size(), found.size())?;
        kept.executor().check_same(found.executor(), operation)?;
        if kept.same_as(found) {
            return Ok(());
        }
        let columns = |pattern: &Pattern, row| pattern.columns()[pattern.range(row)].to_vec();
        let differs = |row: &usize| columns(kept, *row) != columns(found, *row);
        let row = (0..found.size().rows).find(differs);
        let row = row.expect("patterns differ in a row");
        Err(Error::InvalidStructure {
            format: operation,
            reason: format!("row {row} has not the pattern of the matrix that was set up"),
        })
    }

    /// The levels that the transfer operators lead to.
    fn renewed(&self, finest: Arc<Csr<f64>>, clock: &Clock<'_>) -> Result<Vec<Matrices>> {
        let mut levels = Vec::new();
        let mut a = finest;
        for (number, step) in self.steps.iter().enumerate() {
            let _stage = clock.stage(number, "galerkin");
            let coarse = step.coarse(&a, &self.amg)?;
            let coarse = step.unknowns.filtered(coarse, self.amg.coarse_filter)?;
            let radius = step.measured.then(|| spectral_radius(&a)).transpose()?;
            let transfer = Some(step.transfer.clone());
            levels.push(Matrices {
                transfer,
                radius,
                ..Matrices::new(a)
            });
            a = Arc::new(placed(coarse, self.amg.host_rows)?);
        }
        levels.push(Matrices::new(a));
        Ok(levels)
    }
}

impl Step {
    fn coarse(&self, a: &Csr<f64>, amg: &Amg) -> Result<Csr<f64>> {
        let Transfer {
            restriction: r,
            prolongation: p,
        } = &self.transfer;
        without_empty_rows(match &self.product {
            Some(symbolic) => symbolic.numeric(r, a, p)?,
            None => product(amg, a, (None, p), self.block, false)?.1,
        })
    }
}

/// The example of the guide, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/reuse.md")]
struct Guide;

#[cfg(test)]
mod tests;
