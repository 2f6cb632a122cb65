//! Scaling of levels whose entries leave the range of the precision they are stored in.

use std::any::Any;

use super::matrices::{LevelMatrix, Matrices, Transfer};
use crate::precision::{Precision, Unit};
use crate::prelude::*;
use crate::text;

/// Couplings this much weaker than the smallest diagonal entry still keep all their bits.
const MARGIN: f64 = 1024.0;

/// What is done about numbers that are too large or too small for the precision of a level.
///
/// A scaled level of algebraic multigrid holds `A' = D A D` with a diagonal matrix `D` of powers of two, which
/// round nothing: `d_i^-2` is about the largest absolute value of row and column `i`, as in
/// symmetry-preserving equilibration (Higham, Pranesh and Zounon 2019; algorithm 19 of the thesis
/// on mixed-precision multigrid in Ginkgo). The transfer operators take the scaling along,
/// `R' = D_next R D^-1` and `P' = D^-1 P D_next`, so that `R' A' P'` is the scaled matrix of the
/// next level. Stages have seen the matrices as they were; Jacobi smooths as before.
///
/// Residuals on their way to a level with vectors in half precision are divided by their norm, and
/// the correction is multiplied by it: as the solve goes on they would become zero there. (Not by
/// their largest entry: solutions are larger than residuals, and have to fit as well.)
///
/// A scaled level on a structured grid holds `S A S` with the same number everywhere on its diagonal, as large as the
/// range allows (Zong et al. 2024, theorem 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LevelScaling {
    /// Makes all levels in double precision, and then scales those whose entries are out of range or whose diagonal is near
    /// its end ("set-up then scale").
    #[default]
    Auto,
    /// Nothing: an entry too large is an error, what is too small becomes zero.
    None,
    /// Scales every level that is not stored in double precision.
    Equilibrate,
    /// Scales and rounds the matrix first, and makes every level of the rounded one above. Worse than `auto`, for
    /// comparison: rounding spoils the coarse levels. Structured multigrid has it.
    ScaleThenSetup,
}

impl LevelScaling {
    pub(super) fn check_algebraic(self) -> Result<()> {
        let reason =
            "`scale-then-setup` is for struct-mg; amg has `auto`, `none` and `equilibrate`";
        Error::check_parameter(self != Self::ScaleThenSetup, "scaling", reason)
    }

    /// Whether vectors are divided by their norm on their way from one precision to another.
    pub(super) fn normalises(self, from: Kind, to: Kind) -> bool {
        self != Self::None && to == Kind::F16 && from != Kind::F16
    }

    /// Whether levels stored so have to be scaled.
    fn applies(self, levels: &[Matrices], precisions: &[Precision]) -> Result<Vec<bool>> {
        let narrow = precisions.iter().map(|of| of.matrix != Unit::Double);
        let narrow: Vec<bool> = narrow.take(levels.len()).collect();
        if self != Self::Auto || !narrow.contains(&true) {
            let all = self == Self::Equilibrate;
            return Ok(narrow.into_iter().map(|narrow| narrow && all).collect());
        }
        let matrices: Vec<&Csr<f64>> = levels
            .iter()
            .map(|level| level.a.local().as_ref())
            .collect();
        let found = Csr::largest_and_least_pivots(&matrices)?;
        let fitting = found.into_iter().zip(precisions);
        let fitting =
            fitting.map(|(found, of)| of.matrix == Unit::Double || fits(found, of.matrix));
        Ok(fitting.map(|fits| !fits).collect())
    }
}

text::named!(LevelScaling, "scaling": Auto = "auto", None = "none", Equilibrate = "equilibrate", ScaleThenSetup = "scale-then-setup");

#[derive(Debug, Default)]
pub(super) struct Factors {
    /// The diagonals of `D`, level by level; none where a level stays as it is.
    pub diagonals: Vec<Option<Vec<f64>>>,
    /// What corrections from the next level are to be multiplied by: transfer operators between
    /// levels of different scales would be out of range themselves.
    pub gains: Vec<f64>,
}

impl Factors {
    /// Those of so many levels that stay as they are.
    pub fn none(levels: usize) -> Self {
        Self {
            diagonals: vec![None; levels],
            gains: vec![1.0; levels],
        }
    }
}

#[allow(clippy::ptr_arg, reason = "lists are told apart by their type")]
pub(super) fn scale_levels<V: Scalar>(
    scaling: LevelScaling,
    levels: &mut Vec<Matrices<V>>,
    precisions: &[Precision],
) -> Result<Factors> {
    let count = levels.len();
    let real = (levels as &mut dyn Any).downcast_mut::<Vec<Matrices>>();
    let Some(levels) = real else {
        return Ok(Factors::none(count));
    };
    let mut factors = Factors::default();
    for (level, applies) in levels.iter().zip(scaling.applies(levels, precisions)?) {
        let diagonal = applies.then(|| roots(level.a.local())).transpose()?;
        factors.diagonals.push(diagonal);
    }
    for (number, level) in levels.iter_mut().enumerate() {
        let own = factors.diagonals[number].as_deref();
        if own.is_some() {
            level.a = here(between(own, level.a.local(), own)?);
        }
        if let Some(transfer) = &mut level.transfer {
            let next = factors.diagonals[number + 1].as_deref();
            factors.gains.push(scale_transfer(transfer, own, next)?);
        }
    }
    Ok(factors)
}

/// Makes `R'` and `P'`, both divided by the power of two they have grown by; returns its square.
fn scale_transfer(
    transfer: &mut Transfer,
    own: Option<&[f64]>,
    next: Option<&[f64]>,
) -> Result<f64> {
    if own.is_none() && next.is_none() {
        return Ok(1.0);
    }
    let (restriction, prolongation) = (transfer.restriction.local(), transfer.prolongation.local());
    let before = restriction.norm_max();
    let inverse: Option<Vec<f64>> = own.map(|own| own.iter().map(|d| 1.0 / d).collect());
    let restriction = between(next, restriction, inverse.as_deref())?;
    let prolongation = between(inverse.as_deref(), prolongation, next)?;
    let growth = (restriction.norm_max() / before).log2().round().exp2();
    transfer.restriction = here(restriction.scale(1.0 / growth)?);
    transfer.prolongation = here(prolongation.scale(1.0 / growth)?);
    Ok(growth * growth)
}

fn here(a: Csr<f64>) -> LevelMatrix {
    LevelMatrix::Here(Arc::new(a))
}

/// `L A R` with diagonal matrices.
fn between(left: Option<&[f64]>, a: &Csr<f64>, right: Option<&[f64]>) -> Result<Csr<f64>> {
    match (left, right) {
        (Some(left), Some(right)) => a.scale_rows(left)?.scale_columns(right),
        (Some(left), None) => a.scale_rows(left),
        (None, Some(right)) => a.scale_columns(right),
        (None, None) => Ok(a.clone()),
    }
}

/// Powers of two near one over the square roots of the largest entries of rows and columns.
fn roots(a: &Csr<f64>) -> Result<Vec<f64>> {
    let scaling = a.equilibrate(1)?.scaling;
    let pairs = scaling.rows.iter().zip(&scaling.columns);
    let power = |(row, column): (&f64, &f64)| (-row.max(*column).log2().round()).exp2();
    Ok(pairs.map(power).collect())
}

/// Whether the largest entry and the inverse of the least pivot are within the range of a precision.
fn fits((found, pivot): (f64, f64), unit: Unit) -> bool {
    let (smallest, largest) = range(unit);
    found <= largest && pivot >= MARGIN * smallest
}

/// The smallest normal and the largest number.
fn range(unit: Unit) -> (f64, f64) {
    match unit {
        Unit::Double => (f64::MIN_POSITIVE, f64::MAX),
        Unit::Single => (f32::MIN_POSITIVE.into(), f32::MAX.into()),
        Unit::Half => (f16::MIN_POSITIVE.into(), f16::MAX.into()),
        Unit::Bfloat => (bf16::MIN_POSITIVE.into(), bf16::MAX.into()),
    }
}

/// `y = |x| M (x / |x|)`: the same as `M` where nothing is out of range.
#[derive(Debug)]
pub(super) struct Normalised<T: Scalar> {
    pub inner: Arc<dyn LinOp<T>>,
}

impl<T: Scalar> LinOp<T> for Normalised<T> {
    forward!(inner: size, executor, label, footprint);

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let mut unit = ws.vector_like::<T, T>(x)?;
        let mut norms = ws.scalars(x)?;
        x.norm(&mut norms)?;
        unit.copy_from(x)?;
        unit.scale(Coefficient::one().over(&norms))?;
        self.inner.apply(&unit, y, ws)?;
        y.scale(Coefficient::of(&norms))
    }
}
