//! Operations on the results of reductions.

use crate::arrays::{Coefficient, Scalars};
use crate::error::Result;
use crate::executor::Executor;
use crate::launch;
use crate::scalar::{Field, Scalar};

impl<T: Scalar> Scalars<T> {
    /// Sets every number to the coefficient of its column.
    pub fn assign(&mut self, coefficient: Coefficient<'_, T>) -> Result<()> {
        if let Executor::Gpu(gpu) = self.executor().clone() {
            return launch::scalars::assign(&gpu, coefficient, self);
        }
        let values = self.values.host_mut()?;
        for (column, value) in values.iter_mut().enumerate() {
            *value = coefficient.evaluate(column)?;
        }
        Ok(())
    }

    /// Replaces every number by its square root.
    pub fn square_root(&mut self) -> Result<()> {
        if let Executor::Gpu(gpu) = self.executor().clone() {
            return launch::scalars::square_root(&gpu, self);
        }
        for value in self.values.host_mut()? {
            *value = value.square_root();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
