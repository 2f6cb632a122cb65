//! One call from a matrix to a solution.

use crate::config::{self, Config};
use crate::driver::Wide;
use crate::error::Result;
use crate::executor::Workspace;
use crate::interop::IntoCsr;
use crate::stop::Outcome;
use crate::vector::Vector;

/// What [`solve()`] found.
#[derive(Clone, Debug)]
#[must_use = "the outcome says whether it converged"]
#[non_exhaustive]
pub struct Solution<T> {
    /// The solution, or the best guess: look at the outcome.
    pub x: Vec<T>,
    /// How it ended, with the true residual.
    pub outcome: Outcome,
}

/// Solves `A x = b` to a relative residual of 1e-8 with a solver and a preconditioner chosen for the matrix.
///
/// `a` is a [`Csr`](crate::matrix::Csr) matrix or one of another library ([`interop`](crate::interop)); `b` has
/// real or complex numbers in double precision, as the matrix has. It runs on all cores, or where the matrix lives.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let a = gallery::build("poisson7:20", &Executor::cpu())?.matrix;
/// let b = vec![1.0; 20 * 20 * 20];
/// let solution = vcycle::solve(&a, &b)?;
/// assert!(solution.outcome.converged());
/// println!("{} iterations, x[0] = {}", solution.outcome.iterations, solution.x[0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// [`config::solve`](crate::config::solve) has options, many right-hand sides, and reports what was chosen and why;
/// [`solver`](crate::solver) has the parts.
///
/// # Errors
/// When the matrix is not valid, the right-hand side has another length, or nothing can be set up. Not converging
/// is no error: look at the outcome.
pub fn solve<T: Wide>(a: impl IntoCsr<T>, b: &[T]) -> Result<Solution<T>> {
    let a = a.into_shared_csr()?;
    let b = Vector::from_column(a.executor(), b.to_vec());
    let solved = config::solve(&Config::default(), &a, &b, &Workspace::new())?;
    Ok(Solution {
        x: solved.x.to_vec(),
        outcome: solved.outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::executor::Executor;
    use crate::matrix::Csr;
    use crate::scalar::c64;
    use crate::stop::Status;

    #[test]
    fn real_and_complex_systems_are_solved() {
        let host = Executor::reference();
        let real = solve(Csr::diagonal_matrix(&host, vec![2.0, 4.0]), &[1.0, 1.0]).unwrap();
        assert!(real.outcome.converged());
        assert!((real.x[0] - 0.5).abs() < 1e-7 && (real.x[1] - 0.25).abs() < 1e-7);
        let i = c64::new(0.0, 1.0);
        let complex = solve(Csr::diagonal_matrix(&host, vec![i, i]), &[i, -i]).unwrap();
        assert!((complex.x[0] - 1.0).norm() < 1e-7 && (complex.x[1] + 1.0).norm() < 1e-7);
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_what_does_not_converge_is_none() {
        let host = Executor::reference();
        let a = Csr::<f64>::identity(&host, 3);
        assert!(matches!(solve(&a, &[1.0]), Err(Error::SizeMismatch { .. })));
        let singular = Csr::diagonal_matrix(&host, vec![1.0, 0.0]);
        let outcome = solve(&singular, &[1.0, 1.0]).unwrap().outcome;
        assert_eq!(outcome.status, Status::Inconsistent, "{outcome}");
    }
}
