//! Set-ups that are kept, and hierarchies made from them for matrices of the same pattern with new values.

use vcycle_kernels::compiled;

use super::amg::Amg;
use super::clock::Clock;
use super::coarsest::KeptFactors;
use super::finest::{finest, not_of_ranks, placed};
use super::hierarchy::Hierarchy;
use super::matrices::{LevelMatrix, Matrices, Transfer};
use super::near_nullspace::NearNullspace;
use super::precision::LevelPrecisions;
use super::scaling::LevelScaling;
use super::setup::{Levels, Record, analysed, coarsen, with_filter};
use super::unknowns::Unknowns;
use crate::linop::check_size;
use crate::matrix::{Galerkin, Halo};
use crate::prelude::*;

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
    /// Of the finest matrix, or of the own rows of it.
    pattern: Arc<Pattern>,
    /// The columns that these refer to, where ranks share the matrix.
    columns: Option<Arc<Halo>>,
    /// To all levels, or to those that ranks share.
    steps: Vec<Step>,
    /// Of the level below the steps.
    unknowns: Unknowns,
    /// Whether the levels below the steps are coarsened anew.
    anew: bool,
    /// Why there are no levels below the steps, if that is not for being small.
    stalled: Option<String>,
    /// Of the coarsest level.
    factors: KeptFactors,
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

/// What is kept of the step from one level to the next.
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
    let (amg, finest, mut unknowns) = analysed::<T, f64>(amg, a, near_nullspace, &clock)?;
    let pattern = Arc::clone(finest.local().pattern());
    let columns = match &finest {
        LevelMatrix::Here(_) => None,
        LevelMatrix::OfRanks(a) => Some(Arc::clone(a.columns())),
    };
    let (mut records, place) = (Vec::new(), (a.executor(), &clock));
    let mut set = Levels::new(finest);
    coarsen(&amg, &mut set, unknowns.clone(), place, Some(&mut records))?;
    let steps = steps(&set.levels, records);
    if let Some(last) = steps.last() {
        unknowns = last.unknowns.clone();
    }
    let (stalled, factors) = match &set.gathered {
        Some(gathered) => (gathered.stalled.clone(), KeptFactors::default()),
        // What the hierarchy to come will have found of its coarsest level.
        None => {
            let factors = set.levels.last().map(|level| level.factors.clone());
            (set.stalled.clone(), factors.unwrap_or_default())
        }
    };
    let setup = Setup {
        amg: amg.clone(),
        pattern,
        // Levels that are gathered, which are small, are always coarsened anew.
        anew: columns.is_some(),
        columns,
        steps,
        unknowns,
        stalled,
        factors,
    };
    let hierarchy = Hierarchy::of_levels(amg, a, set, clock)?;
    Ok((setup, hierarchy))
}

fn steps(levels: &[Matrices], records: Vec<Record>) -> Vec<Step> {
    let transfer = |level: &Matrices| Some((level.transfer.clone()?, level.radius.is_some()));
    let transfers = levels.iter().filter_map(transfer);
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
    transfers.zip(records).map(step).collect()
}

impl Setup {
    /// Keeps the transfer operators from the finest `levels` levels alone: those below are
    /// coarsened anew for every matrix. More than there are keep everything, as without this.
    ///
    /// # Errors
    /// For no levels: [`Amg::hierarchy`] is what keeps nothing.
    pub fn keeping(mut self, levels: usize) -> Result<Self> {
        Error::check_parameter(levels > 0, "levels", "at least one is kept")?;
        if levels < self.steps.len() {
            self.steps.truncate(levels);
            self.unknowns = self.steps[levels - 1].unknowns.clone();
            (self.anew, self.stalled) = (true, None);
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
                let set = setup.updated(a, &clock)?;
                Hierarchy::of_levels(setup.amg.clone(), a, set, clock)
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
        let set = self.updated(a, &Clock::new(ws, a.executor()))?;
        let matrices = |level: &Matrices| {
            not_of_ranks(&level.a, "the matrices")?;
            let whole = |matrix: &LevelMatrix| Arc::clone(matrix.local());
            let transfer = level.transfer.as_ref();
            Ok(LevelMatrices {
                a: whole(&level.a),
                restriction: transfer.map(|transfer| whole(&transfer.restriction)),
                prolongation: transfer.map(|transfer| whole(&transfer.prolongation)),
            })
        };
        set.levels.iter().map(matrices).collect()
    }

    fn updated<T: Scalar>(&self, a: &Arc<dyn LinOp<T>>, clock: &Clock<'_>) -> Result<Levels> {
        let finest = {
            let _stage = clock.stage(0, "analysis")?;
            let finest = finest(self.amg.host_rows_needed(), a)?;
            finest.agree(self.check(&finest))?;
            finest
        };
        let mut set = self.renewed(finest, (a.executor(), clock))?;
        if self.anew {
            let unknowns = self.unknowns.clone();
            coarsen(&self.amg, &mut set, unknowns, (a.executor(), clock), None)?;
        }
        if let Some(coarsest) = set.levels.last_mut() {
            coarsest.factors = self.factors.clone();
        }
        Ok(set)
    }

    fn check(&self, found: &LevelMatrix) -> Result<()> {
        let operation = "update of values";
        let (kept, pattern) = (&self.pattern, found.local().pattern());
        check_size(operation, kept.size(), pattern.size())?;
        let columns = match found {
            LevelMatrix::Here(a) => {
                kept.executor().check_same(a.executor(), operation)?;
                None
            }
            LevelMatrix::OfRanks(a) => Some(a.columns()),
        };
        let of = |halo: &Halo| (halo.own_rows(), halo.others().to_vec());
        let alike = self.columns.as_deref().map(of) == columns.map(|columns| of(columns));
        if alike && kept.same_as(pattern) {
            return Ok(());
        }
        let columns = |pattern: &Pattern, row| pattern.columns()[pattern.range(row)].to_vec();
        let differs = |row: &usize| columns(kept, *row) != columns(pattern, *row);
        let row = (0..pattern.size().rows).find(differs).filter(|_| alike);
        let rows = row.map_or("own rows have".to_owned(), |row| format!("row {row} has"));
        let reason = format!("{rows} not the pattern of the matrix that was set up");
        Err(Error::structure(operation, reason))
    }

    /// The levels that the transfer operators lead to.
    fn renewed(
        &self,
        finest: LevelMatrix,
        (rank, clock): (&Executor, &Clock<'_>),
    ) -> Result<Levels> {
        let mut set = Levels {
            stalled: self.stalled.clone(),
            ..Levels::new(finest)
        };
        for (number, step) in self.steps.iter().enumerate() {
            let level = &mut set.levels[number];
            level.a = self
                .amg
                .shared_there(number, level.a.clone(), rank, clock)?;
            clock.ws.check_end(level.a.executor().team())?;
            let _stage = clock.stage(number, "galerkin")?;
            let coarse = step.coarse(&level.a, &self.amg)?;
            level.radius = step.measured.then(|| level.a.radius()).transpose()?;
            level.transfer = Some(step.transfer.clone());
            let coarse = placed(coarse, self.amg.host_rows)?;
            set.levels.push(Matrices::new(coarse));
        }
        Ok(set)
    }
}

impl Step {
    fn coarse(&self, a: &LevelMatrix, amg: &Amg) -> Result<LevelMatrix> {
        let Transfer {
            restriction: r,
            prolongation: p,
        } = &self.transfer;
        let coarse = match &self.product {
            Some(symbolic) => {
                let product = symbolic.numeric(r.local(), a.local(), p.local())?;
                LevelMatrix::Here(Arc::new(product)).without_empty_rows()?
            }
            None => self.transfer.coarse(a, (self.block, amg.format), false)?.0,
        };
        with_filter(coarse, &self.unknowns, amg.coarse_filter)
    }
}

/// The example of the guide, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/reuse.md")]
struct Guide;

#[cfg(test)]
mod tests;
