//! Stores every level in its precision and makes the cycle of it.

use std::any::Any;

use super::amg::Amg;
use super::clock::Clock;
use super::coarsest::{Coarsest, CoarsestMethod, Smoothed};
use super::cycle::{Cycle, Cycles};
use super::format::LevelFormat;
use super::matrices::{LevelMatrix, Matrices};
use super::operations::Composed;
use super::precision::of_transfer;
use super::scaling::Factors;
use super::setup::GatheredLevel;
use super::smooth::{Relaxation, Smoothing};
use super::stored::{Overflows, Rounded, SetUpIn, Stores};
use super::wide::{Wide, dense, direct};
use crate::linop::{LevelScalar, Product};
use crate::matrix::{Dense, Gathered};
use crate::precision::{Precision, Unit};
use crate::prelude::*;

/// Rows up to which a level and all below it are one dense matrix on a device: a product with that
/// takes less time than the launches of the levels. Never a level much larger than those that the host
/// sets up.
const COLLAPSED_ROWS: usize = 1536;

const DENSE: &str = "dense";

pub(super) struct Plan<'p, V: Scalar = f64> {
    pub amg: &'p Amg,
    /// The finest matrix as it was given: an `Arc<dyn LinOp<T>>`, shared where it fits.
    pub given: &'p dyn Any,
    /// Where the cycles run; small matrices of a set-up are on the host.
    pub executor: &'p Executor,
    /// The same for levels that ranks share.
    pub rank: &'p Executor,
    /// Whether sweeps after the correction have to be the adjoint of those before.
    pub symmetric: bool,
    pub precisions: Vec<Precision>,
    /// The level that rank 0 has gathered, where ranks share those above.
    pub gathered: Option<GatheredLevel>,
    /// From the finest level down; taken from the end as their level is made.
    pub levels: Vec<Matrices<V>>,
    /// How they were scaled.
    pub factors: Factors,
    /// What is stored in narrower types.
    pub overflows: Overflows,
    /// How the matrix of every level is stored, in words; written as its level is made.
    pub formats: Vec<String>,
    pub ws: &'p Workspace,
    pub clock: &'p Clock<'p>,
}

/// A precision that vectors of a level may have.
pub(super) trait Working: Mixes<Self, Self> + Stores<Self> + LevelScalar {
    fn cycles(plan: &mut Plan<'_, Self::Wide>, level: usize) -> Result<Cycles<Self>> {
        match plan.gathered_at(level) {
            true => gathered(plan, level),
            false => Self::cycles_here(plan, level),
        }
    }

    /// The same for vectors that are where the level is.
    fn cycles_here(plan: &mut Plan<'_, Self::Wide>, level: usize) -> Result<Cycles<Self>>;
}

macro_rules! working {
    ($($w:ty: [$($unit:ident $c:ty),*];)*) => {$(
        impl Working for $w {
            fn cycles_here(
                plan: &mut Plan<'_, Self::Wide>,
                level: usize,
            ) -> Result<Cycles<$w>> {
                let Some(next) = plan.precisions.get(level + 1) else {
                    return coarsest(plan, level);
                };
                match next.working {
                    $(Unit::$unit => inner::<$w, $c>(plan, level),)*
                    #[allow(unreachable_patterns)]
                    other => unreachable!("no vector goes from here to {}", other.name()),
                }
            }
        }
    )*};
}

working! {
    f64: [Double f64, Single f32, Half f16, Bfloat bf16];
    f32: [Double f64, Single f32, Half f16, Bfloat bf16];
    f16: [Double f64, Single f32, Half f16];
    bf16: [Double f64, Single f32, Bfloat bf16];
    c64: [Double c64, Single c32];
    c32: [Double c64, Single c32];
}

fn inner<W, C>(plan: &mut Plan<'_, W::Wide>, level: usize) -> Result<Cycles<W>>
where
    W: Working + Stores<C>,
    C: Working + Stores<W> + SetUpIn<Wide = W::Wide>,
{
    let below = C::cycles(plan, level + 1)?;
    let _stage = plan.clock.stage(level, "smoothers")?;
    let LevelParts {
        a,
        restrict,
        prolong,
        radius,
        rows,
        is_shared,
    } = plan.parts::<W, C>(level)?;
    plan.formats[level] = format_of(a.as_ref());
    let smoothing = plan.amg.smoothing(level, rows);
    let reason = format!("level {level} needs a sweep, before or after");
    Error::check_parameter(smoothing.sweeps != [0, 0], "levels", reason)?;
    let (pre, post) = plan.smoothers(&a, smoothing, radius)?;
    let composed = Composed {
        gain: plan.factors.gains[level],
        normalised: plan.amg.scaling.normalises(W::KIND, C::KIND),
        restrict,
        prolong,
        pre,
        post,
        a,
    };
    let mut cycles = Cycles::over(&below, Arc::new(composed), plan.amg.cycle, level)?;
    if !is_shared && plan.collapses(level, rows) {
        let dense = Dense::of_operator(cycles.shaped.as_ref(), plan.ws)?;
        cycles.shaped = Arc::new(dense);
        cycles.v = Arc::clone(&cycles.shaped);
        let below = plan.formats[level..].iter_mut();
        below.for_each(|format| DENSE.clone_into(format));
    }
    Ok(cycles)
}

fn format_of<W: Scalar>(a: &dyn LinOp<W>) -> String {
    a.stored_as().unwrap_or_else(|| a.label().to_owned())
}

/// The cycles of a level that rank 0 has gathered, on vectors that all ranks share.
fn gathered<W: Working>(plan: &mut Plan<'_, W::Wide>, level: usize) -> Result<Cycles<W>> {
    let gathered = plan.gathered.as_ref().expect("rank 0 has gathered a level");
    let (executor, rows) = (plan.rank.clone(), Arc::clone(&gathered.rows));
    let inner = gathered.leads.then(|| W::cycles_here(plan, level));
    let inner = executor.agree(inner.transpose())?;
    let wrapped = |inner: Option<Arc<dyn LinOp<W>>>| -> Arc<dyn LinOp<W>> {
        Gathered::operator(&executor, &rows, inner)
    };
    let shaped = match &inner {
        Some(inner) if level > 0 => Some(inner.visited(plan.amg.cycle)?),
        Some(inner) => Some(Arc::clone(&inner.shaped)),
        None => None,
    };
    let part = |part: fn(&Cycles<W>) -> &Arc<dyn LinOp<W>>| {
        wrapped(inner.as_ref().map(|inner| Arc::clone(part(inner))))
    };
    let (v, full) = (part(|inner| &inner.v), part(|inner| &inner.full));
    Ok(Cycles::ending(wrapped(shaped), v, full))
}

/// The operators of a level above others.
struct LevelParts<W: Working, C: Working> {
    a: Arc<dyn LinOp<W>>,
    restrict: Arc<dyn LinOp<W, C>>,
    prolong: Arc<dyn LinOp<C, W>>,
    radius: Option<f64>,
    /// Those of all ranks.
    rows: usize,
    is_shared: bool,
}

fn coarsest<W: Working>(plan: &mut Plan<'_, W::Wide>, level: usize) -> Result<Cycles<W>>
where
    f32: Mixes<W, W>,
    f64: Mixes<W, W>,
{
    let _stage = plan.clock.stage(level, "coarsest solver")?;
    let matrices = plan.take();
    let (a, whole) = (plan.operator::<W>(&matrices.a, level)?, matrices.a.local());
    let amg = plan.amg.for_level(level, a.size().rows);
    let coarsest = amg.coarsest.of(whole);
    let method = match coarsest {
        Coarsest::Own(own) => {
            plan.formats[level] = DENSE.to_owned();
            let solver = W::generate_by(own.factory().as_ref(), &a, plan.ws)?;
            return Ok(Cycles::coarsest(solver));
        }
        known => known.registration().map(|known| known.method),
    };
    let method = method.unwrap_or(CoarsestMethod::Dense);
    plan.formats[level] = match method {
        CoarsestMethod::Dense => DENSE.to_owned(),
        CoarsestMethod::Direct | CoarsestMethod::Smoother | CoarsestMethod::Factory(_) => {
            format_of(a.as_ref())
        }
    };
    let solver: Arc<dyn LinOp<W>> = match method {
        CoarsestMethod::Dense => dense(whole, plan.executor)?,
        CoarsestMethod::Factory(factory) => W::generate_by(factory().as_ref(), &a, plan.ws)?,
        CoarsestMethod::Direct => direct(&matrices, plan.executor, plan.ws)?,
        CoarsestMethod::Smoother => {
            let after = plan.amg.coarsest_sweeps / 2;
            let before = plan.amg.coarsest_sweeps - after;
            let smoothing = plan.amg.smoothing(level, a.size().rows);
            let sweeps = [before, after];
            let (pre, post) = plan.smoothers(
                &a,
                Smoothing {
                    sweeps,
                    ..smoothing
                },
                matrices.radius,
            )?;
            Arc::new(Smoothed {
                a: Arc::clone(&a),
                pre,
                post,
            })
        }
    };
    Ok(Cycles::coarsest(solver))
}

impl<V: Wide> Plan<'_, V> {
    /// The matrices of the coarsest level left.
    fn take(&mut self) -> Matrices<V> {
        self.levels.pop().expect("one for every level")
    }

    fn gathered_at(&self, level: usize) -> bool {
        let gathered = self.gathered.as_ref();
        gathered.is_some_and(|gathered| gathered.number == level)
    }

    /// The operators of the coarsest level left, which has a next one.
    fn parts<W, C>(&mut self, level: usize) -> Result<LevelParts<W, C>>
    where
        W: Working + Stores<C> + SetUpIn<Wide = V>,
        C: Working + Stores<W> + SetUpIn<Wide = V>,
    {
        let unit = of_transfer(self.precisions[level], self.precisions[level + 1]);
        let matrices = self.take();
        let transfer = matrices
            .transfer
            .expect("levels above the coarsest have one");
        let kept = |matrix| Rounded {
            is_kept: true,
            ..self.rounded(matrix, unit, level)
        };
        let restriction = self.laid_out(&transfer.restriction)?;
        let prolongation = self.laid_out(&transfer.prolongation)?;
        Ok(LevelParts {
            a: self.operator::<W>(&matrices.a, level)?,
            restrict: W::stored(kept(&restriction))?,
            prolong: C::stored(kept(&prolongation))?,
            radius: matrices.radius,
            rows: matrices.a.rows(),
            is_shared: matrices.a.is_of_ranks(),
        })
    }

    /// Whether a level is the first that is small enough to be one matrix with all below, and its
    /// V-cycle of a precision in which that is as good.
    fn collapses(&self, level: usize, rows: usize) -> bool {
        let above = self.levels.last().filter(|above| !above.a.is_of_ranks());
        let above = above.map_or(0, |above| above.a.rows());
        let mut below = self.precisions[level..].iter();
        self.is_collapsed(rows)
            && !self.is_collapsed(above)
            && below.all(|p| matches!(p.working, Unit::Double | Unit::Single))
    }

    /// Whether a level of so many rows is a part of one matrix.
    fn is_collapsed(&self, rows: usize) -> bool {
        self.executor.is_device()
            && self.amg.cycle == Cycle::V
            && (1..=COLLAPSED_ROWS.min(self.amg.host_rows / 2 * 3)).contains(&rows)
    }

    /// A matrix of a level, to be stored in another precision.
    fn rounded<'m>(
        &'m self,
        matrix: &'m LevelMatrix<V>,
        unit: Unit,
        level: usize,
    ) -> Rounded<'m, V> {
        let size = matrix.local().size();
        Rounded {
            matrix,
            unit,
            level,
            executor: match matrix {
                LevelMatrix::Here(_) => self.executor,
                LevelMatrix::OfRanks(_) => self.rank,
            },
            // Nobody multiplies with it for long.
            is_plain: self.is_collapsed(size.rows.max(size.cols)),
            is_kept: false,
            overflows: &self.overflows,
        }
    }

    /// The matrix of a level for vectors of `W`: the given one itself where it is that, and not what ranks share of a level that is
    /// gathered.
    fn operator<W: Working<Wide = V>>(
        &self,
        a: &LevelMatrix<V>,
        level: usize,
    ) -> Result<Arc<dyn LinOp<W>>> {
        let unit = self.precisions[level].matrix;
        let as_given = match a {
            LevelMatrix::OfRanks(_) => true,
            LevelMatrix::Here(_) => {
                let in_its_format =
                    self.amg.format == LevelFormat::Auto || !self.executor.is_device();
                self.gathered.is_none() && in_its_format
            }
        };
        match self.given.downcast_ref::<Arc<dyn LinOp<W>>>() {
            Some(same) if level == 0 && unit == Unit::Double && as_given => Ok(Arc::clone(same)),
            _ => W::stored(self.rounded(&self.laid_out(a)?, unit, level)),
        }
    }

    /// A matrix in the format of levels; one with which nobody multiplies for long stays as it is.
    fn laid_out(&self, a: &LevelMatrix<V>) -> Result<LevelMatrix<V>> {
        match a {
            LevelMatrix::Here(whole)
                if !self.is_collapsed(whole.size().rows.max(whole.size().cols)) =>
            {
                Ok(LevelMatrix::Here(self.amg.format.stored(whole)?))
            }
            LevelMatrix::Here(_) | LevelMatrix::OfRanks(_) => Ok(a.clone()),
        }
    }

    /// `D M D`: the cycle `M` of a scaled finest level for the matrix as it was given.
    pub fn rescaled<W: Working<Wide = V>>(
        &self,
        cycle: Arc<dyn LinOp<W>>,
    ) -> Result<Arc<dyn LinOp<W>>> {
        let Some(factors) = &self.factors.diagonals[0] else {
            return Ok(cycle);
        };
        let factors = factors.iter().map(|&factor| V::from_f64(factor)).collect();
        let d = Csr::diagonal_matrix(cycle.executor(), factors);
        let d = LevelMatrix::Here(Arc::new(d));
        let d = W::stored(self.rounded(&d, self.precisions[0].working, 0))?;
        Ok(Arc::new(Product::new(vec![Arc::clone(&d), cycle, d])?))
    }

    /// The sweeps before and after the coarse correction.
    fn smoothers<W: Working>(
        &self,
        a: &Arc<dyn LinOp<W>>,
        smoothing: Smoothing,
        radius: Option<f64>,
    ) -> Result<(Relaxation<W>, Relaxation<W>)> {
        let Smoothing { pre, post, sweeps } = smoothing;
        let m = pre.generate_for(a, radius, self.ws)?;
        let after = match pre == post {
            true => Arc::clone(&m),
            false => post.generate_for(a, radius, self.ws)?,
        };
        let relaxation = |m, sweeps, transposed| Relaxation {
            m,
            sweeps,
            transposed,
        };
        let adjoint = self.symmetric && post.is_one_sided();
        let post = relaxation(after, sweeps[1], adjoint);
        Ok((relaxation(m, sweeps[0], false), post))
    }
}
