//! Results of reductions that stay where the vectors are, and coefficients made of them.

use crate::backend::gpu;
use crate::error::Result;
use crate::executor::{Buffer, Executor, Pooled};
use crate::scalar::{Field, Scalar};
use num_traits::{One, Zero};

/// One number per column of a [`Vector`](super::Vector), in the memory of its executor.
///
/// Dot products and norms are written here and vector operations read their coefficients from
/// here, so that an iteration need not wait for a number to travel to the host.
#[derive(Clone, Debug)]
pub struct Scalars<T: Scalar> {
    values: Buffer<T::Arith>,
}

impl<T: Scalar> Scalars<T> {
    /// The same value for each of `cols` columns.
    pub fn filled(executor: &Executor, cols: usize, value: T::Arith) -> Result<Self> {
        Ok(Self {
            values: Buffer::filled(executor, cols, value)?,
        })
    }

    /// Where the numbers live.
    pub fn executor(&self) -> &Executor {
        self.values.executor()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The numbers on the host, waiting for the executor where it is asynchronous.
    pub fn host(&self) -> Result<&[T::Arith]> {
        self.values.host()
    }

    /// The numbers on the host, to be changed there.
    pub fn host_mut(&mut self) -> Result<&mut [T::Arith]> {
        self.values.host_mut()
    }

    /// The address on a device, for its kernels.
    pub(crate) fn device(&self) -> Result<vcycle_gpu::Address> {
        self.values.device()
    }

    /// The address on a device, for kernels that write there.
    pub(crate) fn device_mut(&mut self) -> Result<vcycle_gpu::Address> {
        self.values.device_mut()
    }

    /// Copies the numbers into `out`, waiting for the executor where it is asynchronous.
    pub fn read(&self, out: &mut [T::Arith]) -> Result<()> {
        out.copy_from_slice(self.values.host()?);
        Ok(())
    }

    /// Replaces the numbers by those of the host.
    pub fn write(&mut self, values: &[T::Arith]) -> Result<()> {
        self.values.host_mut()?.copy_from_slice(values);
        Ok(())
    }

    /// The number of one column, on the host.
    pub fn get(&self, column: usize) -> Result<T::Arith> {
        Ok(self.values.host()?[column])
    }

    /// Sets every number to the coefficient of its column.
    pub fn assign(&mut self, coefficient: Coefficient<'_, T>) -> Result<()> {
        if let Executor::Gpu(gpu) = self.executor().clone() {
            return gpu::scalars::assign(&gpu, coefficient, self);
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
            return gpu::scalars::square_root(&gpu, self);
        }
        for value in self.values.host_mut()? {
            *value = value.square_root();
        }
        Ok(())
    }
}

impl<T: Scalar> Pooled for Scalars<T> {
    fn allocate(executor: &Executor, _rows: usize, cols: usize) -> Result<Self> {
        Self::filled(executor, cols, T::Arith::zero())
    }
    fn executor(&self) -> &Executor {
        self.values.executor()
    }
}

/// A coefficient of a vector operation, one value per column: `factor * (a * b * c) / (d * e)`
/// with [`Scalars`] `a` to `e`, any of them absent.
///
/// A coefficient with a zero numerator or a zero divisor **is zero**, whatever its other parts
/// are, and a zero coefficient does not touch its operand (as in BLAS). So a column whose
/// recurrence has ended, or one that was switched off by a zero [`times`](Self::times), cannot
/// spread infinities.
///
/// ```
/// use vcycle::{executor::Executor, vector::{Coefficient, Scalars}};
/// let cpu = Executor::cpu();
/// let rho = Scalars::<f64>::filled(&cpu, 1, 6.0)?;
/// let curvature = Scalars::filled(&cpu, 1, 4.0)?;
/// let alpha = Coefficient::ratio(&rho, &curvature);
/// assert_eq!((-alpha).evaluate(0)?, -1.5);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Coefficient<'a, T: Scalar> {
    factor: T::Arith,
    numerators: [Option<&'a Scalars<T>>; 3],
    divisors: [Option<&'a Scalars<T>>; 2],
}

impl<'a, T: Scalar> Coefficient<'a, T> {
    /// The same number for every column.
    pub fn constant(factor: T::Arith) -> Self {
        Self {
            factor,
            numerators: [None; 3],
            divisors: [None; 2],
        }
    }

    /// A real number for every column.
    pub fn real(factor: f64) -> Self {
        Self::constant(T::Arith::from_f64(factor))
    }

    /// One.
    pub fn one() -> Self {
        Self::constant(T::Arith::one())
    }

    /// Zero.
    pub fn zero() -> Self {
        Self::constant(T::Arith::zero())
    }

    /// The numbers of `scalars`.
    pub fn of(scalars: &'a Scalars<T>) -> Self {
        Self::one().times(scalars)
    }

    /// `numerator / divisor`.
    pub fn ratio(numerator: &'a Scalars<T>, divisor: &'a Scalars<T>) -> Self {
        Self::of(numerator).over(divisor)
    }

    /// This coefficient times a number.
    pub fn scaled(mut self, factor: T::Arith) -> Self {
        self.factor *= factor;
        self
    }

    /// This coefficient times `scalars`.
    ///
    /// # Panics
    /// With more than three numerators.
    pub fn times(mut self, scalars: &'a Scalars<T>) -> Self {
        let free = self.numerators.iter_mut().find(|slot| slot.is_none());
        *free.expect("a coefficient has at most three numerators") = Some(scalars);
        self
    }

    /// This coefficient over `scalars`.
    ///
    /// # Panics
    /// With more than two divisors.
    pub fn over(mut self, scalars: &'a Scalars<T>) -> Self {
        let free = self.divisors.iter_mut().find(|slot| slot.is_none());
        *free.expect("a coefficient has at most two divisors") = Some(scalars);
        self
    }

    /// The number all columns share.
    pub(crate) fn factor(&self) -> T::Arith {
        self.factor
    }

    /// The three numerators, then the two divisors.
    pub(crate) fn parts(&self) -> [Option<&'a Scalars<T>>; 5] {
        let ([a, b, c], [d, e]) = (self.numerators, self.divisors);
        [a, b, c, d, e]
    }

    /// The value for one column, on the host.
    pub fn evaluate(&self, column: usize) -> Result<T::Arith> {
        let mut value = self.factor;
        let mut divisor = T::Arith::one();
        for scalars in self.numerators.iter().flatten() {
            let part = scalars.get(column)?;
            if part.is_zero() {
                return Ok(T::Arith::zero());
            }
            value *= part;
        }
        for scalars in self.divisors.iter().flatten() {
            divisor *= scalars.get(column)?;
        }
        if divisor.is_zero() || value.is_zero() {
            return Ok(T::Arith::zero());
        }
        Ok(value / divisor)
    }
}

impl<T: Scalar> std::ops::Neg for Coefficient<'_, T> {
    type Output = Self;
    fn neg(mut self) -> Self {
        self.factor = -self.factor;
        self
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
