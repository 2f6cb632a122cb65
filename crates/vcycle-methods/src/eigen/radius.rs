//! Estimates of the largest eigenvalue of a matrix scaled by its diagonal.

use crate::linop::{Sweep, rows_here};
use crate::matrix::zeroed;
use crate::operations;
use crate::prelude::*;

/// Steps of the power method.
const STEPS: usize = 6;
/// Bits that an estimate is worth.
const KEPT: u32 = 16;
/// What it finds then is less than the spectral radius, by a sixth at most as a rule.
const SAFETY: f64 = 1.2;
/// Numbers that one thread makes at a time.
const PIECE: usize = 16 * 1024;
/// Steps for operators that are no diagonal matrices, of which no bound is known.
const OPERATOR_STEPS: usize = 10;

/// An estimate of the spectral radius of `D A` for a diagonal matrix `D`, rather too large than too
/// small but not larger than a `bound`. By the power method, from a vector that is the same every
/// time; vectors are scaled by the bound, where there is one, so that no step waits for a norm.
pub(crate) fn spectral_radius<T: Mixes<T, T>>(
    a: &dyn LinOp<T>,
    d: &Vector<T>,
    bound: f64,
    ws: &Workspace,
) -> Result<f64> {
    let relax =
        |sweep: Sweep<'_, T>, v: &Vector<T>, next: &mut Vector<T>| a.relax(sweep, v, next, ws);
    radius_from(scattered_like::<T>(d)?, d, bound, relax, norm)
}

/// The same from a vector of [scattered] numbers, by given sweeps and norms.
pub(crate) fn radius_from<T: Mixes<T, T>>(
    mut v: Vector<T>,
    d: &Vector<T>,
    bound: f64,
    relax: impl Fn(Sweep<'_, T>, &Vector<T>, &mut Vector<T>) -> Result<()>,
    norm: impl Fn(&Vector<T>) -> Result<f64>,
) -> Result<f64> {
    let mut next = Vector::zeros_like(&v)?;
    let zero = Vector::zeros_like(&v)?;
    let mut scale = bound;
    for step in 1..=STEPS {
        if step == STEPS || !bound.is_finite() {
            scale = norm(&v)?;
        }
        let sweep = Sweep {
            b: &zero,
            d,
            alpha: 1.0 / scale,
            beta: 0.0,
            gamma: 0.0,
        };
        relax(sweep, &v, &mut next)?;
        std::mem::swap(&mut v, &mut next);
    }
    Ok(estimate(norm(&v)?, bound))
}

/// The same for a given power method: the norm after so many steps of it.
pub(crate) fn radius_by(
    power_method: impl FnOnce(usize) -> Result<f64>,
    bound: f64,
) -> Result<f64> {
    Ok(estimate(power_method(STEPS)?, bound))
}

/// The radius for what the power method has found. It is rounded: then it is the same wherever norms are summed up in
/// another order, on devices and over ranks.
fn estimate(norm: f64, bound: f64) -> f64 {
    let found = rounded(SAFETY * norm, KEPT);
    // So is a bound: its sums may be formed in another order, too.
    match found > 0.0 && found < bound {
        true => found,
        false => rounded(bound, KEPT),
    }
}

/// To so many bits.
pub(crate) fn rounded(value: f64, kept: u32) -> f64 {
    let dropped = f64::MANTISSA_DIGITS - kept;
    let half = 1_u64 << (dropped - 1);
    f64::from_bits(value.to_bits().wrapping_add(half) >> dropped << dropped)
}

/// An estimate from below of the spectral radius of `M A` for any operator `M`, a few percent too low
/// as a rule: the power method, from a vector that is the same every time.
///
/// ```
/// use vcycle::{eigen::radius_with, executor::{Executor, Workspace}, gallery, linop::Identity};
/// let cpu = Executor::cpu();
/// let a = gallery::build("poisson5:20x20", &cpu)?.matrix;
/// let radius = radius_with::<f64>(&a, &Identity::new(&cpu, 400), &Workspace::new())?;
/// assert!((7.0..8.0).contains(&radius));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// When an operator fails.
pub fn radius_with<T: Scalar>(a: &dyn LinOp<T>, m: &dyn LinOp<T>, ws: &Workspace) -> Result<f64> {
    let like = ws.vector::<T>(a.executor(), a.size().rows, 1)?;
    let mut v = scattered_like::<T>(&like)?;
    let mut product = ws.vector_like::<T, T>(&v)?;
    for _ in 0..OPERATOR_STEPS {
        v.scale(Coefficient::real(1.0 / norm(&v)?))?;
        a.apply(&v, &mut product, ws)?;
        m.apply(&product, &mut v, ws)?;
    }
    norm(&v)
}

fn norm<T: Scalar>(v: &Vector<T>) -> Result<f64> {
    Ok(v.norms()?[0].to_f64())
}

/// A number in -1..1 that looks random: bits of a multiple of the golden ratio, of the squared index
/// against resonance with a grid.
pub(crate) fn scattered(index: usize) -> f64 {
    let index = (index as u64).wrapping_add(1);
    let square = index.wrapping_mul(index);
    let bits = square.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    bits as f64 / f64::from(1_u32 << 31) - 1.0
}

/// As many [scattered] numbers as another vector has.
fn scattered_like<T: Scalar>(like: &Vector<T>) -> Result<Vector<T>> {
    let first = like.executor().before(like.rows())?;
    if like.executor().team().is_none()
        && let Some(made) = operations::interpolate::scattered(like.executor(), like.rows())?
    {
        return Ok(made);
    }
    let mut values = zeroed::<T>(like.executor(), like.rows())?;
    let bytes = size_of_val(&values[..]);
    let pieces = values.chunks_mut(PIECE).enumerate().collect();
    let fill = |(piece, values): (usize, &mut [T])| {
        for (row, value) in (first + piece * PIECE..).zip(values) {
            *value = T::store(T::Arith::from_f64(scattered(row)));
        }
    };
    like.executor().run(bytes, pieces, fill);
    Vector::from_rows(like.executor(), 1, values)
}

/// [`row_sum_bound`] of a matrix that several ranks may share.
pub(crate) fn row_sum_bound_of<T: Scalar>(
    a: &dyn LinOp<T>,
    component: &'static str,
) -> Result<f64> {
    let (rows, first) = rows_here(a, component)?;
    let Some(team) = a.executor().team() else {
        return row_sum_bound(&rows);
    };
    let found = operations::entries::extremes_from(&rows, first)?;
    team.largest(found.map_or_else(|| row_sums(&rows, first), |found| found.row_sum))
}

/// The largest absolute row sum of `D^-1 A` with the diagonal `D`, which bounds its spectral radius.
pub(crate) fn row_sum_bound<T: Scalar>(a: &Csr<T>) -> Result<f64> {
    if let Some(found) = operations::entries::extremes(a)? {
        return Ok(found.row_sum);
    }
    Ok(row_sums(a, 0))
}

/// The same for rows of which the first has its diagonal entry in column `first`.
fn row_sums<T: Scalar>(a: &Csr<T>, first: usize) -> f64 {
    let arrays = a.at_hand();
    let bound_of = |row: usize| {
        let (columns, values) = arrays.row(row);
        let (mut diagonal, mut sum) = (0.0, 0.0);
        for (&column, value) in columns.iter().zip(values) {
            let modulus = value.load().modulus().to_f64();
            sum += modulus;
            let own = column as usize == first + row;
            diagonal = if own { modulus } else { diagonal };
        }
        sum / diagonal
    };
    let parts = a.map_pieces(|rows| rows.map(bound_of).fold(0.0, f64::max));
    parts.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::precond::Jacobi;

    fn radius(problem: &str) -> f64 {
        let a = gallery::build(problem, &Executor::reference()).unwrap();
        let bound = row_sum_bound(&a.matrix).unwrap();
        assert_eq!(bound, 2.0);
        let inverse = Jacobi::default().inverse::<f64>(&a.matrix).unwrap();
        spectral_radius::<f64>(&a.matrix, inverse.values(), bound, &Workspace::new()).unwrap()
    }

    #[test]
    fn the_spectral_radius_of_a_laplacian_is_found_and_bounded() {
        assert!((1.9..=2.0).contains(&radius("poisson5:30")));
        assert!((1.3..1.6).contains(&radius("poisson27:16")));
    }
}
