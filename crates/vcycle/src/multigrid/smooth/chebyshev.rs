//! Chebyshev polynomials as smoothers.

use std::sync::Arc;

use crate::config::ConfigError;
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Factory, Footprint, LinOp, Size, entries};
use crate::multigrid::serde_text;
use crate::multigrid::spectrum::{largest_row_sum, spectral_radius};
use crate::precond::{Jacobi, L1Jacobi};
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};

/// The smoothed part of the spectrum, relative to its estimated upper end.
const INTERVAL: (f64, f64) = (0.3, 1.1);

/// The polynomial of given degree in `D^-1 A` that is smallest on the upper part of the spectrum,
/// from 0.3 to 1.1 times the estimated spectral radius (Adams, Brezina, Hu and Tuminaro 2003).
///
/// The radius is estimated by the power method at set-up, and never taken to be more than the
/// largest absolute row sum of `D^-1 A`, which bounds it. With the base `l1-jacobi` the absolute
/// row sums of the matrix take the place of its diagonal `D` (Baker, Falgout, Kolev and Yang 2011).
///
/// **Choose it** for symmetric positive definite matrices and many threads: it is as strong as
/// Gauss-Seidel and consists of products with the matrix alone.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, multigrid::ChebyshevPolynomial,
///              solver::{Cg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let precond = ChebyshevPolynomial::default();
/// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&precond)?;
/// let mut x = Vector::zeros(&cpu, 3, 1)?;
/// assert_eq!(solver.solve(&Vector::filled(&cpu, 3, 1, 1.0)?, &mut x)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ChebyshevPolynomial {
    /// Applications of `D^-1` that one sweep makes.
    pub degree: usize,
    /// What `D` is.
    pub base: ChebyshevBase,
}

impl Default for ChebyshevPolynomial {
    fn default() -> Self {
        Self {
            degree: 2,
            base: ChebyshevBase::default(),
        }
    }
}

/// What a [`ChebyshevPolynomial`] is a polynomial over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChebyshevBase {
    /// The diagonal.
    #[default]
    Jacobi,
    /// The absolute row sums: no row is stepped too far, also where the rows of a level are of
    /// very different sums.
    L1Jacobi,
}

impl ChebyshevBase {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Jacobi, Self::L1Jacobi];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jacobi => "jacobi",
            Self::L1Jacobi => "l1-jacobi",
        }
    }

    /// `D^-1`, and a bound of the spectral radius of `D^-1 A`.
    fn inverse<T: Mixes<T, T>>(
        self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<(Arc<dyn LinOp<T>>, f64)> {
        match self {
            Self::Jacobi => {
                let inverse = Jacobi::default().generate(a, ws)?;
                let matrix = entries(a.as_ref(), "chebyshev")?;
                let bound = largest_row_sum(&matrix, &matrix.diagonal());
                Ok((inverse, bound))
            }
            Self::L1Jacobi => Ok((L1Jacobi::default().generate(a, ws)?, 1.0)),
        }
    }
}

serde_text::named!(ChebyshevBase, "base");

impl<T: Mixes<T, T>> Factory<T> for ChebyshevPolynomial {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("chebyshev set-up", 0);
        if self.degree == 0 {
            return Err(Error::BadParameter {
                parameter: "degree",
                reason: "must be at least 1".to_owned(),
            });
        }
        let (inverse, bound) = self.base.inverse(a, ws)?;
        let radius = spectral_radius(a.as_ref(), inverse.as_ref(), ws)?.min(bound);
        Ok(Arc::new(Polynomial {
            a: Arc::clone(a),
            inverse,
            degree: self.degree,
            lower: INTERVAL.0 * radius,
            upper: (INTERVAL.1 * radius).min(bound),
        }))
    }
}

#[derive(Debug)]
struct Polynomial<T: Scalar> {
    a: Arc<dyn LinOp<T>>,
    inverse: Arc<dyn LinOp<T>>,
    degree: usize,
    lower: f64,
    upper: f64,
}

impl<T: Scalar> LinOp<T> for Polynomial<T> {
    fn size(&self) -> Size {
        self.a.size()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let (centre, radius) = (
            0.5 * (self.upper + self.lower),
            0.5 * (self.upper - self.lower),
        );
        self.inverse.apply(b, x, ws)?;
        x.scale(Coefficient::real(1.0 / centre))?;
        let mut r = ws.vector_like::<T, T>(b)?;
        let mut step = ws.vector_like::<T, T>(b)?;
        step.copy_from(x)?;
        let mut rho = radius / centre;
        for _ in 1..self.degree {
            let next = 1.0 / (2.0 * centre / radius - rho);
            self.a.residual(b, x, &mut r, ws)?;
            let new = Coefficient::real(2.0 * next / radius);
            let old = Coefficient::real(next * rho);
            self.inverse.apply_advanced(new, &r, old, &mut step, ws)?;
            x.axpy(Coefficient::one(), &step)?;
            rho = next;
        }
        Ok(())
    }

    fn footprint(&self) -> Footprint {
        let (a, inverse) = (self.a.footprint(), self.inverse.footprint());
        Footprint {
            held: inverse.held,
            moved: self.degree * inverse.moved + (self.degree - 1) * a.moved,
        }
    }
}
