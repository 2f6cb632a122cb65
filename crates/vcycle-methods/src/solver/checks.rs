//! Checks before a solve begins, how far rounding lets a residual fall, and the outcomes of columns in the end.

use std::borrow::Cow;

use num_traits::{Float, One, Zero};

use crate::prelude::*;
use crate::stop::{Monitor, Status};

/// What a solve with factors leaves in a row at best, in units of the last place.
const ROW_ERROR: f64 = 32.0;

/// Checks the initial guess; says whether it is zero.
pub(super) fn prepare_guess<T: Scalar>(x: &mut Vector<T>, norms: &mut Scalars<T>) -> Result<bool> {
    x.norm(norms)?;
    check_finite("initial guess", x, norms)?;
    let zero = norms.host()?.iter().all(Zero::is_zero);
    if zero {
        // The squares of tiny numbers vanish, the numbers do not.
        x.fill(T::default())?;
    }
    Ok(zero)
}

/// Zero solves a zero right-hand side, whatever the guess.
pub(super) fn clear_solved<T: Scalar>(x: &mut Vector<T>, rhs_norms: &mut Scalars<T>) -> Result<()> {
    let norms = rhs_norms.host_mut()?;
    if !norms.iter().any(Zero::is_zero) {
        return Ok(());
    }
    for norm in norms.iter_mut().filter(|norm| !norm.is_zero()) {
        *norm = T::Arith::one();
    }
    x.scale(Coefficient::of(rhs_norms))
}

/// Fails, naming the place, if a vector of these norms holds an infinity or NaN.
pub(super) fn check_finite<T: Scalar>(
    what: &'static str,
    v: &Vector<T>,
    norms: &Scalars<T>,
) -> Result<()> {
    if norms.host()?.iter().all(|norm| Field::is_finite(*norm)) {
        return Ok(());
    }
    let first = v.executor().before(v.rows())?;
    let values = v.to_vec();
    let place = values.iter().position(|value| !value.load().is_finite());
    let checked = match place {
        // Only the sum of the squares is too large, or another rank has the value.
        None => Ok(()),
        Some(place) => Err(Error::NonFiniteVector {
            what,
            row: first + place / v.cols(),
            column: place % v.cols(),
        }),
    };
    v.executor().agree(checked)
}

/// Makes NaN of the columns that ended as non-finite, so that the operator around the solver notices.
pub(super) fn spread_non_finite<T: Scalar>(
    monitor: &Monitor<T>,
    x: &mut Vector<T>,
    ws: &Workspace,
) -> Result<()> {
    let failed = |column: usize| monitor.status(column) == Some(Status::NonFinite);
    if !(0..x.cols()).any(failed) {
        return Ok(());
    }
    let mut factors = ws.scalars(x)?;
    for (column, factor) in factors.host_mut()?.iter_mut().enumerate() {
        let nan = if failed(column) { f64::NAN } else { 1.0 };
        *factor = T::Arith::from_f64(nan);
    }
    x.scale(Coefficient::of(&factors))
}

/// For every column `|A s x| + |b|` with signs `s` that look random: what the roundoff is to be multiplied by for the
/// residual that rounding leaves.
///
/// In `A x` large terms may cancel; in `A s x` they do not. Rounding `x` itself changes its entries by up to
/// a roundoff each, with unknown signs, so that even the exact solution has a residual of about `|A s x|` half-roundoffs once
/// it is stored. The level is at most `|A| |x| + |b|`, by which the normwise backward error divides
/// (Rigal and Gaches 1967): the residual over it bounds that error. One product is all it takes, on any
/// executor and for operators without known entries.
#[doc(hidden)]
pub fn rounding_levels<T: Scalar>(
    a: &dyn LinOp<T>,
    b: &Vector<T>,
    x: &Vector<T>,
    ws: &Workspace,
) -> Result<Vec<f64>> {
    let _stage = ws.stage("accuracy limit", a.footprint().moved);
    let mut flipped = ws.vector_like::<T, T>(b)?;
    let mut product = ws.vector_like::<T, T>(b)?;
    flipped.flip_signs(x)?;
    a.apply(&flipped, &mut product, ws)?;
    let norms = product.norms()?.into_iter().zip(b.norms()?);
    Ok(norms.map(|(a, b)| a.to_f64() + b.to_f64()).collect())
}

/// Whether a residual is what rounding leaves in every row, where rows can be looked at on the host; false elsewhere.
///
/// The level of a row is `|A| |x| + |b|` in it: the residual over that is the componentwise backward error (Oettli and
/// Prager 1964).
pub(super) fn is_rounding_in_every_row<T: Scalar>(
    a: &dyn LinOp<T>,
    [b, x, residual]: [&Vector<T>; 3],
) -> Result<bool> {
    if a.executor().is_device() || a.executor().team().is_some() {
        return Ok(false);
    }
    let Some(Cow::Borrowed(a)) = a.csr() else {
        return Ok(false);
    };
    let (cols, most) = (
        b.cols(),
        ROW_ERROR * <T::Arith as Field>::Real::epsilon().to_f64(),
    );
    let (b, x, residual) = (b.host()?, x.host()?, residual.host()?);
    let size = |value: T| value.load().modulus().to_f64();
    let is_small = |row: usize| {
        let (columns, values) = a.row(row);
        (0..cols).all(|col| {
            let at = |row: usize| row * cols + col;
            let terms = columns.iter().zip(values);
            let terms = terms.map(|(&other, &value)| size(value) * size(x[at(other as usize)]));
            size(residual[at(row)]) <= most * (terms.sum::<f64>() + size(b[at(row)]))
        })
    };
    let pieces = a.map_pieces(|mut rows| rows.all(is_small));
    Ok(pieces.into_iter().all(|is_small| is_small))
}
