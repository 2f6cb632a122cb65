//! Options that hold for some of the levels only.

use super::{StencilSmoother, StructMg};
use crate::error::{ConfigError, Result};
use crate::multigrid::{LevelPrecisions, covers};
use crate::precision::{Precision, Unit};

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

impl StructMg {
    /// What holds for a level of so many rows, where the precision is chosen.
    ///
    /// # Errors
    /// For vectors in half precision or bfloat.
    pub(super) fn on_level(&self, level: usize, rows: usize) -> Result<OnLevel> {
        let chosen = self.precision.as_ref().map(|all| all.at(level));
        let mut on = OnLevel {
            precision: chosen.unwrap_or_default(),
            smoother: self.smoother,
            sweeps: [self.pre_sweeps, self.post_sweeps],
        };
        let levels = self.levels.iter();
        for one in levels.filter(|one| covers((one.from, one.to, one.below_rows), level, rows)) {
            let precision = one.precision.as_ref();
            on.precision = precision.map_or(on.precision, |all| all.at(level - one.from));
            on.smoother = one.smoother.unwrap_or(on.smoother);
            on.sweeps[0] = one.pre_sweeps.unwrap_or(on.sweeps[0]);
            on.sweeps[1] = one.post_sweeps.unwrap_or(on.sweeps[1]);
        }
        match on.precision.working {
            Unit::Double | Unit::Single => Ok(on),
            _ => Err(ConfigError::BadValue {
                place: "struct-mg".to_owned(),
                key: "precision".to_owned(),
                value: on.precision.to_string(),
                reason: format!(
                    "vectors are in `dp` or `sp`, on level {level} too; matrices may be narrower, \
                     as in `sp/hp`"
                ),
            }
            .into()),
        }
    }

    /// The same with nothing wider than `widest`.
    pub(super) fn capped(mut self, widest: Unit) -> Self {
        let levels = self.levels.iter_mut().map(|one| &mut one.precision);
        for precision in levels.chain([&mut self.precision]).flatten() {
            *precision = precision.capped(widest);
        }
        self
    }

    /// Whether the vectors of some level may be in single precision.
    pub(super) fn has_single_vectors(&self) -> bool {
        let levels = self.levels.iter().map(|one| &one.precision);
        let mut all = levels.chain([&self.precision]).flatten();
        all.any(|precision| precision.listed().any(|one| one.working != Unit::Double))
    }
}
