//! Configurations that come with the library.

use super::{Config, ConfigError};

/// A configuration with a name.
///
/// ```
/// use vcycle::config::{Config, Preset};
/// for preset in Preset::ALL {
///     println!("{}: {}", preset.name, preset.summary());
/// }
/// assert_eq!(Config::preset("paper-pgm")?.solver.name(), "cg");
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Preset {
    /// As options spell it.
    pub name: &'static str,
    /// The file, TOML.
    pub text: &'static str,
}

impl Preset {
    /// Every preset.
    pub const ALL: &[Self] = &[
        Self::new("paper-pgm", include_str!("presets/paper-pgm.toml")),
        Self::new("mechanics", include_str!("presets/mechanics.toml")),
        Self::new("bamg-fsai", include_str!("presets/bamg-fsai.toml")),
        Self::new("sbamg-fsai", include_str!("presets/sbamg-fsai.toml")),
        Self::new("fbamg-fsai", include_str!("presets/fbamg-fsai.toml")),
        Self::new("flow", include_str!("presets/flow.toml")),
        Self::new("amgt", include_str!("presets/amgt.toml")),
    ];

    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text }
    }

    /// Looks one up.
    ///
    /// # Errors
    /// For a name that no preset has.
    pub fn named(name: &str) -> Result<Self, ConfigError> {
        let names = Self::ALL.iter().map(|preset| preset.name).collect();
        let found = Self::ALL.iter().find(|preset| preset.name == name);
        found
            .copied()
            .ok_or_else(|| ConfigError::unknown_name("preset", name, names))
    }

    /// What it is, in a line: the first of the file.
    pub fn summary(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches("# ")
    }
}

impl Config {
    /// The configuration of a [`Preset`].
    ///
    /// # Errors
    /// For a name that no preset has.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        Self::from_toml(Preset::named(name)?.text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{PreconditionerConfig, Solution, solve};
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::multigrid::{Amg, LevelScaling};
    use crate::vector::Vector;

    fn altered(problem: &str, alter: impl FnOnce(&mut Amg)) -> Solution<f64> {
        let problem = gallery::build(problem, &Executor::cpu()).unwrap();
        let mut config = Config::preset("paper-pgm").unwrap();
        let PreconditionerConfig::Amg(amg) = &mut config.preconditioner else {
            panic!("paper-pgm is multigrid");
        };
        alter(amg);
        let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
        let solved = solve(&config, &Arc::new(problem.matrix), &b, &Workspace::new());
        let solution = solved.unwrap();
        let outcome = &solution.outcome;
        assert!(
            outcome.converged() && outcome.recurrence_residual <= 1e-12,
            "{outcome}"
        );
        solution
    }

    fn iterations(problem: &str, precision: &str) -> usize {
        let solution = altered(problem, |amg| amg.precision = precision.parse().unwrap());
        solution.outcome.iterations
    }

    #[test]
    fn every_preset_can_be_read() {
        for preset in Preset::ALL {
            let config = Config::preset(preset.name).unwrap();
            assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
            assert!(!preset.summary().is_empty());
        }
        let error = Config::preset("paper-pmg").unwrap_err().to_string();
        let expected = "unknown preset `paper-pmg`; did you mean `paper-pgm`?";
        assert_eq!(error, expected);
    }

    #[test]
    fn groups_of_two_halve_a_uniform_grid() {
        let report = altered("poisson5:64", |_| {}).multigrid.unwrap();
        assert!(report.operator_complexity() < 2.2, "{report}");
        assert!(report.levels.last().unwrap().rows <= 64 && report.levels.len() <= 11);
    }

    #[test]
    fn narrow_levels_take_the_iterations_of_wide_ones() {
        for problem in ["beam:o2,l1", "lshape:o3,l2"] {
            let double = iterations(problem, "dp");
            for precision in "dp-sp dp/hp dp-sp/dp-sp-hp dp-sp-hp dp-hp dp-sp-bf".split(' ') {
                let narrow = iterations(problem, precision);
                let is_near = 10 * narrow <= 12 * double;
                assert!(is_near, "{problem} {precision}: {narrow} against {double}");
            }
        }
    }

    #[test]
    fn half_precision_vectors_need_the_remedy() {
        let without = altered("lshape:o3,l4", |amg| {
            amg.precision = "dp-hp".parse().unwrap();
            amg.scaling = LevelScaling::None;
        });
        let double = iterations("lshape:o3,l4", "dp");
        assert!(
            without.outcome.iterations > 2 * double,
            "{}",
            without.outcome
        );
        assert!(iterations("lshape:o3,l4", "dp-hp") < 2 * double);
    }
}
