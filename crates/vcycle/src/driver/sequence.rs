//! One matrix after another.

use super::here::Here;
use super::{Solution, System, Wide};
use crate::configuration::Config;
use crate::error::Result;
use crate::executor::Workspace;
use crate::vector::Vector;

/// Solves for matrices of the same pattern in turn, as time steps and Newton iterations have them:
/// the multigrid set-up of the first is [reused](crate::multigrid::Setup::update_values) for the others.
///
/// Every matrix is solved as [`solve_system`](super::solve_system) does it. [`Solution::messages`] has what is reused, and what
/// is not because the pattern has changed. A matrix that does not
/// converge with a set-up that was reused gets its own; one that takes twice the iterations of the
/// first is the last to use that.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{config::{Config, Sequence, System}, executor::{Executor, Workspace}, gallery,
///              matrix::Csr, vector::Vector};
/// let (cpu, ws) = (Executor::cpu(), Workspace::new());
/// let k = gallery::build("poisson5:64", &cpu)?.matrix;
/// let b = Vector::filled(&cpu, 64 * 64, 1, 1.0)?;
/// let mut steps = Sequence::new(Config::default());
/// for dt in [1.0, 2.0, 4.0] {
///     let a = k.add(dt, 1.0, &Csr::identity(&cpu, 64 * 64))?;
///     let solution = steps.solve(&System::new(Arc::new(a)), &b, &ws)?;
///     assert!(solution.outcome.converged());
/// }
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Debug)]
pub struct Sequence<T: Wide = f64> {
    config: Config,
    last: Option<Here<T>>,
}

impl<T: Wide> Sequence<T> {
    /// Nothing is set up yet.
    pub fn new(config: Config) -> Self {
        Self { config, last: None }
    }

    /// Solves for the next matrix.
    ///
    /// # Errors
    /// As [`solve_system`](super::solve_system).
    pub fn solve(
        &mut self,
        system: &System<T>,
        b: &Vector<T>,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let (config, guess) = (&self.config, system.guess.as_ref());
        system.check(b, guess)?;
        let before = self.last.take().map(|mut last| last.hand_over());
        let before = before.unwrap_or_default();
        let here = Here::new(config.clone(), system, before, b.cols(), ws)?;
        let mut solution = here.solve(system, b, guess, &config.stop, ws)?;
        let told = here.ready.messages.iter().cloned();
        solution.messages.splice(..0, told);
        solution.setup += here.ready.setup;
        if here.is_stale() {
            let message = "not converged, or more than twice the iterations of the matrix that was set up: \
                           the next one is set up anew";
            solution.messages.push(message.to_owned());
        }
        self.last = Some(here);
        Ok(solution)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_has, config, matrix, ones, system};
    use super::*;
    use crate::matrix::Csr;

    /// Solves one after the other.
    struct Steps(Sequence);

    impl Steps {
        fn new(options: &str) -> Self {
            Self(Sequence::new(config(options)))
        }

        fn solve(&mut self, a: Csr<f64>) -> Solution<f64> {
            let system = system(a);
            let b = ones(&system.matrix);
            let solution = self.0.solve(&system, &b, &Workspace::new()).unwrap();
            assert!(solution.outcome.converged());
            solution
        }

        /// With every value times a factor: what is said, and the iterations.
        fn of(&mut self, spec: &str, factor: f64) -> (String, usize) {
            let solution = self.solve(matrix(spec).scale(factor).unwrap());
            (solution.messages.concat(), solution.outcome.iterations)
        }
    }

    const AMG: &str = "solver=cg preconditioner=amg";

    #[test]
    fn equal_patterns_share_a_set_up_and_others_do_not() {
        let mut steps = Steps::new(AMG);
        let (told, first) = steps.of("poisson5:40", 1.0);
        assert!(!told.contains("reused"));
        let (told, second) = steps.of("poisson5:40", 3.0);
        assert_eq!(told, "multigrid: 2 levels of an earlier set-up reused");
        assert_eq!(second, first);
        for other in ["poisson9:40", "poisson5:41"] {
            let (told, _) = steps.of(other, 1.0);
            assert_has(told, "multigrid: set up anew: update of values");
        }
    }

    #[test]
    fn structured_multigrid_shares_its_levels() {
        let mut steps = Steps::new("solver=cg preconditioner=struct-mg");
        let (_, first) = steps.of("poisson7:8", 1.0);
        let (told, second) = steps.of("poisson7:8", 1e8);
        assert_has(
            told,
            "levels of an earlier set-up reused|scaled into the range",
        );
        assert!(first.abs_diff(second) <= 1, "{first} {second}");
        for other in ["poisson27:8", "poisson7:9"] {
            assert_has(steps.of(other, 1.0).0, "set up anew");
        }
    }

    #[cfg(feature = "direct")]
    #[test]
    fn factors_share_their_order() {
        let mut steps = Steps::new("solver=direct");
        assert!(!steps.of("poisson5:12", 1.0).0.contains("reused"));
        assert_has(steps.of("poisson5:12", 3.0).0, "fill of an earlier");
        assert_has(steps.of("poisson9:12", 1.0).0, "direct: set up anew");
    }

    #[test]
    fn a_space_is_recycled_from_matrix_to_matrix() {
        let mut steps = Steps::new("solver=gcro-dr preconditioner=jacobi");
        let [first, second] = [1.0, 1.5].map(|factor| steps.of("poisson5:24", factor).1);
        assert!(4 * second < 3 * first, "{second} {first}");
    }

    #[test]
    fn a_set_up_that_does_not_suit_is_given_up() {
        let mut steps = Steps::new(AMG);
        steps.of("aniso5:64,0.001", 1.0);
        // The other direction is the strong one now: groups along the first are wrong.
        assert_has(steps.of("aniso5:64,0.001,90", 1.0).0, "reused|anew");
        assert!(!steps.of("aniso5:64,0.001,90", 1.0).0.contains("reused"));
    }
}
