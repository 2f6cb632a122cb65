//! The residuals of a run.

use super::{IterationEvent, Observer};

/// Remembers the largest relative residual of every iteration announced.
///
/// ```
/// use std::{cell::RefCell, rc::Rc, sync::Arc};
/// use vcycle::{executor::{Executor, Workspace}, log::{History, Log}, matrix::Csr,
///              solver::{Cg, Solver}, stop::Stop, vector::Vector};
/// let history = Rc::new(RefCell::new(History::default()));
/// let ws = Workspace::with_log(Log::new().with(Rc::clone(&history)));
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0]));
/// let solver = Solver::<f64>::new(Cg::default(), a)?;
/// let b = Vector::filled(&cpu, 2, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// let outcome = solver.solve_in(&b, &mut x, &Stop::default(), &ws)?;
/// assert_eq!(history.borrow().residuals(), outcome.history);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct History {
    residuals: Vec<f64>,
}

impl History {
    /// The residual of the guess, after one iteration, after two...
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }
}

impl Observer for History {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        let largest = event.residuals.iter().copied().fold(0.0, f64::max);
        self.residuals.push(largest);
    }
}
