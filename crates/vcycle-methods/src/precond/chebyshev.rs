//! Chebyshev polynomials: of low degree as smoothers, of high degree as preconditioners.

use crate::eigen::{row_sum_bound_of, spectral_radius};
use crate::linop::Sweep;
use crate::precond::{Diagonal, Jacobi, L1Jacobi, example};
use crate::prelude::*;
use crate::registration::{parameters, preconditioner};
use crate::text;

/// The lower end of the smoothed part of the spectrum, relative to the upper one.
const CHEBYSHEV_LOWER: f64 = 0.27;

parameters! {
    /// The polynomial of given degree in `D^-1 A` that is smallest on the upper part of the spectrum,
    /// from 0.27 times the spectral radius on (Adams, Brezina, Hu and Tuminaro 2003).
    ///
    /// The radius is estimated by the power method at set-up, rather too large than too small, and never
    /// taken to be more than the largest absolute row sum of `D^-1 A`, which bounds it. With the base
    /// `l1-jacobi` the absolute row sums of the matrix take the place of its diagonal `D` (Baker,
    /// Falgout, Kolev and Yang 2011).
    ///
    /// **Choose it** for symmetric positive definite matrices and many threads: it is as strong as
    /// Gauss-Seidel and consists of products with the matrix alone.
    ///
    #[doc = example!("ChebyshevPolynomial", "Cg", "poisson5:16", 30)]
    pub struct ChebyshevPolynomial {
        /// Applications of `D^-1` that one sweep makes.
        pub degree: usize = 2,
        /// What `D` is.
        pub base: ChebyshevBase = ChebyshevBase::Jacobi,
        /// The lower end of what is to become small, relative to the spectral radius.
        pub lower: f64 = CHEBYSHEV_LOWER,
        /// The spectral radius of `D^-1 A`, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub radius: Option<f64> = None,
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
    /// Nothing: of the operator products alone are needed, so it may be matrix-free.
    Identity,
}

impl ChebyshevBase {
    /// `D^-1`.
    fn inverse<T: Scalar>(self, a: &dyn LinOp<T>) -> Result<Diagonal<T>> {
        match self {
            Self::Jacobi => Jacobi::default().inverse(a),
            Self::L1Jacobi => L1Jacobi::default().inverse(a),
            Self::Identity => Diagonal::ones(a.executor(), a.size().rows),
        }
    }

    /// A bound of the spectral radius of `D^-1 A`.
    fn bound<T: Scalar>(self, a: &dyn LinOp<T>) -> Result<f64> {
        match self {
            Self::Jacobi => row_sum_bound_of(a, "chebyshev"),
            Self::L1Jacobi => Ok(1.0),
            Self::Identity => Ok(f64::INFINITY),
        }
    }
}

text::named!(ChebyshevBase, "base": Jacobi = "jacobi", L1Jacobi = "l1-jacobi", Identity = "identity");

impl<T: Mixes<T, T>> Factory<T> for ChebyshevPolynomial {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("chebyshev set-up", 0);
        if self.degree == 0 {
            return Err(Error::bad_parameter("degree", "must be at least 1"));
        }
        if !(self.lower > 0.0 && self.lower < 1.0) {
            return Err(Error::bad_parameter(
                "lower",
                format!("must be between 0 and 1, not {}", self.lower),
            ));
        }
        let inverse = self.base.inverse(a.as_ref())?;
        let upper = match self.radius {
            Some(known) => known,
            None => {
                let bound = self.base.bound(a.as_ref())?;
                spectral_radius(a.as_ref(), inverse.values(), bound, ws)?
            }
        };
        Ok(self.over(a, inverse, upper))
    }
}

impl ChebyshevPolynomial {
    /// The polynomial over an inverse `D^-1`, for the spectral radius `upper` of `D^-1 A`.
    pub(crate) fn over<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        inverse: Diagonal<T>,
        upper: f64,
    ) -> Arc<dyn LinOp<T>> {
        Arc::new(Applied {
            a: Arc::clone(a),
            inverse,
            degree: self.degree,
            lower: self.lower * upper,
            upper,
        })
    }
}

preconditioner! {
    /// The Chebyshev polynomial of a high degree `m` in the matrix, which needs its products alone
    /// (4.3.2 of the thesis on Chronos; Bergamaschi et al. 2023).
    ///
    /// It nearly inverts the spectrum from `1/m²` of the spectral radius on: conjugate gradients take
    /// about `m` times fewer iterations, with `m` products each. What is saved are the dot products,
    /// which all threads or processes have to wait for, and the vectors that pass the memory between.
    ///
    /// **Choose it** for matrix-free operators (`base` [`Identity`](ChebyshevBase::Identity)), and
    /// where waiting costs more than products.
    ///
    #[doc = example!("Polynomial", "Cg", "poisson5:16", 15)]
    pub struct Polynomial {
        /// Products of an application, and one more.
        pub degree: usize = 20,
        /// What the matrix is scaled with.
        pub base: ChebyshevBase = ChebyshevBase::Jacobi,
    }
    name: "polynomial", summary: "A Chebyshev polynomial of high degree, by products alone.",
    after_colon: &["degree", "base"], needs: &[Diagonal], support: Support::METHOD,
    symmetry: Symmetric, memory: Memory::per(0, 32),
}

impl<T: Mixes<T, T>> Factory<T> for Polynomial {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let polynomial = ChebyshevPolynomial {
            degree: self.degree,
            base: self.base,
            // Of degree one it is a multiple of the base, whatever the interval.
            lower: (self.degree as f64).powi(-2).min(0.5),
            ..ChebyshevPolynomial::default()
        };
        polynomial.generate(a, ws)
    }
}

/// The weights of the sweeps after the first, for a spectrum from `lower` to `upper`: of the residual, and of
/// the step before. The first sweep has one over their mean.
fn chebyshev_weights(degree: usize, lower: f64, upper: f64) -> impl Iterator<Item = (f64, f64)> {
    let (centre, radius) = (0.5 * (upper + lower), 0.5 * (upper - lower));
    let mut rho = radius / centre;
    (1..degree).map(move |_| {
        let next = 1.0 / (2.0 * centre / radius - rho);
        let weights = (2.0 * next / radius, next * rho);
        rho = next;
        weights
    })
}

/// A polynomial ready to be applied.
#[derive(Debug)]
struct Applied<T: Scalar> {
    a: Arc<dyn LinOp<T>>,
    inverse: Diagonal<T>,
    degree: usize,
    lower: f64,
    upper: f64,
}

impl<T: Mixes<T, T>> Applied<T> {
    fn centre(&self) -> f64 {
        0.5 * (self.upper + self.lower)
    }

    /// All sweeps after the first, of which the guesses before and after are given; where none is
    /// before, that was zero. The last guess is in `after` for an odd degree, else in `before`.
    fn sweep(
        &self,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        (mut before, mut after): (&mut Vector<T>, &mut Vector<T>),
        mut from_zero: bool,
        ws: &Workspace,
    ) -> Result<()> {
        for (alpha, momentum) in chebyshev_weights(self.degree, self.lower, self.upper) {
            let sweep = Sweep {
                b,
                d: self.inverse.values(),
                alpha,
                beta: 1.0 + momentum,
                gamma: if from_zero { 0.0 } else { -momentum },
            };
            a.relax(sweep, after, before, ws)?;
            std::mem::swap(&mut before, &mut after);
            from_zero = false;
        }
        Ok(())
    }
}

impl<T: Mixes<T, T>> LinOp<T> for Applied<T> {
    forward!(a: size, executor);

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let mut scratch = ws.vector_like::<T, T>(b)?;
        let (before, after) = match self.degree % 2 {
            1 => (&mut *scratch, x),
            _ => (x, &mut *scratch),
        };
        let first = Coefficient::real(1.0 / self.centre());
        after.combine_rows(
            first,
            (self.inverse.values(), false),
            b,
            Coefficient::zero(),
        )?;
        self.sweep(self.a.as_ref(), b, (before, after), true, ws)
    }

    fn improve(
        &self,
        sweeps: usize,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let first = Sweep {
            b,
            d: self.inverse.values(),
            alpha: 1.0 / self.centre(),
            beta: 1.0,
            gamma: 0.0,
        };
        let mut scratch = ws.vector_like::<T, T>(b)?;
        for _ in 0..sweeps {
            if self.degree % 2 == 1 {
                scratch.copy_from(x)?;
                a.relax(first, &scratch, x, ws)?;
                self.sweep(a, b, (&mut scratch, x), false, ws)?;
            } else {
                a.relax(first, x, &mut scratch, ws)?;
                self.sweep(a, b, (x, &mut scratch), false, ws)?;
            }
        }
        Ok(())
    }

    fn label(&self) -> &'static str {
        "polynomial"
    }

    fn footprint(&self) -> Footprint {
        let (a, inverse) = (self.a.footprint(), self.inverse.footprint());
        Footprint {
            held: inverse.held,
            moved: self.degree * inverse.moved + (self.degree - 1) * a.moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::linop::MatrixFree;
    use crate::precond::testing::{iterations_with, laplacian};
    use crate::solver::Cg;

    #[test]
    fn polynomials_are_small_where_they_should_be() {
        let (upper, lower) = (2.0, 2.0 * CHEBYSHEV_LOWER);
        for (degree, most) in [(1, 0.58), (2, 0.2), (3, 0.07)] {
            for eigenvalue in [0.54, 0.8, 1.3, 1.7, 2.0] {
                let (mut before, mut error) = (1.0, 1.0 - 2.0 * eigenvalue / (upper + lower));
                for (alpha, momentum) in chebyshev_weights(degree, lower, upper) {
                    let next = error - alpha * eigenvalue * error + momentum * (error - before);
                    (before, error) = (error, next);
                }
                assert!(f64::abs(error) < most, "{degree} {eigenvalue}: {error}");
            }
        }
    }

    /// From a zero guess a sweep is the polynomial itself; from any other it adds that of the
    /// residual.
    #[test]
    fn sweeps_add_the_polynomial_of_the_residual() {
        let (host, ws) = (Executor::reference(), Workspace::new());
        let a: Arc<dyn LinOp<f64>> =
            Arc::new(gallery::build("poisson5:9x7", &host).unwrap().matrix);
        let wave = |step: f64| (0..63).map(|i| (step * i as f64).sin()).collect();
        let b = Vector::from_column(&host, wave(0.7));
        for degree in 1..5 {
            let m = ChebyshevPolynomial {
                degree,
                ..ChebyshevPolynomial::default()
            };
            let m = Factory::<f64>::generate(&m, &a, &ws).unwrap();
            let mut x = Vector::from_column(&host, wave(0.3));
            let (mut r, mut expected) = (x.clone(), x.clone());
            for _ in 0..2 {
                a.residual(&b, &expected, &mut r, &ws).unwrap();
                let one = Coefficient::one;
                m.apply_advanced(one(), &r, one(), &mut expected, &ws)
                    .unwrap();
            }
            m.improve(2, a.as_ref(), &b, &mut x, &ws).unwrap();
            x.axpy(Coefficient::real(-1.0), &expected).unwrap();
            assert!(x.norms().unwrap()[0] < 1e-13, "degree {degree}");
        }
    }

    #[test]
    fn a_higher_degree_takes_fewer_iterations_also_without_a_matrix() {
        let cpu = Executor::reference();
        let matrix = laplacian::<f64>(&cpu, 40);
        let size = matrix.size();
        let free = MatrixFree::new(&cpu, size, move |x, y, ws| matrix.apply(x, y, ws));
        let a: Arc<dyn LinOp<f64>> = Arc::new(free);
        let found = [1, 4, 16].map(|degree| {
            let base = ChebyshevBase::Identity;
            iterations_with(Cg::default(), a.clone(), &Polynomial { degree, base })
        });
        let [one, four, sixteen] = found;
        assert!(one > 3 * four && four > 2 * sixteen, "{found:?}");
    }
}
