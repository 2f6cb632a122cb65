//! Solvers for the coarsest level.

mod dense;

use std::sync::Arc;

pub use dense::DenseLu;

use super::smooth::Relaxation;
use crate::error::ConfigError;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size};
use crate::matrix::Csr;
use crate::scalar::Scalar;
use crate::text;
use crate::vector::Vector;

/// Rows up to which [`Coarsest::Auto`] takes the dense factorisation.
const DENSE_ROWS: usize = 1000;

/// What solves the coarsest level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coarsest {
    /// `diagonal` for a diagonal matrix, else `dense` up to 1000 rows, else `smoother`.
    #[default]
    Auto,
    /// [`DenseLu`].
    Dense,
    /// The sparse factorisation `Direct`, where the library is built with it.
    Direct,
    /// The sweeps of the other levels, before and after.
    Smoother,
    /// The inverse of the diagonal, exact for a diagonal matrix.
    Diagonal,
}

impl Coarsest {
    /// Every choice.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Dense,
        Self::Direct,
        Self::Smoother,
        Self::Diagonal,
    ];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dense => "dense",
            Self::Direct => "direct",
            Self::Smoother => "smoother",
            Self::Diagonal => "diagonal",
        }
    }

    /// What `auto` means for a matrix.
    pub(super) fn of(self, a: &Csr<f64>) -> Self {
        match self {
            Self::Auto if is_diagonal(a) => Self::Diagonal,
            Self::Auto if a.size().rows <= DENSE_ROWS => Self::Dense,
            Self::Auto => Self::Smoother,
            given => given,
        }
    }
}

text::named!(Coarsest, "coarsest");

/// Whether a matrix couples no two unknowns.
pub(super) fn is_diagonal(a: &Csr<f64>) -> bool {
    let rows = a.size().rows;
    a.nonzeros() == rows && (0..rows).all(|row| *a.row(row).0 == [row as u32])
}

/// Smoothing alone, from a zero guess.
#[derive(Debug)]
pub(super) struct Smoothed<T: Scalar> {
    pub a: Arc<dyn LinOp<T>>,
    pub pre: Relaxation<T>,
    pub post: Relaxation<T>,
}

impl<T: Scalar> LinOp<T> for Smoothed<T> {
    fn size(&self) -> Size {
        self.a.size()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.pre.start(self.a.as_ref(), b, x, ws)?;
        self.post.improve(self.a.as_ref(), b, x, ws)
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
