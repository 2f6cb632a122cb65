//! Solvers for the coarsest level.

mod dense;
mod direct;
mod kind;
mod registration;

pub use dense::DenseLu;
pub(super) use direct::KeptFactors;
pub use kind::Coarsest;
pub(super) use kind::is_diagonal;
pub(super) use registration::CoarsestMethod;
pub use registration::{CoarsestRegistration, SolveCoarsest};

use super::smooth::Relaxation;
use crate::prelude::*;

/// Smoothing alone, from a zero guess.
#[derive(Debug)]
pub(super) struct Smoothed<T: Scalar> {
    pub a: Arc<dyn LinOp<T>>,
    pub pre: Relaxation<T>,
    pub post: Relaxation<T>,
}

impl<T: Scalar> LinOp<T> for Smoothed<T> {
    forward!(a: size, executor);

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.pre.start(self.a.as_ref(), b, x, ws)?;
        self.post.improve(self.a.as_ref(), b, x, ws)
    }

    fn label(&self) -> &'static str {
        "smoother"
    }

    fn footprint(&self) -> Footprint {
        let products = self.pre.sweeps + self.post.sweeps;
        let (pre, post) = (self.pre.footprint(), self.post.footprint());
        Footprint {
            held: pre.held + self.post.held_beside(&self.pre),
            moved: pre.moved + post.moved + products.saturating_sub(1) * self.a.footprint().moved,
        }
    }
}
