//! Jacobi, and Chebyshev polynomials over it.

use super::{StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::eigen::{radius_from, scattered, spectral_radius};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Sweep};
use crate::matrix::GridPart;
use crate::operations::Finish;
use crate::precond::{CHEBYSHEV_LOWER, chebyshev_weights};
use crate::reference::stencil::Start;
use crate::scalar::{Mixes, convert};
use crate::vector::{Coefficient, Vector};

/// The polynomial in `D^-1 A`, with `D` the diagonal, that is smallest on the upper part of the spectrum
/// (Adams, Brezina, Hu and Tuminaro 2003); of degree one it is Jacobi with the best weight.
#[derive(Debug)]
pub(super) struct Polynomial<V> {
    /// One over the diagonal, unknown by unknown.
    inverses: Vector<V>,
    /// Of every step the weights of the residual and of the step before.
    weights: Vec<(f64, f64)>,
}

impl<V: Vectors + Mixes<V, V>> Polynomial<V> {
    pub(super) fn new(
        degree: usize,
        a: &StencilMatrix<f64>,
        executor: &Executor,
        ws: &Workspace,
    ) -> Result<Self> {
        let inverse = |value: f64| 1.0 / value;
        let rows = a.diagonal().into_iter().map(inverse).collect();
        let rows = Vector::from_column(a.executor(), rows);
        let upper = match a.part() {
            None => spectral_radius::<f64>(a, &rows, f64::INFINITY, ws)?,
            Some(part) => radius_of_ranks(a, part, &rows, ws)?,
        };
        let fields = a.diagonal_fields().into_iter().map(inverse);
        let fields = fields.map(convert::<f64, V>).collect();
        Ok(Self {
            inverses: Vector::from_column(executor, fields),
            weights: weights(degree, upper),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.inverses.bytes()
    }

    /// Vectors are unknown by unknown.
    pub(super) fn smooth<M: Storage>(
        &self,
        a: &StencilMatrix<M>,
        start: Start,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut other = ws.vector_like::<V, V>(b)?;
        let (mut before, mut after) = (x, &mut *other);
        for (step, &(alpha, momentum)) in self.weights.iter().enumerate() {
            if step == 0 && start == Start::Zero {
                let (alpha, d) = (Coefficient::real(alpha), (&self.inverses, false));
                after.combine_rows(alpha, d, b, Coefficient::zero())?;
            } else {
                let two_before = step > 1 || start == Start::Guess;
                let sweep = Sweep {
                    b,
                    d: &self.inverses,
                    alpha,
                    beta: 1.0 + momentum,
                    gamma: if two_before { -momentum } else { 0.0 },
                };
                a.column(&Finish::Relax(sweep), before, after)?;
            }
            std::mem::swap(&mut before, &mut after);
        }
        match self.weights.len() % 2 {
            // The last guess is in the vector of the workspace.
            1 => after.copy_from(before),
            _ => Ok(()),
        }
    }
}

/// [`spectral_radius`] of `D A` on a grid that ranks share; vectors are cell by cell, of near ones.
fn radius_of_ranks(
    a: &StencilMatrix<f64>,
    part: &GridPart,
    d: &Vector<f64>,
    ws: &Workspace,
) -> Result<f64> {
    let r = a.unknowns();
    let start = (0..d.rows()).map(|place| scattered(a.row_of_all(place / r, place % r)));
    let start = Vector::from_column(a.executor(), start.collect());
    let length = r * a.grid().length();
    let norm = |v: &Vector<f64>| {
        let values = v.host()?;
        let lines = part.own_lines();
        let own = lines.flat_map(|lines| &values[lines.start * length..lines.end * length]);
        let mut sum = [own.map(|value| value * value).sum::<f64>()];
        part.team().sum(&mut sum)?;
        Ok(sum[0].sqrt())
    };
    let step = |sweep: Sweep<'_, f64>, v: &Vector<f64>, next: &mut Vector<f64>| {
        a.relax(sweep, v, next, ws)?;
        part.refresh([1, r], next.host_mut()?)
    };
    radius_from(start, d, f64::INFINITY, step, norm)
}

/// Of every step the weights of the residual and of the step before, for a spectrum up to `upper`.
fn weights(degree: usize, upper: f64) -> Vec<(f64, f64)> {
    let lower = CHEBYSHEV_LOWER * upper;
    let first = (2.0 / (upper + lower), 0.0);
    let later = chebyshev_weights(degree, lower, upper);
    std::iter::once(first).chain(later).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    #[test]
    fn polynomials_are_small_where_they_should_be() {
        for (degree, most) in [(1, 0.58), (2, 0.2), (3, 0.07)] {
            for eigenvalue in [0.54, 0.8, 1.3, 1.7, 2.0] {
                let (mut before, mut error) = (1.0, 1.0);
                for (alpha, momentum) in weights(degree, 2.0) {
                    let next = error - alpha * eigenvalue * error + momentum * (error - before);
                    (before, error) = (error, next);
                }
                assert!(f64::abs(error) < most, "{degree} {eigenvalue}: {error}");
            }
        }
    }

    /// What is left of an error is the same, wherever it starts.
    #[test]
    fn sweeps_from_zero_and_from_a_guess_agree() {
        let (host, ws) = (Executor::reference(), Workspace::new());
        let a = gallery::build_stencil("oil-4C:3x2x2", &host).unwrap();
        for degree in [1, 2, 3] {
            let polynomial = Polynomial::<f64>::new(degree, &a, &host, &ws).unwrap();
            let mut ones = Vector::filled(&host, a.size().rows, 1, 1.0).unwrap();
            let (mut left, mut b) = (ones.clone(), Vector::zeros_like(&ones).unwrap());
            polynomial
                .smooth(&a, Start::Guess, &b, &mut left, &ws)
                .unwrap();
            a.column(&Finish::Apply, &ones, &mut b).unwrap();
            let mut found = Vector::filled(&host, a.size().rows, 1, f64::NAN).unwrap();
            polynomial
                .smooth(&a, Start::Zero, &b, &mut found, &ws)
                .unwrap();
            for part in [left, found] {
                ones.axpy(Coefficient::real(-1.0), &part).unwrap();
            }
            assert!(ones.norms().unwrap()[0] < 1e-12, "degree {degree}");
        }
    }
}
