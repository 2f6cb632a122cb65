//! Chebyshev iteration.

use num_traits::Zero;

use super::basis::RandomVectors;
use super::per_column::PerColumn;
use super::{Run, example, solver};
use crate::prelude::*;
use crate::scalar::RealOf;
use crate::stop::{Part, Status};

/// An estimate of the largest eigenvalue comes from below, one of the smallest from above.
const SAFETY: f64 = 1.1;

solver! {
    /// Chebyshev iteration (Golub and Varga 1961; in the form of Gutknecht and Röllin 2002).
    ///
    /// The residual polynomial is the Chebyshev polynomial of an interval that holds the spectrum of
    /// the preconditioned matrix `M A`; no inner products are needed but the norm that is watched.
    /// Bounds that are not given are estimated at the start of each run by a few iterations of
    /// conjugate gradients on a fixed random vector. A `lower` bound that is too large slows the
    /// iteration; an `upper` bound that is too small makes it diverge.
    ///
    /// **Choose it** for symmetric (Hermitian) positive definite matrices when reductions are slow,
    /// or as a preconditioner that has to be the same linear operator every time: then give the
    /// bounds, and stop after a fixed number of iterations.
    ///
    #[doc = example!("Chebyshev")]
    pub struct Chebyshev {
        /// Below the eigenvalues of `M A`, above zero; estimated if absent.
        pub lower: Option<f64> = None,
        /// Above the eigenvalues of `M A`; estimated if absent.
        pub upper: Option<f64> = None,
        /// Iterations of conjugate gradients spent on an estimate.
        pub estimation_steps: usize = 20,
    }
    name: "chebyshev", summary: "Chebyshev iteration.", after_colon: &["lower", "upper"],
    needs: Need::SYMMETRIC_FIXED, symmetry: Symmetric, memory: Memory::vectors(4),
}

impl Chebyshev {
    /// The interval, or what the estimate stumbled over.
    fn interval<T: Scalar>(&self, run: &Run<'_, T>) -> Result<Result<(f64, f64), Status>> {
        let (lower, upper) = match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => (lower, upper),
            (lower, upper) => {
                let seen = match estimate(run, self.estimation_steps.max(1))? {
                    Ok(seen) => seen,
                    Err(trouble) => return Ok(Err(trouble)),
                };
                let upper = upper.unwrap_or(seen.1 * SAFETY);
                (lower.unwrap_or((seen.0 / SAFETY).min(upper)), upper)
            }
        };
        if lower > 0.0 && lower <= upper && upper.is_finite() {
            return Ok(Ok((lower, upper)));
        }
        Err(Error::bad_parameter(
            "lower, upper",
            format!("0 < lower <= upper is needed, not {lower} and {upper}"),
        ))
    }
}

impl Chebyshev {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, mut z, mut p, mut q] = run.vectors()?;
        let [mut norm] = run.scalars()?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        let (lower, upper) = match self.interval(run)? {
            Ok(bounds) => bounds,
            Err(trouble) => return run.end_active(trouble),
        };
        let (centre, radius) = (0.5 * (upper + lower), 0.5 * (upper - lower));
        let (mut alpha, mut beta) = (1.0 / centre, 0.0);
        for iteration in 0.. {
            if iteration > 0 {
                let twice = if iteration == 1 { 2.0 } else { 1.0 };
                beta = twice * (0.5 * radius * alpha).powi(2);
                alpha = 1.0 / (centre - beta / alpha);
            }
            let z = run.preconditioned(&r, &mut z)?;
            p.axpby(Coefficient::one(), z, Coefficient::real(beta))?;
            run.multiply(&p, &mut q)?;
            r.axpy_norm(Coefficient::real(-alpha), &q, &mut norm)?;
            if run.require_finite(&norm)? {
                return Ok(());
            }
            let step = Coefficient::real(alpha).times(run.monitor.active());
            run.x.axpy(step, &p)?;
            if run.done(&norm)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Steps of the bisection: enough for two digits more than single precision has.
const BISECTIONS: usize = 40;

/// Smallest and largest eigenvalue of `M A` as `steps` iterations of conjugate gradients on a
/// random vector see them (their Lanczos matrix; Golub and Van Loan, section 11.3); or what ended
/// these iterations.
fn estimate<T: Scalar>(run: &Run<'_, T>, steps: usize) -> Result<Result<(f64, f64), Status>> {
    let (ws, executor, rows) = (run.ws, run.b.executor(), run.b.rows());
    let scratch = || ws.vector::<T>(executor, rows, 1);
    let random = RandomVectors::<T>::take(ws, executor, rows, 1, 1, 1)?;
    let (mut r, mut z, mut p, mut q) = (scratch()?, scratch()?, scratch()?, scratch()?);
    let mut rho = ws.scalars(&*r)?;
    let mut old_rho = ws.scalars(&*r)?;
    let mut curvature = ws.scalars(&*r)?;
    let mut lanczos = PerColumn::<T, Lanczos>::take(ws, &r)?;
    lanczos.iter_mut().for_each(|own| own.reset(steps));

    r.copy_from(&random.vectors()[0])?;
    old_rho.assign(Coefficient::constant(T::Arith::zero()))?;
    for _ in 0..steps {
        let z = run.preconditioned(&r, &mut z)?;
        r.dot(z, &mut rho)?;
        lanczos.receive(&rho, |own, value| own.rho = value.real().to_f64())?;
        if lanczos.iter_mut().any(|own| own.exhausted(unit::<T>())) {
            break;
        }
        p.axpby(Coefficient::one(), z, Coefficient::ratio(&rho, &old_rho))?;
        run.multiply(&p, &mut q)?;
        p.dot(&q, &mut curvature)?;
        lanczos.receive(&curvature, |own, value| own.push(value.real().to_f64()))?;
        r.axpy(-Coefficient::ratio(&rho, &curvature), &q)?;
        std::mem::swap(&mut rho, &mut old_rho);
    }
    let bounds = lanczos.iter().next().map(Lanczos::bounds);
    Ok(bounds.unwrap_or(Err(Status::Breakdown)))
}

/// The rounding unit of the arithmetic.
fn unit<T: Scalar>() -> f64 {
    <RealOf<T> as num_traits::Float>::epsilon().to_f64()
}

/// The tridiagonal matrix behind the coefficients of conjugate gradients.
#[derive(Default)]
struct Lanczos {
    diagonal: Vec<f64>,
    /// Squares of the entries beside the diagonal.
    beside: Vec<f64>,
    rho: f64,
    first_rho: f64,
    old_rho: f64,
    old_alpha: f64,
    trouble: Option<Status>,
}

impl Lanczos {
    fn reset(&mut self, steps: usize) {
        let mut old = std::mem::take(self);
        for list in [&mut old.diagonal, &mut old.beside] {
            list.clear();
            list.reserve(steps);
        }
        (self.diagonal, self.beside) = (old.diagonal, old.beside);
    }

    /// Whether the residual holds nothing more to learn from.
    fn exhausted(&mut self, unit: f64) -> bool {
        if self.diagonal.is_empty() {
            self.first_rho = self.rho;
        }
        if self.rho < 0.0 {
            self.trouble = Some(Status::Indefinite(Part::Preconditioner));
        } else if !self.rho.is_finite() {
            self.trouble = Some(Status::NonFinite);
        }
        self.trouble.is_some() || self.rho <= unit * unit * self.first_rho
    }

    fn push(&mut self, curvature: f64) {
        if curvature <= 0.0 {
            self.trouble = Some(Status::Indefinite(Part::Operator));
        } else if !curvature.is_finite() {
            self.trouble = Some(Status::NonFinite);
        }
        let alpha = self.rho / curvature;
        let mut diagonal = 1.0 / alpha;
        if !self.diagonal.is_empty() {
            let beta = self.rho / self.old_rho;
            diagonal += beta / self.old_alpha;
            self.beside.push(beta / (self.old_alpha * self.old_alpha));
        }
        self.diagonal.push(diagonal);
        (self.old_rho, self.old_alpha) = (self.rho, alpha);
    }

    fn bounds(&self) -> Result<(f64, f64), Status> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        let n = self.diagonal.len();
        // A positive definite matrix: its trace is above all eigenvalues.
        let top = self.diagonal.iter().sum::<f64>();
        Ok((self.eigenvalue(1, top), self.eigenvalue(n, top)))
    }

    /// The `rank`-th smallest eigenvalue, by bisection.
    fn eigenvalue(&self, rank: usize, top: f64) -> f64 {
        let (mut low, mut high) = (0.0, top);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if self.below(middle) >= rank {
                high = middle;
            } else {
                low = middle;
            }
        }
        0.5 * (low + high)
    }

    /// How many eigenvalues are less than `x`: the negative pivots of `T - x I`.
    fn below(&self, x: f64) -> usize {
        let mut pivot = 1.0_f64;
        let mut count = 0;
        for (k, diagonal) in self.diagonal.iter().enumerate() {
            let beside = if k == 0 { 0.0 } else { self.beside[k - 1] };
            pivot = diagonal - x - beside / pivot;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sturm_counts_give_the_eigenvalues() {
        let lanczos = Lanczos {
            diagonal: vec![2.0; 3],
            beside: vec![1.0; 2],
            ..Lanczos::default()
        };
        let (low, high) = lanczos.bounds().unwrap();
        assert!((low - (2.0 - 2f64.sqrt())).abs() < 1e-9);
        assert!((high - (2.0 + 2f64.sqrt())).abs() < 1e-9);
    }
}
