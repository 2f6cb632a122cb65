//! Conjugate gradients with a space that right-hand sides share.

use super::orthonormal::{finite, norms, orthonormal};
use super::{Run, solver};
use crate::dense::Independent;
use crate::prelude::*;
use crate::stop::{Part, Status};

solver! {
    /// Block conjugate gradients (O'Leary 1980) that do not break down (Ji and Li 2017).
    ///
    /// Every right-hand side minimises its error over the directions of all of them, so that fewer iterations are needed than by
    /// [`Cg`](super::Cg), which solves for each by itself: about as many as after the smallest eigenvalues, one for each right-hand
    /// side, were taken away. Directions are orthonormal; those that depend on others are left out, and right-hand sides that
    /// have converged add none. An iteration multiplies all columns of two blocks with each other four times.
    ///
    /// **Choose it** for several right-hand sides of a symmetric positive definite matrix, where iterations are many or a product with many
    /// columns costs little more than with one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, matrix::Csr, solver::{BlockCg, Solver}, vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0, 8.0]));
    /// let b = Vector::from_rows(&cpu, 2, vec![1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, -1.0])?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// let outcome = Solver::<f64>::new(BlockCg::default(), a)?.solve(&b, &mut x)?;
    /// assert!(outcome.converged() && outcome.iterations == 2);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct BlockCg {}
    name: "block-cg", summary: "Conjugate gradients with a space that all right-hand sides share.",
    after_colon: &[], needs: Need::SYMMETRIC_FIXED, symmetry: Varying, memory: Memory::vectors(10),
}

/// A residual may be this much shorter than the first one and still be measured by that.
const MOST_LOST: f64 = 1e10;

impl BlockCg {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, mut z] = run.vectors()?;
        let [mut norm] = run.scalars()?;
        if run.start(&mut r, &mut norm)? {
            return Ok(());
        }
        let ws = run.ws;
        let first = residuals(run, &r, &mut z)?;
        let mut directions = match finite(&first) {
            true => orthonormal(&mut z, &first, ws)?,
            false => return run.end_active(Status::NonFinite),
        };
        while let Some(p) = directions {
            let mut q = ws.vector::<T>(p.executor(), p.rows(), p.cols())?;
            run.multiply(&p, &mut q)?;
            let Some(curvature) = definite(&p, &q)? else {
                return run.end_active(Status::Indefinite(Part::Operator));
            };
            advance(run, &curvature, [&p, &q], &mut r)?;
            r.norm(&mut norm)?;
            if run.done(&norm)? {
                return Ok(());
            }
            let mut size = residuals(run, &r, &mut z)?;
            if !finite(&size) {
                return run.end_active(Status::NonFinite);
            }
            // Sides that depend on each other differ by what rounding made of the first residuals.
            for (size, first) in size.iter_mut().zip(&first) {
                *size = first.min(*size * MOST_LOST);
            }
            let mut beta = q.products(&z)?;
            curvature.solve(&mut beta, z.cols());
            beta.iter_mut().for_each(|beta| *beta = -*beta);
            z.add_combination(&p, &beta)?;
            directions = orthonormal(&mut z, &size, ws)?;
        }
        run.end_active(Status::Breakdown)
    }
}

/// What the preconditioner makes of the residuals that have not ended, and its norms.
fn residuals<T: Scalar>(run: &Run<'_, T>, r: &Vector<T>, z: &mut Vector<T>) -> Result<Vec<f64>> {
    run.precondition(r, z)?;
    z.scale(Coefficient::of(run.monitor.active()))?;
    norms(z)
}

/// `P^H A P`, which has to be positive definite.
fn definite<T: Scalar>(p: &Vector<T>, q: &Vector<T>) -> Result<Option<Independent<T::Arith>>> {
    let found = Independent::of(&p.products(q)?, p.cols(), 0.0);
    Ok((found.len() == p.cols()).then_some(found))
}

/// The steps of all right-hand sides that have not ended.
fn advance<T: Scalar>(
    run: &mut Run<'_, T>,
    curvature: &Independent<T::Arith>,
    [p, q]: [&Vector<T>; 2],
    r: &mut Vector<T>,
) -> Result<()> {
    let mut alpha = p.products(r)?;
    let cols = r.cols();
    curvature.solve(&mut alpha, cols);
    for (place, alpha) in alpha.iter_mut().enumerate() {
        if !run.monitor.is_active(place % cols) {
            *alpha = T::Arith::default();
        }
    }
    run.x.add_combination(p, &alpha)?;
    alpha.iter_mut().for_each(|alpha| *alpha = -*alpha);
    r.add_combination(q, &alpha)
}
