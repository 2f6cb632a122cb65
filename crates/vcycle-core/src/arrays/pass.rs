//! Arrays as arguments of kernels.

use super::{Coefficient, Csr, Pattern, Scalars, Vector};
use crate::error::Result;
use crate::gpu::{Passes, Read, Write};
use crate::scalar::Scalar;

/// Row offsets and columns.
impl Passes<(Read<u64>, Read<u32>)> for &Pattern {
    fn pass(self) -> Result<(Read<u64>, Read<u32>)> {
        Ok(((&self.offsets).pass()?, self.columns.pointer()?))
    }
}

/// The number of rows, row offsets and columns.
impl Passes<(u64, Read<u64>, Read<u32>)> for &Pattern {
    fn pass(self) -> Result<(u64, Read<u64>, Read<u32>)> {
        let (offsets, columns) = self.pass()?;
        Ok((self.size.rows as u64, offsets, columns))
    }
}

/// Row offsets, columns and values.
impl<T: Scalar> Passes<(Read<u64>, Read<u32>, Read<T>)> for &Csr<T> {
    fn pass(self) -> Result<(Read<u64>, Read<u32>, Read<T>)> {
        let (offsets, columns) = (&*self.pattern).pass()?;
        Ok((offsets, columns, self.values.pointer()?))
    }
}

/// The number of rows, row offsets, columns and values.
impl<T: Scalar> Passes<(u64, Read<u64>, Read<u32>, Read<T>)> for &Csr<T> {
    fn pass(self) -> Result<(u64, Read<u64>, Read<u32>, Read<T>)> {
        let (offsets, columns, values) = self.pass()?;
        Ok((self.pattern.size.rows as u64, offsets, columns, values))
    }
}

impl<T: Scalar> Passes<Read<T>> for &Vector<T> {
    fn pass(self) -> Result<Read<T>> {
        self.values.pointer()
    }
}

impl<T: Scalar> Passes<Write<T>> for &mut Vector<T> {
    fn pass(self) -> Result<Write<T>> {
        self.values.pointer_mut()
    }
}

impl<T: Scalar> Passes<Read<T::Arith>> for &Scalars<T> {
    fn pass(self) -> Result<Read<T::Arith>> {
        self.values.pointer()
    }
}

impl<T: Scalar> Passes<Write<T::Arith>> for &mut Scalars<T> {
    fn pass(self) -> Result<Write<T::Arith>> {
        self.values.pointer_mut()
    }
}

/// What `COEFFICIENT` of the dialect stands for: a factor, three numerators and two divisors.
pub(crate) type CoefficientParts<A, S = A> = (A, Read<S>, Read<S>, Read<S>, Read<S>, Read<S>);

impl<T: Scalar> Passes<CoefficientParts<T::Arith>> for Coefficient<'_, T> {
    fn pass(self) -> Result<CoefficientParts<T::Arith>> {
        let [a, b, c, d, e] = self.parts();
        let (a, b, c) = (a.pass()?, b.pass()?, c.pass()?);
        Ok((self.factor(), a, b, c, d.pass()?, e.pass()?))
    }
}
