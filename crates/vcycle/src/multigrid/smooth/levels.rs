//! Which smoothers a level has.

use std::fmt::{Display, Formatter};

use super::Smoother;
use crate::multigrid::Amg;

/// Another smoothing for some of the levels, by their number or size.
///
/// What is not given stays as it is on the other levels. Where several are for the same level,
/// the later ones change what the earlier ones say.
///
/// ```
/// use vcycle::multigrid::{Amg, LevelSmoothing};
/// let mut coarse = LevelSmoothing::default();
/// (coarse.from, coarse.smoother, coarse.post_sweeps) = (2, "sgs".parse()?, Some(2));
/// let mut amg = Amg::default();
/// amg.smoother = "chebyshev:2".parse()?;
/// amg.levels.push(coarse);
/// assert_eq!(amg.smoothing(1, 5000).to_string(), "chebyshev:2 1+1");
/// assert_eq!(amg.smoothing(2, 1000).to_string(), "sgs 1+2");
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LevelSmoothing {
    /// The first level it is for; 0 is the finest.
    pub from: usize,
    /// It is for levels of fewer rows than this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_rows: Option<usize>,
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
}

impl LevelSmoothing {
    fn is_for(&self, level: usize, rows: usize) -> bool {
        level >= self.from && self.below_rows.is_none_or(|limit| rows < limit)
    }
}

/// The smoothing of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// Before the correction.
    pub pre: Smoother,
    /// After the correction.
    pub post: Smoother,
    /// How often each of them.
    pub sweeps: [usize; 2],
}

impl Smoothing {
    fn change(&mut self, given: &LevelSmoothing) {
        self.smooth_by(given.smoother, given.post_smoother);
        self.sweeps[0] = given.pre_sweeps.unwrap_or(self.sweeps[0]);
        self.sweeps[1] = given.post_sweeps.unwrap_or(self.sweeps[1]);
    }

    fn smooth_by(&mut self, pre: Smoother, post: Smoother) {
        if pre != Smoother::Auto {
            (self.pre, self.post) = (pre, pre);
        }
        if post != Smoother::Auto {
            self.post = post;
        }
    }
}

impl Display for Smoothing {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [before, after] = self.sweeps;
        match self.pre == self.post {
            true => write!(f, "{} {before}+{after}", self.pre),
            false => write!(f, "{} {before}, {} {after}", self.pre, self.post),
        }
    }
}

impl Amg {
    /// The smoothing of a level of so many rows.
    pub fn smoothing(&self, level: usize, rows: usize) -> Smoothing {
        let mut smoothing = Smoothing {
            pre: Smoother::Auto,
            post: Smoother::Auto,
            sweeps: [self.pre_sweeps, self.post_sweeps],
        };
        smoothing.smooth_by(self.smoother, self.post_smoother);
        for given in self.levels.iter().filter(|one| one.is_for(level, rows)) {
            smoothing.change(given);
        }
        smoothing
    }

    /// Whether a sweep of any level is not symmetric where the matrix is.
    pub(in crate::multigrid) fn has_one_way_sweeps(&self) -> bool {
        let of_levels = self
            .levels
            .iter()
            .flat_map(|one| [one.smoother, one.post_smoother]);
        let mut all = of_levels.chain([self.smoother, self.post_smoother]);
        all.any(|smoother| !smoother.is_symmetric())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Amg {
        serde_json::from_str(text).unwrap()
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
