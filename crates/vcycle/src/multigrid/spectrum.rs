//! The largest eigenvalue of a matrix scaled by its diagonal.

use num_traits::Zero;

use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::scalar::{Field, Real, Scalar};
use crate::vector::{Coefficient, Scalars, Vector};

/// Steps of the power method: its error is a few percent then.
const STEPS: usize = 10;

/// An estimate from below of the spectral radius of `M A` by the power method, from a vector that
/// is the same every time.
///
/// # Errors
/// When an operator fails.
pub fn spectral_radius<T: Scalar>(
    a: &dyn LinOp<T>,
    m: &dyn LinOp<T>,
    ws: &Workspace,
) -> Result<f64> {
    let start = (0..a.size().rows).map(|row| T::store(T::Arith::from_f64(scattered(row))));
    let mut v = Vector::<T>::from_column(a.executor(), start.collect());
    let mut product = ws.vector_like::<T, T>(&v)?;
    let mut norm = Scalars::filled(a.executor(), 1, T::Arith::zero())?;
    v.norm(&mut norm)?;
    for _ in 0..STEPS {
        v.scale(Coefficient::one().over(&norm))?;
        a.apply(&v, &mut product, ws)?;
        m.apply(&product, &mut v, ws)?;
        v.norm(&mut norm)?;
    }
    Ok(norm.get(0)?.real().to_f64())
}

/// A number in -1..1 that looks random (the fractional parts of multiples of the golden ratio,
/// squared index against resonance with a grid).
pub(super) fn scattered(row: usize) -> f64 {
    let row = row as f64 + 1.0;
    2.0 * (row * row * 0.618_033_988_749_895).fract() - 1.0
}

/// The largest absolute row sum of `D^-1 A`, which bounds its spectral radius.
pub(super) fn largest_row_sum<T: Scalar>(a: &Csr<T>, diagonal: &[T]) -> f64 {
    let modulus = |value: &T| value.load().modulus().to_f64();
    let sum = |row: usize| {
        let moduli = a.row(row).1.iter().map(modulus);
        moduli.sum::<f64>() / modulus(&diagonal[row])
    };
    let parts = a.map_pieces(|rows| rows.map(sum).fold(0.0, f64::max));
    parts.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::linop::Factory;
    use crate::precond::Jacobi;

    #[test]
    fn the_spectral_radius_of_a_laplacian_is_found_and_bounded() {
        let matrix = gallery::build("poisson5:20", &Executor::reference()).unwrap();
        let matrix = matrix.matrix;
        assert_eq!(largest_row_sum(&matrix, &matrix.diagonal()), 2.0);
        let a: Arc<dyn LinOp<f64>> = Arc::new(matrix);
        let ws = Workspace::new();
        let m = Jacobi::default().generate(&a, &ws).unwrap();
        let radius = spectral_radius(a.as_ref(), m.as_ref(), &ws).unwrap();
        assert!((1.75..2.0).contains(&radius), "{radius}");
    }
}
