//! Options that hold for some of the levels only.

use super::coarsen::Coarsening;
use super::coarsest::Coarsest;
use super::interpolate::{Interpolation, Truncation};
use super::precision::LevelPrecisions;
use super::smooth::Smoother;
use super::strength::Strength;

/// Other options for some of the levels, chosen by their number or size.
///
/// What is not given, or `auto`, stays as it is on the other levels. Where several are for the same
/// level, the later ones change what the earlier ones say. Stages (strength to truncation) are
/// those on the way from this level to the next; the coarsest solver is that of the last level.
///
/// In a file, aggressive coarsening of the two finest levels, half precision for matrices of less
/// than 20,000 rows, and a sparse factorisation at the end if 500 rows or more are left:
///
/// ```
/// use vcycle::config::{Config, PreconditionerConfig};
/// let config = Config::from_toml(r#"
///     [preconditioner]
///     name = "amg"
///     coarsening = "pmis"
///     coarsest = "direct"
///     [[preconditioner.levels]]
///     to = 1
///     coarsening = "pmis-aggressive"
///     smoother = "chebyshev:2"
///     [[preconditioner.levels]]
///     below-rows = 20000
///     precision = "sp/hp"
///     [[preconditioner.levels]]
///     below-rows = 500
///     coarsest = "dense"
/// "#)?;
/// let PreconditionerConfig::Amg(amg) = config.preconditioner else { panic!("amg is named") };
/// let second = amg.for_level(1, 30_000);
/// assert_eq!((second.coarsening.name(), second.coarsest.name()), ("pmis-aggressive", "direct"));
/// let last = amg.for_level(4, 300);
/// assert_eq!((last.coarsening.name(), last.coarsest.name()), ("pmis", "dense"));
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LevelOptions {
    /// The first level it is for; 0 is the finest.
    pub from: usize,
    /// The last level it is for; all below unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<usize>,
    /// It is for levels of fewer rows than this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_rows: Option<usize>,
    /// Which couplings matter.
    pub strength: Strength,
    /// Which unknowns the next level has.
    pub coarsening: Coarsening,
    /// Members of a group of the coarsenings `pgm` and `uniform`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate_size: Option<usize>,
    /// How the prolongation is made.
    pub interpolation: Interpolation,
    /// How many entries a row of the prolongation keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// What smooths before the correction, and after it unless `post_smoother` is given.
    pub smoother: Smoother,
    /// What smooths after the correction.
    pub post_smoother: Smoother,
    /// Sweeps before the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_sweeps: Option<usize>,
    /// Sweeps after the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_sweeps: Option<usize>,
    /// Of vectors and matrix; a list counts from level `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<LevelPrecisions>,
    /// What solves the level if it is the coarsest.
    pub coarsest: Coarsest,
}

impl LevelOptions {
    pub(super) fn is_for(&self, level: usize, rows: usize) -> bool {
        covers((self.from, self.to, self.below_rows), level, rows)
    }
}

/// Whether a first level, a last level and a number of rows that it has to be below choose a level of so many rows.
pub(crate) fn covers(
    (from, to, below_rows): (usize, Option<usize>, Option<usize>),
    level: usize,
    rows: usize,
) -> bool {
    let in_range = level >= from && to.is_none_or(|last| level <= last);
    in_range && below_rows.is_none_or(|limit| rows < limit)
}
