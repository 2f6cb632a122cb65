//! How coarsenings and interpolations combine.

use std::ops::Range;
use std::sync::Arc;

use super::amg::Amg;
use super::coarsen::{self, Aggregates, Aggressive, CoarseUnknowns, Graph};
use super::coarsened::Coarsened;
use super::interpolate::{
    self, CoarseLevel, Interpolate, Interpolation, InterpolationMethod, Truncation, Weighing,
};
use super::own::Own;
use super::restriction::Restriction;
use super::strength::Strength;
use super::systems::{Unknowns, View};
use crate::error::{ConfigError, Error, Result};
use crate::executor::Executor;
use crate::linop::{Size, check_size};
use crate::matrix::{Csr, Pattern};

/// Damping of the smoothing of a tentative prolongation.
pub(super) const SMOOTHING: f64 = 4.0 / 3.0;
/// The same for interpolation of test vectors, whose rows are not as long.
pub(super) const BAMG_SMOOTHING: f64 = 2.0 / 3.0;
impl Coarsened {
    /// Chooses or groups the unknowns of a level that `amg` is [for](Amg::for_level).
    pub fn new(amg: &Amg, a: &Csr<f64>, strength: &Arc<Pattern>) -> Result<Self> {
        let found = amg.coarsening.coarsen(&Graph {
            a,
            strength,
            aggregate_size: amg.aggregate_size,
            weak_pairs: amg.weak_pairs,
            seed: amg.seed,
        })?;
        Ok(match found {
            CoarseUnknowns::Chosen(splitting) => Self::Chosen(splitting),
            CoarseUnknowns::Twice(both) => Self::Twice(both),
            CoarseUnknowns::Grouped(groups) => Self::Grouped(groups),
        })
    }

    /// Interpolates the test vectors of a level, where unknowns were chosen; they become those of
    /// the next level.
    pub fn fitted(
        self,
        interpolation: Interpolation,
        view: &View<'_>,
        amg: &Amg,
        unknowns: &mut Unknowns,
    ) -> Result<Self> {
        let (a, strength) = (view.matrix(), view.strength());
        let vectors = unknowns.test_vectors(a.size().rows);
        let splitting = match self {
            Self::Chosen(splitting) => splitting,
            Self::Twice(ref both) => {
                unknowns.modes = both.second.of_coarse(&vectors);
                return Ok(self);
            }
            other => return Ok(other),
        };
        let (mut p, chosen) = interpolate::bamg(strength, &splitting, &vectors, &amg.bamg)?;
        unknowns.modes = chosen.of_coarse(&vectors);
        let (is_smoothed, is_filtered) = match interpolation.method() {
            Some(InterpolationMethod::Vectors { smoothed, filtered }) => (smoothed, filtered),
            _ => (false, false),
        };
        let mut radius = None;
        if is_smoothed {
            let found = interpolate::spectral_radius(a)?;
            let damping = (BAMG_SMOOTHING, found);
            p = interpolate::smoothed(a, &p, damping, None, Size::square(1))?;
            radius = Some(found);
        }
        if is_filtered {
            p = interpolate::filtered(&p, &unknowns.modes, amg.bamg.kept)?;
        }
        if amg.energy_steps > 0 {
            let fixed = |row: usize| chosen.coarse_index[row] != coarsen::NONE;
            p = interpolate::energy_minimised(a, &p, &unknowns.modes, fixed, amg.energy_steps)?;
        }
        Ok(Self::Fitted(chosen, p, radius))
    }

    /// [`prolongation_by`](Self::prolongation_by) of a matrix that is here as a whole.
    pub fn prolongation(
        self,
        interpolation: Interpolation,
        view: View<'_>,
        amg: &Amg,
        unknowns: &mut Unknowns,
    ) -> Result<(Csr<f64>, Size, Option<f64>)> {
        self.prolongation_by(&Here, interpolation, view, amg, unknowns)
    }

    /// The prolongation to the [rows](InterpolatedRows::rows) that are asked for, the size of its blocks, and the spectral radius of the level's matrix over
    /// its diagonal if that was asked for; what is known of the unknowns of this level becomes that
    /// of the next.
    pub fn prolongation_by(
        self,
        by: &dyn InterpolatedRows,
        interpolation: Interpolation,
        view: View<'_>,
        amg: &Amg,
        unknowns: &mut Unknowns,
    ) -> Result<(Csr<f64>, Size, Option<f64>)> {
        let (view, coarsened, node) = view.for_interpolation(self, unknowns)?;
        let (a, strength) = (view.matrix(), view.strength());
        let grouped = matches!(coarsened, Self::Grouped(_));
        let rows = by.rows(a.size().rows);
        let block = match unknowns.modes.len() {
            _ if !grouped => Size::square(1),
            0 => Size::square(node),
            modes => Size::new(node, modes),
        };
        let (prolongation, radius) = match coarsened {
            Self::Fitted(_, ready, radius) => (ready, radius),
            ref found if let Interpolation::Own(own) = interpolation => {
                if grouped && (node > 1 || !unknowns.modes.is_empty()) {
                    return Err(plain_only(own));
                }
                (found.by_own(own, a, strength, &amg.truncation)?, None)
            }
            Self::Grouped(ref groups) => {
                // What is weak by affinity may be large: the diagonal cannot take it.
                let by_entries = !matches!(amg.strength, Strength::Affinity(_));
                let filtered = node == 1 && by_entries && by.are_some_weak(a, strength)?;
                let filter = filtered.then_some(strength);
                let modes = &mut unknowns.modes;
                let way = (by, interpolation);
                let (p, radius) = aggregated(way, a, groups, (block, filter), modes)?;
                let p = match amg.energy_steps {
                    0 => p,
                    steps => by.lowered(a, p, unknowns, steps)?,
                };
                (p, radius)
            }
            ref chosen => {
                let strength = amg.strength.for_weights(a, strength)?;
                let truncation = &amg.truncation;
                (
                    chosen.interpolated((by, interpolation), a, &strength, truncation)?,
                    None,
                )
            }
        };
        let radius = radius.filter(|_| view.shows_all());
        view.coarse_unknowns((&prolongation, rows.start), unknowns, grouped);
        Ok((prolongation, block, radius))
    }

    fn interpolated(
        &self,
        (by, interpolation): (&dyn InterpolatedRows, Interpolation),
        a: &Csr<f64>,
        strength: &Arc<Pattern>,
        truncation: &Truncation,
    ) -> Result<Csr<f64>> {
        let splitting = match self {
            Self::Grouped(_) | Self::Fitted(..) => unreachable!("not chosen by strength alone"),
            Self::Twice(both) => return by.two_stage(a, strength, both, truncation),
            Self::Chosen(splitting) => splitting,
        };
        let rows = by.rows(a.size().rows);
        let given = Weighing::new(a, strength, splitting, truncation).of_rows(rows);
        match interpolation.method() {
            Some(InterpolationMethod::Weights(method)) => method(&given),
            _ => unreachable!("not made of weights"),
        }
    }

    /// The prolongation of a user's own interpolation.
    fn by_own(
        &self,
        own: Own<dyn Interpolate>,
        a: &Csr<f64>,
        strength: &Arc<Pattern>,
        truncation: &Truncation,
    ) -> Result<Csr<f64>> {
        let coarse = match self.clone() {
            Self::Chosen(splitting) | Self::Fitted(splitting, ..) => {
                CoarseUnknowns::Chosen(splitting)
            }
            Self::Twice(both) => CoarseUnknowns::Twice(both),
            Self::Grouped(groups) => CoarseUnknowns::Grouped(groups),
        };
        let made = own.interpolate(&CoarseLevel {
            a,
            strength,
            coarse: &coarse,
            truncation,
        })?;
        let expected = Size::new(a.size().rows, self.count());
        check_size("prolongation", expected, made.size())?;
        Ok(made)
    }
}

fn plain_only(own: Own<dyn Interpolate>) -> Error {
    let reason = format!(
        "interpolation: `{}` goes with one unknown a node and no near-nullspace only",
        own.name()
    );
    ConfigError::Conflict(reason).into()
}

/// The rows of a prolongation that are to be made, where others may be those of other ranks.
pub(super) trait InterpolatedRows {
    /// Which of all rows they are.
    fn rows(&self, all: usize) -> Range<usize>;

    /// Whether some couplings of a matrix are not strong.
    fn are_some_weak(&self, a: &Csr<f64>, strength: &Pattern) -> Result<bool>;

    /// The tentative prolongation, and the vectors of the next level.
    fn tentative(
        &self,
        groups: &Aggregates,
        vectors: &[Vec<f64>],
        node: usize,
        executor: &Executor,
    ) -> Result<(Csr<f64>, Vec<Vec<f64>>)>;

    /// The smoothed one of a tentative one, and the spectral radius that took.
    fn smoothed(
        &self,
        a: &Csr<f64>,
        tentative: &Csr<f64>,
        omega: f64,
        filter: Option<&Arc<Pattern>>,
        block: Size,
    ) -> Result<(Csr<f64>, f64)>;

    /// The prolongation in two stages, from unknowns that were chosen twice.
    fn two_stage(
        &self,
        a: &Csr<f64>,
        strength: &Arc<Pattern>,
        both: &Aggressive,
        truncation: &Truncation,
    ) -> Result<Csr<f64>>;

    /// A prolongation from groups after some steps that lower its energy; what is known is of the next level.
    fn lowered(
        &self,
        a: &Csr<f64>,
        p: Csr<f64>,
        unknowns: &Unknowns,
        steps: usize,
    ) -> Result<Csr<f64>>;
}

/// Everything is here.
struct Here;

impl InterpolatedRows for Here {
    fn rows(&self, all: usize) -> Range<usize> {
        0..all
    }

    fn are_some_weak(&self, a: &Csr<f64>, strength: &Pattern) -> Result<bool> {
        Ok(strength.nonzeros() + a.size().rows < a.nonzeros())
    }

    fn tentative(
        &self,
        groups: &Aggregates,
        vectors: &[Vec<f64>],
        node: usize,
        executor: &Executor,
    ) -> Result<(Csr<f64>, Vec<Vec<f64>>)> {
        interpolate::tentative(groups, vectors, node, executor)
    }

    fn smoothed(
        &self,
        a: &Csr<f64>,
        tentative: &Csr<f64>,
        omega: f64,
        filter: Option<&Arc<Pattern>>,
        block: Size,
    ) -> Result<(Csr<f64>, f64)> {
        interpolate::smoothed_by_radius(a, tentative, omega, filter, block)
    }

    fn two_stage(
        &self,
        a: &Csr<f64>,
        strength: &Arc<Pattern>,
        both: &Aggressive,
        truncation: &Truncation,
    ) -> Result<Csr<f64>> {
        interpolate::two_stage(a, strength, &both.first, &both.second, truncation)
    }

    fn lowered(
        &self,
        a: &Csr<f64>,
        p: Csr<f64>,
        unknowns: &Unknowns,
        steps: usize,
    ) -> Result<Csr<f64>> {
        let vectors = unknowns.test_vectors(p.size().cols);
        interpolate::energy_minimised(a, &p, &vectors, |_| false, steps)
    }
}

/// The prolongation from groups of nodes and the spectral radius it needed; `modes` become those of
/// the next level.
fn aggregated(
    (by, interpolation): (&dyn InterpolatedRows, Interpolation),
    a: &Csr<f64>,
    groups: &Aggregates,
    (block, filter): (Size, Option<&Arc<Pattern>>),
    modes: &mut Arc<[Vec<f64>]>,
) -> Result<(Csr<f64>, Option<f64>)> {
    let (tentative, coarse) = by.tentative(groups, modes, block.rows, a.executor())?;
    *modes = coarse.into();
    if !matches!(
        interpolation.method(),
        Some(InterpolationMethod::Groups { smoothed: true })
    ) {
        let (rows, all) = (by.rows(a.size().rows), tentative.size().rows);
        return match rows.len() == all {
            true => Ok((tentative, None)),
            false => Ok((tentative.row_range(rows)?, None)),
        };
    }
    let (p, radius) = by.smoothed(a, &tentative, SMOOTHING, filter, block)?;
    Ok((p, Some(radius)))
}

/// The restriction of a level if that has its own.
pub(super) fn own_restriction(
    amg: &Amg,
    (strength, interpolation): (Option<Strength>, Interpolation),
    a: &Csr<f64>,
    coarsened: &Coarsened,
    unknowns: &Unknowns,
) -> Result<Option<Csr<f64>>> {
    if amg.restriction == Restriction::Transposed || interpolation.fits_vectors() {
        return Ok(None);
    }
    let adjoint = a.transpose()?;
    let view = View::new(amg.systems, amg.coarsening, strength, &adjoint, unknowns)?;
    let (prolongation, ..) =
        coarsened
            .clone()
            .prolongation(interpolation, view, amg, &mut unknowns.clone())?;
    prolongation.transpose().map(Some)
}
