//! Which smoothers a level has before and after the correction, and how many sweeps of each.

use std::fmt::{Display, Formatter};

use super::Smoother;

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
