//! The iterations of a batch, on the slices of one system.

use num_traits::{Float, Zero};

use super::matrix::{One, add, dot, norm};
use super::precondition::Inverse;
use crate::dense::LeastSquares;
use crate::prelude::*;
use crate::stop::{Part, Status};

/// What the iterations write to.
pub(super) struct Vectors<A: Field> {
    /// The residual they start from.
    pub(super) r: Vec<A>,
    others: [Vec<A>; 7],
    /// The basis of GMRES, and its projected problem.
    basis: Vec<Vec<A>>,
    projected: LeastSquares<A>,
}

impl<A: Field> Vectors<A> {
    /// Vectors of so many rows, and as many for a basis.
    pub(super) fn new(n: usize, basis: usize) -> Self {
        let vector = || vec![A::zero(); n];
        let mut projected = LeastSquares::default();
        projected.reserve(basis.saturating_sub(1));
        Self {
            r: vector(),
            others: std::array::from_fn(|_| vector()),
            basis: (0..basis).map(|_| vector()).collect(),
            projected,
        }
    }
}

/// One start of a method.
pub(super) struct Iteration<'i, A> {
    pub(super) a: One<'i, A>,
    pub(super) inverse: &'i Inverse<A>,
    /// The residual norm to reach.
    pub(super) tolerance: f64,
    /// Iterations of all starts.
    pub(super) most: usize,
}

impl<A: Field> Iteration<'_, A> {
    /// Preconditioned conjugate gradients (Hestenes and Stiefel 1952).
    pub(super) fn cg(
        &self,
        vectors: &mut Vectors<A>,
        x: &mut [A],
        iterations: &mut usize,
    ) -> Option<Status> {
        let (r, [z, p, q, ..]) = (&mut vectors.r, &mut vectors.others);
        self.inverse.apply(r, z);
        p.copy_from_slice(z);
        let mut rho = dot(r, z);
        while *iterations < self.most {
            self.a.multiply(p, q);
            let curvature = dot(p, q).real();
            if curvature.is_nan() || curvature <= Zero::zero() {
                return Some(Status::Indefinite(Part::Operator));
            }
            let alpha = rho / A::from_real(curvature);
            add(alpha, p, x);
            add(-alpha, q, r);
            *iterations += 1;
            if norm(r) <= self.tolerance {
                return None;
            }
            self.inverse.apply(r, z);
            let next = dot(r, z);
            if next.is_zero() {
                return Some(Status::Breakdown);
            }
            let beta = next / rho;
            rho = next;
            for (p, &z) in p.iter_mut().zip(&*z) {
                *p = z + beta * *p;
            }
        }
        None
    }

    /// Stabilised biconjugate gradients (van der Vorst 1992), preconditioned from the right.
    pub(super) fn bicgstab(
        &self,
        vectors: &mut Vectors<A>,
        x: &mut [A],
        iterations: &mut usize,
    ) -> Option<Status> {
        let (r, [shadow, p, v, z, t, u, _]) = (&mut vectors.r, &mut vectors.others);
        shadow.copy_from_slice(r);
        p.fill(A::zero());
        v.fill(A::zero());
        let (mut rho, mut alpha, mut omega) = (A::one(), A::one(), A::one());
        while *iterations < self.most {
            let next = dot(shadow, r);
            let beta = next / rho * (alpha / omega);
            if next.is_zero() || !Field::is_finite(beta) {
                return Some(Status::Breakdown);
            }
            rho = next;
            for ((p, &v), &r) in p.iter_mut().zip(&*v).zip(&*r) {
                *p = r + beta * (*p - omega * v);
            }
            self.inverse.apply(p, z);
            self.a.multiply(z, v);
            alpha = rho / dot(shadow, v);
            if !Field::is_finite(alpha) {
                return Some(Status::Breakdown);
            }
            add(alpha, z, x);
            add(-alpha, v, r);
            *iterations += 1;
            if norm(r) <= self.tolerance {
                return None;
            }
            self.inverse.apply(r, u);
            self.a.multiply(u, t);
            omega = dot(t, r) / dot(t, t);
            if omega.is_zero() || !Field::is_finite(omega) {
                return Some(Status::Breakdown);
            }
            add(omega, u, x);
            add(-omega, t, r);
            if norm(r) <= self.tolerance {
                return None;
            }
        }
        None
    }

    /// One restart of generalised minimal residuals (Saad and Schultz 1986), preconditioned from the right.
    pub(super) fn gmres(
        &self,
        vectors: &mut Vectors<A>,
        x: &mut [A],
        restart: usize,
        iterations: &mut usize,
    ) -> Option<Status> {
        let Vectors {
            r,
            others: [z, sum, ..],
            basis,
            projected,
        } = vectors;
        let restart = restart.min(basis.len() - 1);
        let (start, mut steps) = (norm(r), 0);
        projected.start(A::from_f64(start));
        scaled(r, start, &mut basis[0]);
        while steps < restart && *iterations < self.most {
            self.inverse.apply(&basis[steps], z);
            self.a.multiply(z, r);
            for (row, v) in basis[..=steps].iter().enumerate() {
                let part = dot(v, r);
                add(-part, v, r);
                projected.set(row, part);
            }
            let length = norm(r);
            projected.set(steps + 1, A::from_f64(length));
            projected.eliminate(steps, true);
            *iterations += 1;
            steps += 1;
            let is_small = projected.residual(steps).to_f64() <= self.tolerance;
            if is_small || length == 0.0 || projected.dimension() < steps {
                break;
            }
            scaled(r, length, &mut basis[steps]);
        }
        projected.solve();
        sum.fill(A::zero());
        for (step, v) in basis[..projected.dimension()].iter().enumerate() {
            add(projected.solution(step), v, sum);
        }
        self.inverse.apply(sum, z);
        add(A::one(), z, x);
        (projected.dimension() == 0).then_some(Status::Breakdown)
    }
}

/// `y = x / length`.
fn scaled<A: Field>(x: &[A], length: f64, y: &mut [A]) {
    let factor = A::from_f64(1.0 / length);
    for (y, &x) in y.iter_mut().zip(x) {
        *y = factor * x;
    }
}
