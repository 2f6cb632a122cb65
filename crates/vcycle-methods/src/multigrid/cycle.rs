//! How often a level visits the next one.

use std::sync::Arc;

use crate::error::ConfigError;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size};
use crate::scalar::Scalar;
use crate::solver::{Fcg, Solver};
use crate::stop::Stop;
use crate::text;
use crate::vector::{Coefficient, Vector};

/// Iterations of conjugate gradients at each level of a K-cycle.
const KRYLOV_STEPS: usize = 2;

/// The shape of a multigrid cycle.
///
/// Every shape but V makes the coarse correction better and costs more work on the coarse levels,
/// where there is little to do at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cycle {
    /// One visit of the next level.
    #[default]
    V,
    /// Two visits, each a W-cycle.
    W,
    /// Two visits: an F-cycle, then a V-cycle.
    F,
    /// Two iterations of flexible conjugate gradients preconditioned by a K-cycle (Notay and
    /// Vassilevski 2008). No fixed linear operator: choose a flexible solver.
    K,
    /// Full multigrid (Brandt 1977): the next level solves first, by full multigrid; a V-cycle
    /// improves what it found. One cycle solves a smooth problem about as well as it is
    /// discretised. Not symmetric: choose it for iterative refinement or GMRES. As the start of a
    /// solve it goes with any solver: [`fmg_start`](super::Amg::fmg_start).
    Full,
}

impl Cycle {
    /// Every shape.
    pub const ALL: [Self; 5] = [Self::V, Self::W, Self::F, Self::K, Self::Full];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::V => "v",
            Self::W => "w",
            Self::F => "f",
            Self::K => "k",
            Self::Full => "full",
        }
    }
}

text::named!(Cycle, "cycle");

/// The cycles from one level down.
#[derive(Clone, Debug)]
pub(super) struct Cycles<T: Scalar> {
    /// The level's matrix.
    pub a: Arc<dyn LinOp<T>>,
    /// The cycle of the shape asked for.
    pub shaped: Arc<dyn LinOp<T>>,
    /// The V-cycle, which F-cycles need too.
    pub v: Arc<dyn LinOp<T>>,
    /// Full multigrid: a start for solvers.
    pub full: Arc<dyn LinOp<T>>,
    /// Whether this is the coarsest level, where a second visit has nothing to gain.
    pub last: bool,
}

impl<T: Scalar> Cycles<T> {
    /// An operator that is no cycle but the end of them: the coarsest solver.
    pub fn coarsest(a: Arc<dyn LinOp<T>>, solver: Arc<dyn LinOp<T>>) -> Self {
        Self {
            a,
            v: Arc::clone(&solver),
            full: Arc::clone(&solver),
            shaped: solver,
            last: true,
        }
    }

    /// What the level above applies as its coarse correction.
    ///
    /// # Errors
    /// When sizes do not fit.
    pub fn visited(&self, cycle: Cycle) -> Result<Arc<dyn LinOp<T>>> {
        let shaped = Arc::clone(&self.shaped);
        let twice = |second: &Arc<dyn LinOp<T>>| Twice {
            a: Arc::clone(&self.a),
            first: Arc::clone(&shaped),
            second: Arc::clone(second),
        };
        Ok(match cycle {
            _ if self.last => shaped,
            Cycle::V => shaped,
            Cycle::Full => Arc::clone(&self.v),
            Cycle::W => Arc::new(twice(&shaped)),
            Cycle::F => Arc::new(twice(&self.v)),
            Cycle::K => Arc::new(
                Solver::new(Fcg::default(), Arc::clone(&self.a))?
                    .with_preconditioner(shaped)?
                    .stopping(Stop::fixed(KRYLOV_STEPS)),
            ),
        })
    }
}

/// `x = M b`, then `x += N (b - A x)`.
#[derive(Debug)]
pub(super) struct Twice<T: Scalar> {
    pub a: Arc<dyn LinOp<T>>,
    pub first: Arc<dyn LinOp<T>>,
    pub second: Arc<dyn LinOp<T>>,
}

impl<T: Scalar> LinOp<T> for Twice<T> {
    fn size(&self) -> Size {
        self.a.size()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.first.apply(b, x, ws)?;
        let mut r = ws.vector_like::<T, T>(b)?;
        let mut correction = ws.vector_like::<T, T>(b)?;
        self.a.residual(b, x, &mut r, ws)?;
        self.second.apply(&r, &mut correction, ws)?;
        x.axpy(Coefficient::one(), &correction)
    }

    fn footprint(&self) -> Footprint {
        let (first, second) = (self.first.footprint(), self.second.footprint());
        Footprint {
            held: first.held,
            moved: first.moved + second.moved + self.a.footprint().moved,
        }
    }
}
