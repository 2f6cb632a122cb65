//! Operations on the results of reductions.

use crate::arrays::{Coefficient, Scalars};
use crate::error::Result;
use crate::operations::vector as operations;
use crate::scalar::Scalar;

impl<T: Scalar> Scalars<T> {
    /// Sets every number to the coefficient of its column.
    pub fn assign(&mut self, coefficient: Coefficient<'_, T>) -> Result<()> {
        operations::assign(coefficient, self)
    }

    /// Replaces every number by its square root.
    pub fn square_root(&mut self) -> Result<()> {
        operations::square_root(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn zero_wins_over_everything() {
        let host = Executor::reference();
        let off = Scalars::<f64>::filled(&host, 1, 0.0).unwrap();
        let nan = Scalars::<f64>::filled(&host, 1, f64::NAN).unwrap();
        assert_eq!(Coefficient::of(&nan).times(&off).evaluate(0).unwrap(), 0.0);
        assert_eq!(Coefficient::one().over(&off).evaluate(0).unwrap(), 0.0);
        assert!(Coefficient::of(&nan).evaluate(0).unwrap().is_nan());
    }

    #[test]
    fn assign_keeps_a_coefficient() {
        let host = Executor::reference();
        let two = Scalars::<f64>::filled(&host, 2, 2.0).unwrap();
        let mut half = two.clone();
        half.assign(Coefficient::one().over(&two)).unwrap();
        assert_eq!(half.host().unwrap(), [0.5, 0.5]);
    }
}
