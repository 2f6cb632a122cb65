//! Levels of complex matrices: Hermitian, complex symmetric or general.
//!
//! Which couplings are strong, and which unknowns are coarse, is decided for the real matrix of absolute values, by the
//! stages that real matrices have. Interpolation and coarse matrices have complex values, and the restriction is the
//! conjugate transpose of the prolongation (MacLachlan and Oosterlee 2008, "Algebraic multigrid solvers for
//! complex-valued matrices").

use std::ops::Range;
use std::sync::Arc;

use super::amg::{Amg, Known};
use super::clock::Clock;
use super::coarsened::Coarsened;
use super::coarsest::is_diagonal;
use super::finest::{finest, placed};
use super::interpolate::{InterpolationMethod, Weighing};
use super::interpolate::{complex_weights, smoothed_complex, tentative};
use super::near_nullspace::NearNullspace;
use super::restriction::Restriction;
use super::scaling::LevelScaling;
use super::stages::SMOOTHING;
use super::steps::{STALLED, without_empty_rows};
use super::strength::Strength;
use super::systems::{Unknowns, View};
use super::working::{Matrices, Transfer};
use crate::error::{Error, Result};
use crate::linop::LinOp;
use crate::matrix::{Csr, Pattern, galerkin};
use crate::operations::entries;
use crate::precision::Unit;
use crate::scalar::{Scalar, c64};

/// The parameters, every `auto` decided, all levels, and why there are no more if the last one is not small.
type Levels = (Amg, Vec<Matrices<c64>>, Option<String>);

/// Sets up the levels of a complex matrix, those of fewer rows than `host-rows` on the host.
///
/// # Errors
/// For stages that are for real matrices only, by their name, and whatever a stage fails with.
pub(super) fn complex_levels<T: Scalar>(
    amg: &Amg,
    given: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: &Clock<'_>,
) -> Result<Levels> {
    check(amg, near_nullspace)?;
    let (a, amg) = {
        let _stage = clock.stage(0, "analysis");
        let a: Arc<Csr<c64>> = finest(amg.host_rows_needed(), given)?;
        let amg = amg.decided_by(|| known(&a))?;
        (a, amg)
    };
    let (levels, stalled) = levels_from(&amg, 0, a, clock)?;
    Ok((amg, levels, stalled))
}

/// The levels from a matrix down that has so many above it, and why there are no more if the last one is not small.
pub(super) fn levels_from(
    amg: &Amg,
    above: usize,
    a: Arc<Csr<c64>>,
    clock: &Clock<'_>,
) -> Result<(Vec<Matrices<c64>>, Option<String>)> {
    let mut levels = vec![Matrices::new(a)];
    while above + levels.len() < amg.max_levels {
        let number = above + levels.len() - 1;
        let last = levels.last_mut().expect("there is one");
        if last.a.size().rows <= amg.coarsest_rows || is_diagonal(&last.a) {
            break;
        }
        match step(amg, number, &last.a, clock)? {
            Err(reason) => return Ok((levels, Some(reason))),
            Ok((transfer, radius, coarse)) => {
                (last.transfer, last.radius) = (Some(transfer), radius);
                levels.push(Matrices::new(Arc::new(placed(coarse, amg.host_rows)?)));
            }
        }
    }
    Ok((levels, None))
}

fn known(a: &Csr<c64>) -> Result<Known> {
    Ok(Known {
        definite: a.symmetric_and_positive()? == [true; 2],
        in_rounds: a.executor().is_device(),
        jumps: false,
    })
}

/// Fails for whatever is for real matrices only.
pub(super) fn check(amg: &Amg, near_nullspace: &NearNullspace) -> Result<()> {
    let plain = near_nullspace.block_size() == 1 && near_nullspace.vectors().is_empty();
    let is_half = |unit| matches!(unit, Unit::Half | Unit::Bfloat);
    let affinity = |strength| matches!(strength, Strength::Affinity(_));
    let refused = [
        (!plain, "several unknowns a node, or a near-nullspace,"),
        (amg.test_space.is_some(), "a test space"),
        (amg.energy_steps > 0, "energy minimisation"),
        (amg.coarse_filter < 1.0, "filtered coarse matrices"),
        (amg.restriction == Restriction::Own, "restriction `own`"),
        (
            amg.scaling == LevelScaling::Equilibrate,
            "scaling `equilibrate`",
        ),
        (
            affinity(amg.strength) || amg.levels.iter().any(|one| affinity(one.strength)),
            "strength by affinity",
        ),
        (
            amg.precisions_asked()
                .any(|of| is_half(of.working) || is_half(of.matrix)),
            "half precision",
        ),
    ];
    match refused.into_iter().find(|(is_asked, _)| *is_asked) {
        None => Ok(()),
        Some((_, stage)) => Err(refusal(stage)),
    }
}

fn refusal(stage: &str) -> Error {
    Error::Unsupported {
        component: "amg".to_owned(),
        operation: format!("{stage} for complex matrices"),
    }
}

/// `|a_ii|` on the diagonal and `-|a_ij|` beside it: what strength and coarsening look at.
pub(super) fn magnitudes(a: &Csr<c64>) -> Result<Csr<f64>> {
    if let Some(found) = entries::magnitudes(a)? {
        return Ok(found);
    }
    let (columns, values) = (a.columns(), a.values());
    Csr::from_places(a.pattern(), |row, place| {
        let size = values[place].norm();
        match columns[place] as usize == row {
            true => size,
            false => -size,
        }
    })
}

/// The way to the next level, the spectral radius of this one if it was found, the next matrix.
type Step = (Transfer<c64>, Option<f64>, Csr<c64>);

/// The step from a level to the next, or why there is none.
fn step(amg: &Amg, level: usize, a: &Csr<c64>, clock: &Clock<'_>) -> Result<Result<Step, String>> {
    let stage = |name| clock.stage(level, name);
    let rows = a.size().rows;
    let mut amg = amg.for_level(level, rows);
    amg.strength = amg.strength_at(level);
    let unknowns = Unknowns::new(&NearNullspace::components(1)?);
    let (magnitudes, strength) = {
        let _stage = stage("strength");
        let magnitudes = magnitudes(a)?;
        let measure = Some(amg.strength);
        let view = View::new(amg.systems, amg.coarsening, measure, &magnitudes, &unknowns)?;
        let strength = Arc::clone(view.strength());
        (magnitudes, strength)
    };
    let coarsened = {
        let _stage = stage("coarsening");
        Coarsened::new(&amg, &magnitudes, &strength)?
    };
    let count = coarsened.count();
    if count == 0 || count as f64 > STALLED * rows as f64 {
        return Ok(Err(format!(
            "coarsening stalled on level {level}: {count} of {rows} unknowns are coarse"
        )));
    }
    let (p, radius) = {
        let _stage = stage("interpolation");
        prolongation(&amg, a, &strength, &coarsened, &Here)?
    };
    let _stage = stage("galerkin");
    let r = match amg.restriction_scaling {
        1.0 => p.adjoint()?,
        factor => p.adjoint()?.scale(factor.into())?,
    };
    let coarse = without_empty_rows(galerkin(&r, a, &p)?)?;
    let transfer = Transfer {
        restriction: Arc::new(r),
        prolongation: Arc::new(p),
    };
    Ok(Ok((transfer, radius, coarse)))
}

/// The rows of a prolongation that are to be made, where others may be those of other ranks.
pub(super) trait ComplexRows {
    /// Which of all rows they are.
    fn rows(&self, all: usize) -> Range<usize>;

    /// Whether some couplings of a matrix are not strong.
    fn are_some_weak(&self, a: &Pattern, strength: &Pattern) -> Result<bool>;

    /// These rows of the smoothed prolongation of a tentative one, and the spectral radius that took.
    fn smoothed(
        &self,
        a: &Csr<c64>,
        tentative: &Csr<c64>,
        filter: Option<&Arc<Pattern>>,
    ) -> Result<(Csr<c64>, f64)>;
}

/// Everything is here.
struct Here;

impl ComplexRows for Here {
    fn rows(&self, all: usize) -> Range<usize> {
        0..all
    }

    fn are_some_weak(&self, a: &Pattern, strength: &Pattern) -> Result<bool> {
        Ok(strength.nonzeros() + a.size().rows < a.nonzeros())
    }

    fn smoothed(
        &self,
        a: &Csr<c64>,
        tentative: &Csr<c64>,
        filter: Option<&Arc<Pattern>>,
    ) -> Result<(Csr<c64>, f64)> {
        smoothed_complex(a, tentative, SMOOTHING, filter)
    }
}

/// Rows of the prolongation to a level that `amg` is for, and the spectral radius of its matrix if that was needed.
pub(super) fn prolongation(
    amg: &Amg,
    a: &Csr<c64>,
    strength: &Arc<Pattern>,
    coarsened: &Coarsened,
    by: &dyn ComplexRows,
) -> Result<(Csr<c64>, Option<f64>)> {
    let interpolation = amg.interpolation.after(amg.coarsening)?;
    let groups = match coarsened {
        Coarsened::Grouped(groups) => groups,
        Coarsened::Chosen(splitting) => {
            let given = Weighing::new(a, strength, splitting, &amg.truncation);
            let given = given.of_rows(by.rows(a.size().rows));
            return Ok((complex_weights(interpolation, &given)?, None));
        }
        Coarsened::Twice(_) | Coarsened::Fitted(..) => {
            return Err(refusal("aggressive coarsening"));
        }
    };
    let constant = tentative(groups, &[], 1, a.executor())?.0.convert()?;
    match interpolation.method() {
        Some(InterpolationMethod::Groups { smoothed: true }) => {
            let some_weak = by.are_some_weak(a.pattern(), strength)?;
            let filter = some_weak.then_some(strength);
            let (p, radius) = by.smoothed(a, &constant, filter)?;
            Ok((p, Some(radius)))
        }
        Some(_) if by.rows(a.size().rows).len() == a.size().rows => Ok((constant, None)),
        Some(_) => Ok((constant.row_range(by.rows(a.size().rows))?, None)),
        None => Err(refusal("an interpolation of one's own")),
    }
}
