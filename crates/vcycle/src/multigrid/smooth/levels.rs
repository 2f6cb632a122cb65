//! Which smoothers a level has before and after the correction, and how many sweeps of each.

use std::fmt::{Display, Formatter};

use super::Smoother;
use crate::multigrid::Amg;

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
    /// Whether sweeps consist of products with the matrix and a diagonal alone.
    pub(in crate::multigrid) fn multiplies_alone(&self) -> bool {
        self.pre.multiplies_alone() && self.post.multiplies_alone()
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
