//! Chebyshev polynomials of high degree as preconditioners.

use std::sync::Arc;

use super::{ChebyshevBase, ChebyshevPolynomial, example};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{Factory, LinOp};
use crate::registration::preconditioner;
use crate::scalar::Mixes;

preconditioner! {
    /// The Chebyshev polynomial of a high degree `m` in the matrix, which needs its products alone
    /// (4.3.2 of the thesis on Chronos; Bergamaschi et al. 2023).
    ///
    /// It nearly inverts the spectrum from `1/m²` of the spectral radius on: conjugate gradients take
    /// about `m` times fewer iterations, with `m` products each. What is saved are the dot products,
    /// which all threads or processes have to wait for, and the vectors that pass the memory between.
    ///
    /// **Choose it** for matrix-free operators (`base` [`Identity`](ChebyshevBase::Identity)), and
    /// where waiting is dearer than products.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::linop::MatrixFree;
    use crate::precond::testing::{iterations_with, laplacian};
    use crate::solver::Cg;

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
