//! Chebyshev iteration.

use super::{Run, example, solver, spectrum};
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::stop::Status;
use crate::vector::Coefficient;

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
                let seen = match spectrum::estimate(run, self.estimation_steps.max(1))? {
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
