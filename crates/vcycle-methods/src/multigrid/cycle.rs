//! How often a level visits the next one.

use std::any::Any;

use super::level::Level;
use super::operations::Operations;
use crate::linop::Converted;
use crate::prelude::*;
use crate::registration::Symmetry;
use crate::solver::{Fcg, Solver};
use crate::stop::Stop;
use crate::text;

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
    /// Two visits: an F-cycle, then a V-cycle. Not symmetric: choose it for GMRES.
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
    /// What kind of operator it is where sweeps and coarsest solver are symmetric. An F-cycle visits in one order
    /// only: its adjoint would make the V-cycle first.
    pub(crate) fn symmetry(self) -> Symmetry {
        match self {
            Self::V | Self::W => Symmetry::Symmetric,
            Self::K => Symmetry::Varying,
            Self::F | Self::Full => Symmetry::OneSided,
        }
    }
}

text::named!(Cycle, "cycle": V = "v", W = "w", F = "f", K = "k", Full = "full");

/// The cycles from one level down.
#[derive(Clone, Debug)]
pub(crate) struct Cycles<T: Scalar> {
    /// The level's matrix; none on the coarsest level, where a second visit has nothing to gain.
    pub(super) a: Option<Arc<dyn LinOp<T>>>,
    /// The cycle of the shape asked for.
    pub shaped: Arc<dyn LinOp<T>>,
    /// The V-cycle, which F-cycles need too.
    pub v: Arc<dyn LinOp<T>>,
    /// Full multigrid: a start for solvers.
    pub full: Arc<dyn LinOp<T>>,
    /// What a K-cycle visits, where that is not the [usual](krylov) method on vectors of the level.
    pub krylov: Option<Arc<dyn LinOp<T>>>,
}

impl<T: Scalar> Cycles<T> {
    /// An operator that is no cycle but the end of them: the coarsest solver.
    pub fn coarsest(solver: Arc<dyn LinOp<T>>) -> Self {
        Self::ending(Arc::clone(&solver), Arc::clone(&solver), solver)
    }

    /// Operators that end them: they do what the level above visits, as a V-cycle, and as full multigrid.
    pub fn ending(
        shaped: Arc<dyn LinOp<T>>,
        v: Arc<dyn LinOp<T>>,
        full: Arc<dyn LinOp<T>>,
    ) -> Self {
        Self {
            a: None,
            shaped,
            v,
            full,
            krylov: None,
        }
    }

    /// The cycles from a level down that has others below.
    pub fn over<C: Scalar>(
        below: &Cycles<C>,
        operations: Arc<dyn Operations<T, C>>,
        cycle: Cycle,
        number: usize,
    ) -> Result<Self> {
        let a = Arc::clone(operations.matrix());
        let shaped = Level {
            operations,
            coarse: below.visited(cycle)?,
            smooths: true,
            number,
            below: format!("level {}", number + 1),
        };
        let v: Arc<dyn LinOp<T>> = Arc::new(Level {
            coarse: Arc::clone(&below.v),
            ..shaped.clone()
        });
        let unsmoothed = Level {
            coarse: Arc::clone(&below.full),
            smooths: false,
            ..shaped.clone()
        };
        let second: Arc<dyn LinOp<T>> = match cycle {
            Cycle::Full => Arc::clone(&v),
            Cycle::V | Cycle::W | Cycle::F | Cycle::K => Arc::new(shaped),
        };
        let full: Arc<dyn LinOp<T>> = Arc::new(Twice {
            a: Arc::clone(&a),
            first: Arc::new(unsmoothed),
            second: Arc::clone(&second),
        });
        let shaped = match cycle {
            Cycle::Full => Arc::clone(&full),
            Cycle::V | Cycle::W | Cycle::F | Cycle::K => second,
        };
        Ok(Self {
            a: Some(a),
            shaped,
            v,
            full,
            krylov: None,
        })
    }

    /// The same for vectors of another precision.
    pub fn seen_as<V: Scalar>(&self) -> Result<Cycles<V>> {
        Ok(Cycles {
            a: self.a.clone().map(seen_as).transpose()?,
            shaped: seen_as(Arc::clone(&self.shaped))?,
            v: seen_as(Arc::clone(&self.v))?,
            full: seen_as(Arc::clone(&self.full))?,
            krylov: self.krylov.clone().map(seen_as).transpose()?,
        })
    }

    /// What the level above applies as its coarse correction.
    pub fn visited(&self, cycle: Cycle) -> Result<Arc<dyn LinOp<T>>> {
        let shaped = Arc::clone(&self.shaped);
        let Some(a) = &self.a else {
            return Ok(shaped);
        };
        let twice = |second: &Arc<dyn LinOp<T>>| Twice {
            a: Arc::clone(a),
            first: Arc::clone(&shaped),
            second: Arc::clone(second),
        };
        Ok(match cycle {
            Cycle::V => shaped,
            Cycle::Full => Arc::clone(&self.v),
            Cycle::W => Arc::new(twice(&shaped)),
            Cycle::F => Arc::new(twice(&self.v)),
            Cycle::K => match &self.krylov {
                Some(other) => Arc::clone(other),
                None => krylov(a, shaped)?,
            },
        })
    }
}

/// What a K-cycle visits: a few iterations with a matrix, preconditioned by the cycle from there on.
pub(crate) fn krylov<T: Scalar>(
    a: &Arc<dyn LinOp<T>>,
    cycle: Arc<dyn LinOp<T>>,
) -> Result<Arc<dyn LinOp<T>>> {
    let solver = Solver::new(Fcg::default(), Arc::clone(a))?;
    let solver = solver.with_preconditioner(cycle)?;
    Ok(Arc::new(solver.stopping(Stop::fixed(KRYLOV_STEPS))))
}

/// An operator on vectors of `S` as one on vectors of `T`.
pub(crate) fn seen_as<S: Scalar, T: Scalar>(
    operator: Arc<dyn LinOp<S>>,
) -> Result<Arc<dyn LinOp<T>>> {
    let any: &dyn Any = &operator;
    match any.downcast_ref::<Arc<dyn LinOp<T>>>() {
        Some(same) => Ok(Arc::clone(same)),
        None => Ok(Arc::new(Converted::<S, T>::new(operator)?)),
    }
}

/// `x = M b`, then `x += N (b - A x)`.
#[derive(Debug)]
struct Twice<T: Scalar> {
    a: Arc<dyn LinOp<T>>,
    first: Arc<dyn LinOp<T>>,
    second: Arc<dyn LinOp<T>>,
}

impl<T: Scalar> LinOp<T> for Twice<T> {
    forward!(a: size, executor);

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.first.apply(b, x, ws)?;
        let mut r = ws.vector_like::<T, T>(b)?;
        let mut correction = ws.vector_like::<T, T>(b)?;
        self.a.residual(b, x, &mut r, ws)?;
        self.second.apply(&r, &mut correction, ws)?;
        x.axpy(Coefficient::one(), &correction)
    }

    fn label(&self) -> &'static str {
        "amg"
    }

    fn footprint(&self) -> Footprint {
        let (first, second) = (self.first.footprint(), self.second.footprint());
        Footprint {
            held: first.held,
            moved: first.moved + second.moved + self.a.footprint().moved,
        }
    }
}
