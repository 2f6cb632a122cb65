//! Iterative refinement.

use super::{Run, solver};
use crate::prelude::*;

solver! {
    /// Iterative refinement, also known as Richardson's iteration:
    /// `x = x + relaxation M (b - A x)`.
    ///
    /// The residual is computed from the solution in every iteration, so errors of the
    /// preconditioner `M` do not add up.
    ///
    /// **Choose it** when `M` is nearly the inverse: a factorisation (`Direct`), a
    /// multigrid cycle, or a whole solver. When `M` works in lower precision than `x`, this is
    /// mixed-precision refinement: the solution has the accuracy of the residual, at the speed of the
    /// lower precision.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, linop::LinOp, matrix::Csr, stop::Stop, vector::Vector};
    /// use vcycle::solver::{Cg, Ir, Solver};
    /// let cpu = Executor::cpu();
    /// let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
    /// // The preconditioner is a solver with a loose tolerance; it may as well be one in f32.
    /// let inner = Solver::new(Cg::default(), a.clone())?.stopping(Stop::relative(0.1));
    /// let solver = Solver::<f64>::new(Ir::default(), a)?.with_preconditioner(Arc::new(inner))?;
    /// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// assert!(solver.solve(&b, &mut x)?.converged());
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct Ir {
        /// The factor of each correction.
        pub relaxation: f64 = 1.0,
        /// Corrections in an iteration, at most.
        pub corrections: usize = 1,
    }
    name: "ir", summary: "Iterative refinement (Richardson).", after_colon: &["relaxation"],
    needs: &[], symmetry: Symmetric, memory: Memory::vectors(2),
}

impl Ir {
    /// For a factorisation: one correction more than the tolerance may need makes the backward error small
    /// in every row, not only in the norm (Skeel 1980). On the host it is left out where it is small already.
    pub fn of_factors() -> Self {
        Self {
            corrections: 2,
            ..Self::default()
        }
    }
}

impl Ir {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, z] = run.vectors()?;
        let [mut norm] = run.scalars()?;
        let relaxation = Coefficient::real(self.relaxation);
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        run.monitor.expect_digits();
        run.repeat([r, z], [norm], |run, [r, z], [norm]| {
            for correction in 0..self.corrections.max(1) {
                if correction > 0 && run.is_rounding_in_every_row(r)? {
                    break;
                }
                let z = run.preconditioned(r, z)?;
                run.x.axpy(relaxation.times(run.monitor.active()), z)?;
                run.residual(r)?;
            }
            r.norm(norm)?;
            run.done(norm)
        })
    }
}
