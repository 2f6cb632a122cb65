//! What the parameters are on each level.

use super::amg::Amg;
use super::coarsen::Coarsening;
use super::level_options::LevelOptions;
use super::precision::{LevelPrecisions, goes_between};
use super::smooth::{Smoother, Smoothing};
use crate::precision::{Precision, Unit};
use crate::prelude::*;

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
        given.for_each(|one| change(&mut amg, one, level));
        amg
    }

    /// The precisions that are written down, those of single levels included.
    pub(super) fn precisions_asked(&self) -> impl Iterator<Item = Precision> {
        let of_levels = self.levels.iter().filter_map(|one| one.precision.as_ref());
        let of_levels = of_levels.flat_map(LevelPrecisions::listed);
        self.precision.listed().chain(of_levels)
    }

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
}

fn change(amg: &mut Amg, options: &LevelOptions, level: usize) {
    if options.smoother != Smoother::Auto {
        amg.post_smoother = Smoother::Auto;
    }
    macro_rules! change {
        (given: $($given:ident)*; some: $($some:ident)*) => {
            // The default of these is `auto`.
            $(if options.$given != Default::default() {
                amg.$given = options.$given;
            })*
            $(amg.$some = options.$some.unwrap_or(amg.$some);)*
        };
    }
    change! {
        given: strength coarsening interpolation coarsest smoother post_smoother;
        some: aggregate_size pre_sweeps post_sweeps truncation
    }
    if let Some(precisions) = &options.precision {
        amg.precision = precisions.at(level - options.from).into();
    }
}

/// The precisions of levels of so many rows, none wider than `widest`.
pub(super) fn precisions(
    amg: &Amg,
    rows: impl Iterator<Item = usize>,
    widest: Unit,
) -> Result<Vec<Precision>> {
    let of_level = |(level, rows)| amg.for_level(level, rows).precision.capped(widest).at(0);
    let found: Vec<Precision> = rows.enumerate().map(of_level).collect();
    let apart = |pair: &[Precision]| !goes_between(pair[0].working, pair[1].working);
    match found.windows(2).position(apart) {
        None => Ok(found),
        Some(above) => {
            let (next, given, other) = (above + 1, found[above + 1], found[above]);
            let reason = format!(
                "level {next} in {given} is below level {above} in {other}: vectors do not go between \
                 half precision and bfloat"
            );
            Err(Error::bad_parameter("levels", reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::multigrid::strength::Strength;
    use crate::multigrid::{Interpolation, NearNullspace, Report};

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
        let amg = read(text).with_smoother("sgs".parse::<Smoother>().unwrap());
        let amg = amg.decided(|| unreachable!("nothing but the strength is open"));
        assert_eq!(amg.for_level(0, 10).coarsening, Coarsening::PmisAggressive);
        let second = amg.for_level(1, 100);
        assert_eq!(second.coarsening, Coarsening::Pmis);
        let numbers = (second.truncation.max_elements, second.aggregate_size);
        assert_eq!(numbers, (7, 2));
        assert_eq!(second.interpolation, Interpolation::Direct);
        assert!(matches!(second.strength, Strength::Absolute(_)));
        let small = amg.for_level(3, 49);
        assert_eq!(small.coarsening, Coarsening::Uniform);
        assert_eq!(small.interpolation, Interpolation::Auto);
        assert!(matches!(small.strength, Strength::Mutual(_)));
        assert_eq!(small.precision.to_string(), "hp");
        let large = amg.for_level(3, 50).strength;
        assert!(matches!(large, Strength::Classical(_)));
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
        assert!(2 * rows[1] > rows[0] / 2, "{report}");
        assert!(3 * rows[2] < rows[1], "{report}");
        assert_eq!(report.coarsest, "smoother");
        for level in &report.levels {
            let unit = level.precision.working.name();
            assert_eq!(unit, if level.rows < 100 { "hp" } else { "sp" });
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (problem, text, told) in [
            (
                "poisson5:40",
                r#"{"precision": "hp", "levels": [{"from": 1, "precision": "bf"}]}"#,
                "levels: level 1 in bf is below level 0 in hp",
            ),
            (
                "elasticity:6x3x3",
                r#"{"coarsening": "sa", "levels": [{"from": 1, "coarsening": "pmis"}]}"#,
                "levels: the coarsenings `sa` and `pmis`",
            ),
        ] {
            let error = set_up(problem, text).unwrap_err().to_string();
            assert!(error.starts_with(told), "{error}");
        }
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
        for (text, told) in [
            (r#"{"levels": [{"form": 2}]}"#, "unknown field `form`"),
            (
                r#"{"levels": [{"smoother": "sgss"}]}"#,
                "did you mean `sgs`",
            ),
        ] {
            assert!(error(text).contains(told), "{}", error(text));
        }
    }
}
