//! Results of reductions that stay where the vectors are, and coefficients made of them.

use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::factor::Factor;
use crate::scalar::{Field, Scalar};
use num_traits::{One, Zero};

/// One number per column of a [`Vector`](super::Vector), in the memory of its executor.
///
/// Dot products and norms are written here and vector operations read their coefficients from
/// here, so that an iteration need not wait for a number to travel to the host.
#[derive(Clone, Debug)]
pub struct Scalars<T: Scalar> {
    pub(crate) values: Buffer<T::Arith>,
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

    /// The coefficient as kernels of the host read it, waiting for the executor where it is asynchronous.
    pub(crate) fn on_host(&self) -> Result<Factor<'a, T>> {
        let read = |part: Option<&'a Scalars<T>>| part.map(Scalars::host).transpose();
        let ([a, b, c], [d, e]) = (self.numerators, self.divisors);
        Ok(Factor {
            number: self.factor,
            numerators: [read(a)?, read(b)?, read(c)?],
            divisors: [read(d)?, read(e)?],
        })
    }

    /// The value for one column, on the host.
    pub fn evaluate(&self, column: usize) -> Result<T::Arith> {
        Ok(self.on_host()?.evaluate(column))
    }
}

impl<T: Scalar> std::ops::Neg for Coefficient<'_, T> {
    type Output = Self;
    fn neg(mut self) -> Self {
        self.factor = -self.factor;
        self
    }
}
