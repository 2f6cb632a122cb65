//! The names of coarsenings and interpolations, and how they combine.

use std::sync::Arc;

use super::amg::Amg;
use super::coarsen::{self, Aggregates, Numbers, Splitting};
use super::interpolate::{self, Truncation};
use super::strength::Strength;
use super::systems::{Unknowns, View};
use crate::error::ConfigError;
use crate::error::Result;
use crate::linop::Size;
use crate::matrix::{Csr, Pattern};
use crate::text;

/// How the unknowns of the next level are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coarsening {
    /// What suits the matrix: for symmetric ones `sa`, or `mis2` on a device, else `pmis`.
    #[default]
    Auto,
    /// [`coarsen::pmis`].
    Pmis,
    /// [`coarsen::hmis`].
    Hmis,
    /// [`coarsen::aggressive`] on the finest level, [`coarsen::pmis`] below.
    PmisAggressive,
    /// [`coarsen::ruge_stueben`].
    RugeStueben,
    /// [`coarsen::pgm`].
    Pgm,
    /// [`coarsen::mis2`].
    Mis2,
    /// [`coarsen::greedy`].
    Greedy,
    /// [`coarsen::uniform`].
    Uniform,
}

impl Coarsening {
    /// Every coarsening.
    pub const ALL: [Self; 9] = [
        Self::Auto,
        Self::Pmis,
        Self::Hmis,
        Self::PmisAggressive,
        Self::RugeStueben,
        Self::Pgm,
        Self::Mis2,
        Self::Greedy,
        Self::Uniform,
    ];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pmis => "pmis",
            Self::Hmis => "hmis",
            Self::PmisAggressive => "pmis-aggressive",
            Self::RugeStueben => "rs",
            Self::Pgm => "pgm",
            Self::Mis2 => "mis2",
            Self::Greedy => "sa",
            Self::Uniform => "uniform",
        }
    }

    /// Whether it goes by the matrix alone, not by strong couplings.
    pub(super) fn weighs(self) -> bool {
        matches!(self, Self::Pgm | Self::Uniform)
    }

    /// Whether it groups unknowns, and does not choose among them.
    pub fn aggregates(self) -> bool {
        matches!(self, Self::Pgm | Self::Mis2 | Self::Greedy | Self::Uniform)
    }
}

text::named!(Coarsening, "coarsening");

/// How the prolongation is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interpolation {
    /// What suits the coarsening: `extended+i`, but `tentative` after `pgm` and `uniform`, and
    /// `smoothed` after `sa` and `mis2`. After aggressive coarsening it is [`interpolate::two_stage`], whatever is chosen.
    #[default]
    Auto,
    /// [`interpolate::direct`].
    Direct,
    /// [`interpolate::classical`].
    Classical,
    /// [`interpolate::extended`].
    Extended,
    /// [`interpolate::extended_i`].
    ExtendedI,
    /// [`interpolate::hybrid`].
    Hybrid,
    /// [`interpolate::bamg`] of the near-nullspace.
    Bamg,
    /// The same, [smoothed](interpolate::smoothed).
    SmoothedBamg,
    /// The same, [filtered](interpolate::filtered).
    FilteredBamg,
    /// [`interpolate::tentative`].
    Tentative,
    /// [`interpolate::smoothed`].
    Smoothed,
}

impl Interpolation {
    /// Every interpolation.
    pub const ALL: [Self; 11] = [
        Self::Auto,
        Self::Direct,
        Self::Classical,
        Self::Extended,
        Self::ExtendedI,
        Self::Hybrid,
        Self::Bamg,
        Self::SmoothedBamg,
        Self::FilteredBamg,
        Self::Tentative,
        Self::Smoothed,
    ];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Direct => "direct",
            Self::Classical => "classical",
            Self::Extended => "extended",
            Self::ExtendedI => "extended+i",
            Self::Hybrid => "hybrid",
            Self::Bamg => "bamg",
            Self::SmoothedBamg => "sbamg",
            Self::FilteredBamg => "fbamg",
            Self::Tentative => "tentative",
            Self::Smoothed => "smoothed",
        }
    }

    /// Whether it goes by test vectors, with a say in which unknowns are coarse.
    pub fn fits_vectors(self) -> bool {
        matches!(self, Self::Bamg | Self::SmoothedBamg | Self::FilteredBamg)
    }

    /// What `auto` means after `coarsening`.
    ///
    /// # Errors
    /// When the two do not go together.
    pub(super) fn after(self, coarsening: Coarsening) -> Result<Self> {
        let fits = match self {
            Self::Auto => true,
            Self::Tentative | Self::Smoothed => coarsening.aggregates(),
            _ => !coarsening.aggregates(),
        };
        if !fits {
            let reason = format!("`{self}` does not go with the coarsening `{coarsening}`");
            return Err(ConfigError::Conflict(format!("interpolation: {reason}")).into());
        }
        Ok(match (self, coarsening) {
            (Self::Auto, Coarsening::Pgm | Coarsening::Uniform) => Self::Tentative,
            (Self::Auto, Coarsening::Mis2 | Coarsening::Greedy) => Self::Smoothed,
            (Self::Auto, _) => Self::ExtendedI,
            (given, _) => given,
        })
    }
}

text::named!(Interpolation, "interpolation");

/// Damping of the smoothing of a tentative prolongation.
const SMOOTHING: f64 = 4.0 / 3.0;
/// The same for interpolation of test vectors, whose rows are not as long.
const BAMG_SMOOTHING: f64 = 2.0 / 3.0;
/// Paths that make two coarse unknowns neighbours in aggressive coarsening.
const PATHS: usize = 1;

/// What interpolation goes by.
#[derive(Clone, Debug)]
pub(super) enum Coarsened {
    Chosen(Splitting),
    /// With the prolongation that had a say in it, and the spectral radius it needed.
    Fitted(Splitting, Csr<f64>, Option<f64>),
    Twice(coarsen::Aggressive),
    Grouped(Aggregates),
}

impl Coarsened {
    /// Chooses or groups the unknowns of a level that `amg` is [for](Amg::for_level).
    pub fn new(amg: &Amg, a: &Csr<f64>, strength: &Arc<Pattern>) -> Result<Self> {
        let seed = amg.seed;
        Ok(match amg.coarsening {
            Coarsening::PmisAggressive => Self::Twice(coarsen::aggressive(strength, seed, PATHS)?),
            Coarsening::Auto | Coarsening::Pmis => Self::Chosen(coarsen::pmis(strength, seed)?),
            Coarsening::Hmis => Self::Chosen(coarsen::hmis(strength, seed)?),
            Coarsening::RugeStueben => Self::Chosen(coarsen::ruge_stueben(strength)?),
            Coarsening::Pgm => Self::Grouped(coarsen::pgm(a, amg.aggregate_size, seed)?),
            Coarsening::Mis2 => Self::Grouped(coarsen::mis2(strength, seed)?),
            Coarsening::Greedy => Self::Grouped(coarsen::greedy(strength)?),
            Coarsening::Uniform => {
                Self::Grouped(coarsen::uniform(a.size().rows, amg.aggregate_size)?)
            }
        })
    }

    /// Unknowns (or nodes) of the next level.
    pub fn count(&self) -> usize {
        match self {
            Self::Chosen(splitting) | Self::Fitted(splitting, ..) => splitting.coarse_count,
            Self::Twice(both) => both.second.coarse_count,
            Self::Grouped(aggregates) => aggregates.count,
        }
    }

    /// For every unknown (or node) its number, or that of its group, on the next level.
    pub fn map(&self) -> Numbers {
        match self {
            Self::Chosen(splitting) | Self::Fitted(splitting, ..) => splitting.coarse_index.clone(),
            Self::Twice(both) => both.second.coarse_index.clone(),
            Self::Grouped(aggregates) => aggregates.aggregate.clone(),
        }
    }

    /// All unknowns of the nodes that were chosen.
    pub fn of_nodes(self, block_size: usize) -> Self {
        match self {
            Self::Chosen(splitting) => Self::Chosen(splitting.of_nodes(block_size)),
            Self::Twice(both) => Self::Twice(coarsen::Aggressive {
                first: both.first.of_nodes(block_size),
                second: both.second.of_nodes(block_size),
            }),
            same @ (Self::Grouped(_) | Self::Fitted(..)) => same,
        }
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
        let mut radius = None;
        if interpolation != Interpolation::Bamg {
            let found = interpolate::spectral_radius(a)?;
            let damping = (BAMG_SMOOTHING, found);
            p = interpolate::smoothed(a, &p, damping, None, Size::square(1))?;
            radius = Some(found);
        }
        if interpolation == Interpolation::FilteredBamg {
            p = interpolate::filtered(&p, &unknowns.modes, amg.bamg.kept)?;
        }
        if amg.energy_steps > 0 {
            let fixed = |row: usize| chosen.coarse_index[row] != coarsen::NONE;
            p = interpolate::energy_minimised(a, &p, &unknowns.modes, fixed, amg.energy_steps)?;
        }
        Ok(Self::Fitted(chosen, p, radius))
    }

    /// The prolongation, the size of its blocks, and the spectral radius of the level's matrix over
    /// its diagonal if that was asked for; what is known of the unknowns of this level becomes that
    /// of the next.
    pub fn prolongation(
        self,
        interpolation: Interpolation,
        view: View<'_>,
        amg: &Amg,
        unknowns: &mut Unknowns,
    ) -> Result<(Csr<f64>, Size, Option<f64>)> {
        let (view, coarsened, node) = view.for_interpolation(self, unknowns)?;
        let (a, strength) = (view.matrix(), view.strength());
        let grouped = matches!(coarsened, Self::Grouped(_));
        let block = match unknowns.modes.len() {
            _ if !grouped => Size::square(1),
            0 => Size::square(node),
            modes => Size::new(node, modes),
        };
        let (prolongation, radius) = match coarsened {
            Self::Fitted(_, ready, radius) => (ready, radius),
            Self::Grouped(ref groups) => {
                let weak = strength.nonzeros() + a.size().rows < a.nonzeros();
                // What is weak by affinity may be large: the diagonal cannot take it.
                let by_entries = !matches!(amg.strength, Strength::Affinity(_));
                let filter = (weak && node == 1 && by_entries).then_some(strength);
                let modes = &mut unknowns.modes;
                let (p, radius) = aggregated(interpolation, a, groups, (block, filter), modes)?;
                (lowered(a, p, unknowns, amg.energy_steps)?, radius)
            }
            ref chosen => {
                let strength = amg.strength.for_weights(a, strength)?;
                let p = chosen.interpolated(interpolation, a, &strength, &amg.truncation)?;
                (p, None)
            }
        };
        let radius = radius.filter(|_| view.shows_all());
        view.coarse_unknowns(&prolongation, unknowns, grouped);
        Ok((prolongation, block, radius))
    }

    fn interpolated(
        &self,
        interpolation: Interpolation,
        a: &Csr<f64>,
        strength: &Arc<Pattern>,
        truncation: &Truncation,
    ) -> Result<Csr<f64>> {
        let splitting = match self {
            Self::Grouped(_) | Self::Fitted(..) => unreachable!("not chosen by strength alone"),
            Self::Twice(both) => {
                let (first, second) = (&both.first, &both.second);
                return interpolate::two_stage(a, strength, first, second, truncation);
            }
            Self::Chosen(splitting) => splitting,
        };
        let method = match interpolation {
            Interpolation::Direct => interpolate::direct,
            Interpolation::Classical => interpolate::classical,
            Interpolation::Extended => interpolate::extended,
            Interpolation::Hybrid => interpolate::hybrid,
            _ => interpolate::extended_i,
        };
        method(a, strength, splitting, truncation)
    }
}

/// A prolongation from groups with less energy, if that is asked for.
fn lowered(a: &Csr<f64>, p: Csr<f64>, unknowns: &Unknowns, steps: usize) -> Result<Csr<f64>> {
    if steps == 0 {
        return Ok(p);
    }
    let vectors = unknowns.test_vectors(p.size().cols);
    interpolate::energy_minimised(a, &p, &vectors, |_| false, steps)
}

/// The prolongation from groups of nodes and the spectral radius it needed; `modes` become those of
/// the next level.
fn aggregated(
    interpolation: Interpolation,
    a: &Csr<f64>,
    groups: &Aggregates,
    (block, filter): (Size, Option<&Arc<Pattern>>),
    modes: &mut Vec<Vec<f64>>,
) -> Result<(Csr<f64>, Option<f64>)> {
    let (tentative, coarse) = interpolate::tentative(groups, modes, block.rows, a.executor())?;
    *modes = coarse;
    if interpolation != Interpolation::Smoothed {
        return Ok((tentative, None));
    }
    let radius = interpolate::spectral_radius(a)?;
    let p = interpolate::smoothed(a, &tentative, (SMOOTHING, radius), filter, block)?;
    Ok((p, Some(radius)))
}
