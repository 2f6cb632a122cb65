//! Approximate triangular solves by Jacobi's iteration, which treats all unknowns at once.

use std::fmt::{Debug, Formatter};
use std::sync::OnceLock;

use super::order::{Rows, Side};
use super::triangular::{invert, off_diagonal};
use crate::linop::{Sweep, check_apply};
use crate::prelude::*;
use crate::solver::Numbers;

/// The part of a residual that the steps may leave. With 0.4 of it GMRES does not converge on `orsirr_1`, and takes 45
/// iterations in place of 6 on `convdiff7:30,100`; with 0.2 it takes twice those of substitution at most.
const MOST_LEFT: f64 = 0.3;

/// The inverse of a triangular matrix, approached by Jacobi's iteration (Anzt, Chow and Dongarra
/// 2015): `y = D^-1 b`, then so many times `y = D^-1 (b - T y)` with what is off the diagonal.
///
/// Every step is one product and needs no order of the unknowns. As many steps as the substitution
/// has levels are exact.
pub(super) struct FixedPoint<T: Scalar> {
    off_diagonal: Csr<T>,
    inverse: Vector<T>,
    sweeps: usize,
    /// The plain one and the conjugate one.
    transposes: [OnceLock<Box<Self>>; 2],
}

impl<T: Mixes<T, T>> FixedPoint<T> {
    /// The entries on one side of the diagonal, and the given diagonal.
    pub(super) fn new(
        component: &'static str,
        (pattern, values): (&Pattern, &[T::Arith]),
        (side, diagonal): (Side, Vec<T::Arith>),
        sweeps: usize,
    ) -> Result<Self> {
        let inverse = invert(component, diagonal)?.into_iter().map(T::store);
        let value = |_, place: usize| values[place];
        Ok(Self {
            off_diagonal: off_diagonal(component, &Rows::Natural, side, pattern, value)?,
            inverse: Vector::from_column(pattern.executor(), inverse.collect()),
            sweeps,
            transposes: Default::default(),
        })
    }

    /// Whether the steps leave little of a residual, which is 1 and -1 over the diagonal in no order. Steps enough are
    /// exact, but on the way there values can grow beyond all bounds where rows are far from dominant.
    pub(super) fn is_of_use(&self, ws: &Workspace) -> Result<bool> {
        let mut numbers = Numbers(1);
        let scaled = |inverse: &T| {
            let sign = T::Arith::from_f64(numbers.next().signum());
            T::store(sign / inverse.load())
        };
        let b = self.inverse.to_vec().iter().map(scaled).collect();
        let b = Vector::from_column(self.executor(), b);
        let (mut guess, mut next) = (Vector::zeros_like(&b)?, Vector::zeros_like(&b)?);
        self.apply(&b, &mut guess, ws)?;
        self.off_diagonal
            .relax(self.step(&b), &guess, &mut next, ws)?;
        // What one more step changes is the residual over the diagonal.
        next.axpy(Coefficient::real(-1.0), &guess)?;
        let left = next.norms()?[0].to_f64();
        Ok(left * left < MOST_LEFT * MOST_LEFT * b.rows() as f64)
    }

    /// What makes `D^-1 (b - T y)` of a guess.
    fn step<'a>(&'a self, b: &'a Vector<T>) -> Sweep<'a, T> {
        Sweep {
            b,
            d: &self.inverse,
            alpha: 1.0,
            beta: 0.0,
            gamma: 0.0,
        }
    }

    /// With the transpose, kept for the next time.
    fn kept_transpose(&self, mode: Transpose) -> Result<&Self> {
        let conjugate = mode == Transpose::Conjugate;
        let made = || {
            let mut inverse = self.inverse.to_vec();
            if conjugate {
                let turned = |value: &mut T| *value = T::store(value.load().conj());
                inverse.iter_mut().for_each(turned);
            }
            Ok(Box::new(Self {
                off_diagonal: match conjugate {
                    true => self.off_diagonal.adjoint()?,
                    false => self.off_diagonal.transpose()?,
                },
                inverse: Vector::from_column(self.executor(), inverse),
                sweeps: self.sweeps,
                transposes: Default::default(),
            }))
        };
        Ok(kept(&self.transposes[usize::from(conjugate)], made)?)
    }
}

impl<T: Scalar> Debug for FixedPoint<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, entries) = (self.inverse.rows(), self.off_diagonal.nonzeros());
        let sweeps = self.sweeps;
        write!(
            f,
            "triangle of {rows} rows, {entries} entries, {sweeps} sweeps"
        )
    }
}

impl<T: Mixes<T, T>> LinOp<T> for FixedPoint<T> {
    fn size(&self) -> Size {
        self.off_diagonal.size()
    }

    fn executor(&self) -> &Executor {
        self.inverse.executor()
    }

    fn apply(&self, b: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("triangular sweeps", self.size(), self.executor(), b, y)?;
        let mut scratch = ws.vector_like::<T, T>(b)?;
        // The last guess is to be the one in `y`.
        let (mut guess, mut next) = match self.sweeps % 2 {
            0 => (y, &mut *scratch),
            _ => (&mut *scratch, y),
        };
        let (one, zero) = (Coefficient::one(), Coefficient::zero());
        guess.combine_rows(one, (&self.inverse, false), b, zero)?;
        for _ in 0..self.sweeps {
            self.off_diagonal.relax(self.step(b), guess, next, ws)?;
            std::mem::swap(&mut guess, &mut next);
        }
        Ok(())
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        b: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.kept_transpose(mode)?.apply(b, y, ws)
    }

    fn footprint(&self) -> Footprint {
        let once = self.off_diagonal.bytes() + self.inverse.bytes();
        let kept = self.transposes.iter().filter_map(OnceLock::get);
        Footprint {
            held: once + kept.map(|a| a.footprint().held).sum::<usize>(),
            moved: self.sweeps * once + self.inverse.bytes(),
        }
    }
}
