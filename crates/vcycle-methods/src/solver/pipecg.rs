//! Pipelined conjugate gradients.

use num_traits::Zero;

use super::per_column::PerColumn;
use super::{Run, example, solver};
use crate::prelude::*;
use crate::stop::Part;

solver! {
    /// Pipelined conjugate gradients (Ghysels and Vanroose 2014).
    ///
    /// All reductions of an iteration stand together and need not be finished before the
    /// preconditioner and the product are applied, at the price of five more vectors. Rounding errors
    /// are amplified: the accuracy in reach is lower than that of [`Cg`](super::Cg), and the solve
    /// then starts again from the true residual.
    ///
    /// **Choose it** for symmetric (Hermitian) positive definite matrices where reductions are slow:
    /// many processes, or a device far from the host.
    ///
    #[doc = example!("PipeCg")]
    pub struct PipeCg {}
    name: "pipecg", summary: "Pipelined conjugate gradients.", after_colon: &[],
    needs: Need::SYMMETRIC_FIXED, symmetry: Varying, memory: Memory::vectors(9),
}

/// The scalars of one column: `gamma = <r, u>`, `delta = <w, u>` and the steps they give.
#[derive(Clone, Copy, Default)]
struct Steps<A> {
    gamma: A,
    old_gamma: A,
    delta: A,
    alpha: A,
    beta: A,
    curvature: A,
    first: bool,
}

impl<A: Field> Steps<A> {
    fn advance(&mut self) {
        self.curvature = self.delta;
        self.beta = A::zero();
        if !self.first {
            self.beta = self.gamma / self.old_gamma;
            self.curvature -= self.beta * self.gamma / self.alpha;
        }
        self.alpha = self.gamma / self.curvature;
        self.old_gamma = self.gamma;
    }
}

impl PipeCg {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let [mut r, mut u, mut w, mut m, mut n] = run.vectors()?;
        let [mut z, mut q, mut s, mut p] = run.vectors()?;
        let [mut gamma, mut delta, mut alpha, mut beta] = run.scalars()?;
        let mut steps = PerColumn::<T, Steps<T::Arith>>::take(run.ws, run.b)?;
        if run.start(&mut r, &mut gamma)? {
            return Ok(());
        }
        run.precondition(&r, &mut u)?;
        run.multiply(&u, &mut w)?;
        steps.iter_mut().for_each(|column| column.first = true);
        loop {
            u.dot2(&r, &w, &mut gamma, &mut delta)?;
            let m = run.preconditioned(&w, &mut m)?;
            run.multiply(m, &mut n)?;
            steps.receive(&gamma, |column, value| column.gamma = value)?;
            steps.receive(&delta, |column, value| column.delta = value)?;
            steps.iter_mut().for_each(Steps::advance);
            if judge_all(run, &mut steps, &mut gamma)? {
                return Ok(());
            }
            steps.send(&mut alpha, |column| column.alpha)?;
            steps.send(&mut beta, |column| column.beta)?;
            let (one, repeat) = (Coefficient::one(), Coefficient::of(&beta));
            z.axpby(one, &n, repeat)?;
            q.axpby(one, m, repeat)?;
            s.axpby(one, &w, repeat)?;
            p.axpby(one, &u, repeat)?;
            let step = Coefficient::of(&alpha);
            u.axpy(-step, &q)?;
            w.axpy(-step, &z)?;
            if run.advance(step, &p, &s, &mut r, &mut gamma)? {
                return Ok(());
            }
        }
    }
}

/// Judges the preconditioner's and the operator's quadratic form; says whether all columns ended.
fn judge_all<T: Scalar>(
    run: &mut Run<'_, T>,
    steps: &mut PerColumn<T, Steps<T::Arith>>,
    values: &mut Scalars<T>,
) -> Result<bool> {
    let ended = judge(run, steps, values, Part::Preconditioner, |c| c.gamma)?
        || judge(run, steps, values, Part::Operator, |c| c.curvature)?;
    steps.iter_mut().for_each(|column| column.first = false);
    Ok(ended)
}

/// Ends the columns whose value is not positive: in the first iteration as indefinite; later, when
/// it is the recurrences that have lost their digits, as broken down. Says whether all have ended.
fn judge<T: Scalar>(
    run: &mut Run<'_, T>,
    steps: &mut PerColumn<T, Steps<T::Arith>>,
    values: &mut Scalars<T>,
    part: Part,
    value: impl Fn(&Steps<T::Arith>) -> T::Arith,
) -> Result<bool> {
    steps.send(values, |column| {
        let lost = !column.first && value(column).real() < Zero::zero();
        if lost { Zero::zero() } else { value(column) }
    })?;
    if steps.iter().any(|column| column.first) {
        return run.require_positive(values, part);
    }
    run.require_nonzero(values)
}
