//! Options that hold for some of the levels only.

use super::amg::{Amg, bad};
use super::coarsen::Coarsening;
use super::coarsest::Coarsest;
use super::interpolate::{Interpolation, Truncation};
use super::near_nullspace::NearNullspace;
use super::precision::LevelPrecisions;
use super::smooth::Smoother;
use super::smooth::Smoothing;
use super::strength::Strength;
use crate::error::Result;
use crate::registration::Symmetry;

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
    fn is_for(&self, level: usize, rows: usize) -> bool {
        covers((self.from, self.to, self.below_rows), level, rows)
    }

    fn change(&self, amg: &mut Amg, level: usize) {
        change_unless(Strength::Auto, self.strength, &mut amg.strength);
        change_unless(Coarsening::Auto, self.coarsening, &mut amg.coarsening);
        change_unless(
            Interpolation::Auto,
            self.interpolation,
            &mut amg.interpolation,
        );
        change_unless(Coarsest::Auto, self.coarsest, &mut amg.coarsest);
        if self.smoother != Smoother::Auto {
            (amg.smoother, amg.post_smoother) = (self.smoother, Smoother::Auto);
        }
        change_unless(Smoother::Auto, self.post_smoother, &mut amg.post_smoother);
        amg.aggregate_size = self.aggregate_size.unwrap_or(amg.aggregate_size);
        amg.pre_sweeps = self.pre_sweeps.unwrap_or(amg.pre_sweeps);
        amg.post_sweeps = self.post_sweeps.unwrap_or(amg.post_sweeps);
        if let Some(truncation) = &self.truncation {
            amg.truncation = truncation.clone();
        }
        if let Some(precisions) = &self.precision {
            amg.precision = precisions.at(level - self.from).into();
        }
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

fn change_unless<V: PartialEq>(auto: V, given: V, value: &mut V) {
    if given != auto {
        *value = given;
    }
}

impl Amg {
    /// What it is for a level of so many rows: the options of other levels are left out, and the
    /// first precision is that of this one.
    #[must_use]
    pub fn for_level(&self, level: usize, rows: usize) -> Self {
        let mut amg = Self {
            levels: Vec::new(),
            precision: self.precision.at(level).into(),
            ..self.clone()
        };
        if level > 0 && self.coarsening == Coarsening::PmisAggressive {
            amg.coarsening = Coarsening::Pmis;
        }
        let given = self.levels.iter().filter(|one| one.is_for(level, rows));
        given.for_each(|one| one.change(&mut amg, level));
        amg
    }

    /// Fails where levels are chosen from and others grouped, and nodes have several unknowns: the
    /// one leaves no nodes to the other.
    pub(super) fn check_levels(&self, near_nullspace: &NearNullspace) -> Result<()> {
        let plain = near_nullspace.block_size() == 1 && near_nullspace.vectors().is_empty();
        let grouped = self.coarsening.aggregates();
        let mut given = self.levels.iter().map(|one| one.coarsening);
        let other = given.find(|one| *one != Coarsening::Auto && one.aggregates() != grouped);
        match other {
            Some(other) if !plain => {
                let all = self.coarsening;
                let reason = format!(
                    "the coarsenings `{all}` and `{other}` go together for one unknown a node \
                     without near-nullspace only"
                );
                Err(bad("levels", &reason))
            }
            _ => Ok(()),
        }
    }
}

impl Amg {
    /// The smoothing of a level of so many rows.
    pub fn smoothing(&self, level: usize, rows: usize) -> Smoothing {
        let amg = self.for_level(level, rows);
        Smoothing {
            pre: amg.smoother,
            post: match amg.post_smoother {
                Smoother::Auto => amg.smoother,
                given => given,
            },
            sweeps: [amg.pre_sweeps, amg.post_sweeps],
        }
    }

    /// Whether a sweep of any level is not symmetric where the matrix is.
    pub(super) fn has_one_way_sweeps(&self) -> bool {
        self.smoothers().any(|smoother| smoother.is_one_sided())
    }

    /// Whether a cycle is another operator for every vector.
    pub(super) fn varies(&self) -> bool {
        let mut coarsest = self.levels.iter().map(|one| one.coarsest);
        let varies = |symmetry| symmetry == Symmetry::Varying;
        varies(self.coarsest.symmetry())
            || coarsest.any(|coarsest| varies(coarsest.symmetry()))
            || self.smoothers().any(|smoother| varies(smoother.symmetry()))
    }

    /// The smoothers of all levels, on both sides.
    fn smoothers(&self) -> impl Iterator<Item = Smoother> + '_ {
        let of_levels = self
            .levels
            .iter()
            .flat_map(|one| [one.smoother, one.post_smoother]);
        of_levels.chain([self.smoother, self.post_smoother])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::linop::LinOp;
    use crate::multigrid::Report;

    fn read(text: &str) -> Amg {
        serde_json::from_str(text).unwrap()
    }

    fn set_up(problem: &str, text: &str) -> Result<Report> {
        let problem = gallery::build(problem, &Executor::cpu()).unwrap();
        let near = problem.near_nullspace.clone();
        let near = near.unwrap_or(NearNullspace::components(1).unwrap());
        let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix);
        let made = read(text).hierarchy_with(&a, &near, &Workspace::new())?;
        Ok(made.report().clone())
    }

    #[test]
    fn every_stage_can_differ_and_what_is_written_is_read_again() {
        let text = r#"{"coarsening": "pmis-aggressive", "levels": [
            {"from": 1, "to": 1, "strength": {"kind": "absolute"}, "interpolation": "direct",
             "truncation": {"max-elements": 7}, "aggregate-size": 2},
            {"below-rows": 50, "coarsening": "uniform", "precision": "sp-hp", "from": 2}]}"#;
        let smoother = "sgs".parse().unwrap();
        let amg = Amg {
            smoother,
            ..read(text)
        };
        let amg = amg.decided(|| unreachable!("nothing but the strength is open"));
        assert_eq!(amg.for_level(0, 10).coarsening, Coarsening::PmisAggressive);
        let second = amg.for_level(1, 100);
        assert_eq!(second.coarsening, Coarsening::Pmis);
        assert_eq!(
            (second.truncation.max_elements, second.aggregate_size),
            (7, 2)
        );
        assert_eq!(second.interpolation, Interpolation::Direct);
        assert!(matches!(second.strength, Strength::Absolute(_)));
        let small = amg.for_level(3, 49);
        assert_eq!(
            (small.coarsening, small.interpolation),
            (Coarsening::Uniform, Interpolation::Auto)
        );
        assert!(matches!(small.strength, Strength::Mutual(_)));
        assert_eq!(small.precision.to_string(), "hp");
        assert!(matches!(
            amg.for_level(3, 50).strength,
            Strength::Classical(_)
        ));
        assert_eq!(read(&serde_json::to_string(&amg).unwrap()), amg);
    }

    #[test]
    fn levels_have_the_stages_and_solvers_asked_for() {
        let report = set_up(
            "poisson5:40",
            r#"{"coarsening": "pmis", "smoother": "sgs", "coarsest-rows": 20, "levels": [
                {"from": 1, "coarsening": "pgm", "aggregate-size": 4},
                {"below-rows": 100, "precision": "hp", "coarsest": "smoother"}]}"#,
        );
        let report = report.unwrap();
        let rows: Vec<usize> = report.levels.iter().map(|level| level.rows).collect();
        assert!(
            2 * rows[1] > rows[0] / 2 && 3 * rows[2] < rows[1],
            "{report}"
        );
        assert_eq!(report.coarsest, "smoother");
        for level in &report.levels {
            let unit = level.precision.working.name();
            assert_eq!(unit, if level.rows < 100 { "hp" } else { "sp" });
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let error = |problem, text| set_up(problem, text).unwrap_err().to_string();
        let apart = error(
            "poisson5:40",
            r#"{"precision": "hp", "levels": [{"from": 1, "precision": "bf"}]}"#,
        );
        assert!(
            apart.starts_with("levels: level 1 in bf is below level 0 in hp"),
            "{apart}"
        );
        let mixed = r#"{"coarsening": "sa", "levels": [{"from": 1, "coarsening": "pmis"}]}"#;
        let mixed = error("elasticity:6x3x3", mixed);
        assert!(
            mixed.starts_with("levels: the coarsenings `sa` and `pmis`"),
            "{mixed}"
        );
    }

    #[test]
    fn levels_are_chosen_by_number_and_size() {
        let amg = read(
            r#"{"smoother": "jacobi:0.5", "post-smoother": "gs", "levels": [
                {"from": 1, "smoother": "hgs:64"},
                {"below-rows": 100, "post-smoother": "sgs", "pre-sweeps": 3}]}"#,
        );
        let text = |level, rows| amg.smoothing(level, rows).to_string();
        assert_eq!(text(0, 1000), "jacobi:0.5 1, gs 1");
        assert_eq!(text(1, 100), "hgs:64 1+1");
        assert_eq!(text(2, 99), "hgs:64 3, sgs 1");
        assert!(amg.has_one_way_sweeps());
        let again = serde_json::to_string(&amg).unwrap();
        assert_eq!(read(&again), amg);
    }

    #[test]
    fn unknown_keys_and_smoothers_are_named() {
        let error = |text: &str| serde_json::from_str::<Amg>(text).unwrap_err().to_string();
        let unknown = error(r#"{"levels": [{"form": 2}]}"#);
        assert!(unknown.contains("unknown field `form`"), "{unknown}");
        let unknown = error(r#"{"levels": [{"smoother": "sgss"}]}"#);
        assert!(unknown.contains("did you mean `sgs`"), "{unknown}");
    }
}
