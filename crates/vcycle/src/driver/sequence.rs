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
    use std::sync::Arc;

    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::matrix::Csr;

    fn matrix(spec: &str) -> Csr<f64> {
        gallery::build(spec, &Executor::cpu()).unwrap().matrix
    }

    fn solve(steps: &mut Sequence, a: Csr<f64>) -> Solution<f64> {
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let system = System::new(Arc::new(a));
        let solution = steps.solve(&system, &b, &Workspace::new()).unwrap();
        assert!(solution.outcome.converged());
        solution
    }

    fn steps() -> Sequence {
        Sequence::new(Config::from_toml("solver = \"cg\"\npreconditioner = \"amg\"").unwrap())
    }

    #[test]
    fn equal_patterns_share_a_set_up_and_others_do_not() {
        let mut steps = steps();
        let first = solve(&mut steps, matrix("poisson5:40"));
        assert!(!first.messages.concat().contains("reused"));
        let second = solve(&mut steps, matrix("poisson5:40").scale(3.0).unwrap());
        assert_eq!(
            second.messages,
            ["multigrid: 2 levels of an earlier set-up reused"]
        );
        assert_eq!(second.outcome.iterations, first.outcome.iterations);
        for other in ["poisson9:40", "poisson5:41"] {
            let messages = solve(&mut steps, matrix(other)).messages.concat();
            assert!(
                messages.starts_with("multigrid: set up anew: update of values"),
                "{messages}"
            );
        }
    }

    #[test]
    fn structured_multigrid_shares_its_levels() {
        let config = "solver = \"cg\"\npreconditioner = \"struct-mg\"";
        let mut steps = Sequence::new(Config::from_toml(config).unwrap());
        let first = solve(&mut steps, matrix("poisson7:8"));
        let second = solve(&mut steps, matrix("poisson7:8").scale(1e8).unwrap());
        let messages = second.messages.concat();
        assert!(
            messages.contains("levels of an earlier set-up reused"),
            "{messages}"
        );
        assert!(messages.contains("scaled into the range"), "{messages}");
        let counts = [&first, &second].map(|solution| solution.outcome.iterations);
        assert!(counts[0].abs_diff(counts[1]) <= 1, "{counts:?}");
        for other in ["poisson27:8", "poisson7:9"] {
            let messages = solve(&mut steps, matrix(other)).messages.concat();
            assert!(messages.contains("set up anew"), "{messages}");
        }
    }

    #[cfg(feature = "direct")]
    #[test]
    fn factors_share_their_order() {
        let mut steps = Sequence::new(Config::from_toml("solver = \"direct\"").unwrap());
        let mut messages = |a| solve(&mut steps, a).messages.concat();
        assert!(!messages(matrix("poisson5:12")).contains("reused"));
        assert!(messages(matrix("poisson5:12").scale(3.0).unwrap()).contains("fill of an earlier"));
        assert!(messages(matrix("poisson9:12")).contains("direct: set up anew"));
    }

    #[test]
    fn a_space_is_recycled_from_matrix_to_matrix() {
        let config = "solver = \"gcro-dr\"\npreconditioner = \"jacobi\"";
        let mut steps = Sequence::new(Config::from_toml(config).unwrap());
        let mut iterations = |factor| {
            let a = matrix("poisson5:24").scale(factor).unwrap();
            solve(&mut steps, a).outcome.iterations
        };
        let (first, second) = (iterations(1.0), iterations(1.5));
        assert!(4 * second < 3 * first, "{second} {first}");
    }

    #[test]
    fn a_set_up_that_does_not_suit_is_given_up() {
        let mut steps = steps();
        solve(&mut steps, matrix("aniso5:64,0.001"));
        // The other direction is the strong one now: groups along the first are wrong.
        let turned = matrix("aniso5:64,0.001,90");
        let messages = solve(&mut steps, turned.clone()).messages.concat();
        assert!(
            messages.contains("reused") && messages.contains("anew"),
            "{messages}"
        );
        assert!(
            !solve(&mut steps, turned)
                .messages
                .concat()
                .contains("reused")
        );
    }
}
