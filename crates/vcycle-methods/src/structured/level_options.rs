//! Options that hold for some of the levels only.

use super::StencilSmoother;
use crate::multigrid::LevelPrecisions;
use crate::precision::Precision;

/// Other options for some of the levels of structured multigrid, chosen by their number or size: the keys of
/// [`multigrid::LevelOptions`](crate::multigrid::LevelOptions) that make sense on a grid.
///
/// What is not given stays as it is on the other levels. Where several are for the same level, the later ones change
/// what the earlier ones say.
///
/// ```
/// use vcycle::config::{Config, PreconditionerConfig};
/// let config = Config::from_toml(r#"
///     [preconditioner]
///     name = "struct-mg"
///     precision = "sp/hp"
///     [[preconditioner.levels]]
///     from = 1
///     precision = "sp"
///     smoother = "ilu0"
///     pre-sweeps = 1
/// "#)?;
/// let PreconditionerConfig::StructMg(parameters) = config.preconditioner else { panic!("it is named") };
/// assert_eq!(parameters.levels[0].pre_sweeps, Some(1));
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct GridLevelOptions {
    /// The first level it is for; 0 is the finest.
    pub from: usize,
    /// The last level it is for; all below unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<usize>,
    /// It is for levels of fewer rows than this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_rows: Option<usize>,
    /// What smooths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoother: Option<StencilSmoother>,
    /// Sweeps before the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_sweeps: Option<usize>,
    /// Sweeps after the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_sweeps: Option<usize>,
    /// Of vectors and matrix; a list counts from level `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<LevelPrecisions>,
}

/// What holds for one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnLevel {
    pub(super) precision: Precision,
    pub(super) smoother: StencilSmoother,
    /// Before and after the correction.
    pub(super) sweeps: [usize; 2],
}
