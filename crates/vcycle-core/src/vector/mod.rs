//! Vectors: one or many columns, and the operations solvers are made of.
//!
//! Solvers never index a vector. They copy, add and reduce with the methods here, which run where
//! the vector lives; so the same solver serves threads, a GPU or a distributed vector, whose
//! executor adds its communication to the reductions.

mod columns;
#[cfg(test)]
mod kernel_tests;
mod packed;

pub use crate::arrays::{Coefficient, Packed, Scalars, Storage, Vector};
use vcycle_kernels::compiled;

use num_traits::Zero;

use crate::error::check_size;
use crate::operations::{reductions, vector as operations};
use crate::prelude::*;
use crate::scalar::RealOf;

impl<T: Scalar> Vector<T> {
    /// The columns of the identity.
    pub fn identity(executor: &Executor, rows: usize) -> Result<Self> {
        let mut all = Self::zeros(executor, rows, rows)?;
        operations::identity(&mut all)?;
        Ok(all)
    }

    /// The rows of all ranks together where ranks share the vector, else its own: decisions that all ranks have to make
    /// alike depend on these. All ranks call it together.
    pub fn global_rows(&self) -> Result<usize> {
        Ok(self.executor().total(self.rows)? as usize)
    }

    /// Sets every entry to `value`.
    pub fn fill(&mut self, value: T) -> Result<()> {
        operations::fill(value, self)
    }

    /// `self = x`, rounding where this type is narrower. Complex values cannot become real.
    pub fn copy_from<S: Scalar>(&mut self, x: &Vector<S>) -> Result<()> {
        compiled!(any S, T: fn(&Vector<S>, &mut Vector<T>) -> Result<()> = |x, y| {
            y.check("copy", x)?;
            // A constant: what cannot be copied is not compiled.
            if const { S::KIND.is_complex() && !T::KIND.is_complex() } {
                return Err(Error::Conversion {
                    from: S::KIND,
                    to: T::KIND,
                });
            }
            operations::copy(x, y)
        })(x, self)
    }

    /// `self += alpha x`.
    pub fn axpy(&mut self, alpha: Coefficient<'_, T>, x: &Self) -> Result<()> {
        self.axpby(alpha, x, Coefficient::one())
    }

    /// `self = alpha x + beta self`. With `beta` zero the old contents are not read.
    pub fn axpby(
        &mut self,
        alpha: Coefficient<'_, T>,
        x: &Self,
        beta: Coefficient<'_, T>,
    ) -> Result<()> {
        self.check("axpby", x)?;
        operations::axpby(alpha, x, beta, self)
    }

    /// `self = alpha self`.
    pub fn scale(&mut self, alpha: Coefficient<'_, T>) -> Result<()> {
        operations::scale(alpha, self)
    }

    /// Row by row `self = s x` with signs `s` that look random: of `A s x` every sum is as long as its terms are,
    /// which shows how far rounding reaches in `A x`. The signs are the same on every executor.
    pub fn flip_signs(&mut self, x: &Self) -> Result<()> {
        self.check("flip_signs", x)?;
        operations::flip_signs(x, self)
    }

    /// Row by row `self = d x` with one number `d` a row, conjugated where asked: the action of a
    /// diagonal matrix or of its adjoint.
    pub fn scale_rows<D: Mixes<T, T>>(
        &mut self,
        d: &Vector<D>,
        conjugate: bool,
        x: &Self,
    ) -> Result<()> {
        self.check("scale_rows", x)?;
        check_size("scale_rows", Size::new(self.rows, 1), d.size())?;
        operations::scale_rows((d, conjugate), x, self)
    }

    /// Row by row `self = alpha d x + beta self` with one number `d` a row, conjugated where asked.
    /// With `beta` zero the old contents are not read.
    pub fn combine_rows<D: Mixes<T, T>>(
        &mut self,
        alpha: Coefficient<'_, T>,
        d: (&Vector<D>, bool),
        x: &Self,
        beta: Coefficient<'_, T>,
    ) -> Result<()> {
        self.check("combine_rows", x)?;
        check_size("combine_rows", Size::new(self.rows, 1), d.0.size())?;
        operations::combine_rows(alpha, d, x, beta, self)
    }

    /// Column by column, the sum of `conj(self) * y`.
    pub fn dot(&self, y: &Self, out: &mut Scalars<T>) -> Result<()> {
        self.check("dot", y)?;
        self.check_scalars("dot", out)?;
        reductions::dot(self, y, out)
    }

    /// Column by column, the products of `self` with `y` and with `z`, as two calls of
    /// [`dot`](Self::dot) give them, in one pass over memory where the executor can.
    pub fn dot2(
        &self,
        y: &Self,
        z: &Self,
        with_y: &mut Scalars<T>,
        with_z: &mut Scalars<T>,
    ) -> Result<()> {
        self.check("dot2", y)?;
        self.check("dot2", z)?;
        self.check_scalars("dot2", with_y)?;
        self.check_scalars("dot2", with_z)?;
        reductions::dot2(self, (y, with_y), (z, with_z))
    }

    /// `self += alpha x`, then column by column the norm of `self`, in one pass over memory where
    /// the executor can.
    pub fn axpy_norm(
        &mut self,
        alpha: Coefficient<'_, T>,
        x: &Self,
        out: &mut Scalars<T>,
    ) -> Result<()> {
        self.check("axpy_norm", x)?;
        self.check_scalars("axpy_norm", out)?;
        reductions::axpy_norm(alpha, x, self, out)
    }

    /// `self += alpha p` and `r += beta q`, then column by column the norm of `r`, in one pass
    /// over memory where the executor can.
    #[doc(hidden)]
    pub fn advance(
        &mut self,
        (alpha, p): (Coefficient<'_, T>, &Self),
        (beta, q): (Coefficient<'_, T>, &Self),
        r: &mut Self,
        out: &mut Scalars<T>,
    ) -> Result<()> {
        self.check("advance", p)?;
        self.check("advance", q)?;
        self.check("advance", r)?;
        self.check_scalars("advance", out)?;
        reductions::advance((alpha, p, self), (beta, q, r), out)
    }

    /// Column by column, the Euclidean norm.
    pub fn norm(&self, out: &mut Scalars<T>) -> Result<()> {
        self.check_scalars("norm", out)?;
        reductions::norm(self, out)
    }

    /// The Euclidean norm of every column, on the host.
    pub fn norms(&self) -> Result<Vec<RealOf<T>>> {
        let mut out = Scalars::filled(self.executor(), self.cols, T::Arith::zero())?;
        self.norm(&mut out)?;
        Ok(out.host()?.iter().map(|value| value.real()).collect())
    }

    fn check<S: Scalar>(&self, operation: &'static str, other: &Vector<S>) -> Result<()> {
        let place = (self.executor(), other.executor());
        check_alike(operation, (self.size(), other.size()), place)
    }

    fn check_scalars(&self, operation: &'static str, scalars: &Scalars<T>) -> Result<()> {
        check_size(
            operation,
            Size::new(1, self.cols),
            Size::new(1, scalars.len()),
        )
    }
}

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

/// Whether vectors are of the same size and in the same place; without their types, so that it is compiled once.
fn check_alike(
    operation: &'static str,
    (expected, found): (Size, Size),
    (here, there): (&Executor, &Executor),
) -> Result<()> {
    check_size(operation, expected, found)?;
    here.check_same(there, operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_their_own_coefficients() {
        for executor in [Executor::reference(), Executor::cpu()] {
            let x = Vector::from_rows(&executor, 2, vec![1.0, 10.0, 2.0, 20.0]).unwrap();
            let mut y = x.clone();
            let mut alpha = Scalars::filled(&executor, 2, 0.0).unwrap();
            alpha.write(&[1.0, -1.0]).unwrap();
            y.axpy(Coefficient::of(&alpha), &x).unwrap();
            assert_eq!(y.to_vec(), [2.0, 0.0, 4.0, 0.0]);
        }
    }

    #[test]
    fn a_zero_beta_forgets_nan() {
        let host = Executor::reference();
        let x = Vector::from_column(&host, vec![1.0]);
        let mut y = Vector::from_column(&host, vec![f64::NAN]);
        y.axpby(Coefficient::one(), &x, Coefficient::zero())
            .unwrap();
        assert_eq!(y.to_vec(), [1.0]);
    }

    #[test]
    fn dot_conjugates_the_first() {
        let host = Executor::reference();
        let x = Vector::from_column(&host, vec![c64::new(0.0, 1.0)]);
        assert_eq!(x.norms().unwrap(), [1.0]);
    }

    #[test]
    fn shapes_and_kinds_are_checked() {
        let host = Executor::reference();
        let mut x = Vector::from_column(&host, vec![1.0, 2.0]);
        let y = Vector::from_column(&host, vec![1.0]);
        assert_refused!(x.axpy(Coefficient::one(), &y), SizeMismatch { .. });
        let z = Vector::from_column(&host, vec![c64::new(1.0, 0.0); 2]);
        assert_refused!(x.copy_from(&z), Conversion { .. });
        let mut h = Vector::<f16>::zeros_like(&x).unwrap();
        h.copy_from(&x).unwrap();
        assert_eq!(h.to_vec()[1].to_f64(), 2.0);
    }

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
