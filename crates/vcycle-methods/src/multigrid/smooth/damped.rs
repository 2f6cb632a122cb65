//! Damping by the spectral radius.

use crate::eigen::radius_with;
use crate::linop::Sum;
use crate::prelude::*;

/// What `omega` times the estimated spectral radius of `M A` is at most. Sweeps converge below 2;
/// the estimate is a few percent too low, and what is near 2 is hardly smoothed.
const MOST: f64 = 1.6;

/// `omega M` with the operator `M` of another factory, undamped unless `M A` has a spectral radius
/// that calls for it.
#[derive(Clone, Debug)]
pub(super) struct Damped<F>(pub(super) F);

impl<T: Scalar, F: Factory<T>> Factory<T> for Damped<F> {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let m = self.0.generate(a, ws)?;
        let omega = MOST / radius_with(a.as_ref(), m.as_ref(), ws)?;
        if omega < 1.0 {
            return Ok(Arc::new(Sum::scaled(T::Arith::from_f64(omega), m)));
        }
        Ok(m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::precond::Jacobi;

    #[test]
    fn the_spectral_radius_is_below_two_and_small_ones_stay() {
        let ws = Workspace::new();
        let a = gallery::build("poisson5:20", &Executor::reference()).unwrap();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a.matrix);
        for (weight, expected) in [(5.0, 1.5..1.7), (0.1, 0.15..0.2)] {
            let m = Damped(Jacobi { weight }).generate(&a, &ws).unwrap();
            let radius = radius_with(a.as_ref(), m.as_ref(), &ws).unwrap();
            assert!(expected.contains(&radius), "{radius}");
        }
    }
}
