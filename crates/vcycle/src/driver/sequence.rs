//! One matrix after another.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use super::staleness::REBUILD_RATIO;
use super::storage::Wide;
use super::{Solution, System};
use crate::configuration::{Config, SolverConfig};
use crate::error::{ConfigError, Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Distributed;
use crate::multigrid::{Amg, Hierarchy, NearNullspace, Report, Setup};
use crate::scalar::{Mixes, Scalar};
use crate::solver::Method;
#[cfg(feature = "direct")]
use crate::solver::{Direct, DirectSetup};
use crate::stop::Status;
use crate::structured::{Generated, GridSetup, StencilMatrix, StructMg};
use crate::vector::Vector;

/// Solves for matrices of the same pattern in turn, as time steps and Newton iterations have them:
/// the multigrid set-up of the first is [reused](Setup::update_values) for the others.
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
#[derive(Debug, Default)]
pub struct Sequence {
    config: Config,
    kept: Kept,
}

impl Sequence {
    /// Nothing is set up yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            kept: Kept::default(),
        }
    }

    /// Solves for the next matrix.
    ///
    /// # Errors
    /// As [`solve_system`](super::solve_system).
    pub fn solve<T: Wide>(
        &mut self,
        system: &System<T>,
        b: &Vector<T>,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let mut solution = T::solve_system(&self.config, system, b, Some(&mut self.kept), ws)?;
        let (iterations, status) = (solution.outcome.iterations, solution.outcome.status);
        if !self.kept.reused {
            self.kept.iterations = iterations;
        } else if !matches!(
            status,
            Status::Converged | Status::AccuracyLimit | Status::TimeLimit | Status::Interrupted
        ) {
            self.kept = Kept::default();
            let first = solution;
            solution = T::solve_system(&self.config, system, b, Some(&mut self.kept), ws)?;
            self.kept.iterations = solution.outcome.iterations;
            solution.setup += first.setup;
            solution.solving += first.solving;
            let message = format!("{status}: set up anew");
            solution.messages = [first.messages, vec![message], solution.messages].concat();
        } else if iterations > REBUILD_RATIO * self.kept.iterations.max(1) {
            self.kept = Kept::default();
            let why = "more than twice the iterations of the matrix that was set up";
            solution
                .messages
                .push(format!("{why}: the next one is set up anew"));
        }
        Ok(solution)
    }
}

/// The multigrid set-up that later matrices may share.
#[derive(Debug, Default)]
pub struct Kept {
    /// What was set up as these parameters say.
    setup: Option<(Amg, Setup)>,
    /// The same of structured multigrid.
    structured: Option<(StructMg, GridSetup)>,
    /// An iteration that keeps a space from system to system, with the parameters it was made by.
    recycling: Option<(SolverConfig, Box<dyn Any + Send + Sync>)>,
    /// The order and the fill of factors.
    #[cfg(feature = "direct")]
    factors: Option<DirectSetup>,
    /// Those of the matrix that was set up.
    iterations: usize,
    /// Whether the last hierarchy came from an earlier set-up.
    reused: bool,
}

impl Kept {
    /// Whether nothing is kept that takes memory already.
    pub(super) fn is_empty(&self) -> bool {
        self.setup.is_none() && self.structured.is_none()
    }

    /// Whether the last hierarchy came from an earlier set-up.
    pub(super) fn reused(&self) -> bool {
        self.reused
    }

    /// The iteration of a solver: the one of an earlier system where that has something to remember.
    pub(super) fn method<W: Mixes<W, W>>(
        &mut self,
        solver: &SolverConfig,
    ) -> Result<Arc<dyn Method<W>>, ConfigError> {
        if !matches!(solver, SolverConfig::GcroDr(_)) {
            return solver.method();
        }
        let known = self.recycling.as_ref().filter(|(of, _)| of == solver);
        if let Some(method) = known.and_then(|(_, kept)| kept.downcast_ref::<Arc<dyn Method<W>>>())
        {
            return Ok(Arc::clone(method));
        }
        let method = solver.method::<W>()?;
        self.recycling = Some((solver.clone(), Box::new(Arc::clone(&method))));
        Ok(method)
    }

    /// A hierarchy from the set-up that is kept, or else from a new one; and a message.
    pub(super) fn hierarchy<W: Scalar>(
        &mut self,
        amg: &Amg,
        a: &Arc<dyn LinOp<W>>,
        near_nullspace: &NearNullspace,
        ws: &Workspace,
    ) -> Result<(Hierarchy<W>, Option<String>)> {
        if W::KIND.is_complex() {
            // Complex levels are not renewed.
            self.reused = false;
            return Ok((amg.hierarchy_with(a, near_nullspace, ws)?, None));
        }
        self.setup.take_if(|(asked, _)| asked != amg);
        let update = |(_, setup): &mut (Amg, Setup)| setup.update_values(a, ws);
        let (hierarchy, message) = renewed("multigrid", &mut self.setup, update, || {
            let (setup, hierarchy) = amg.setup_with(a, near_nullspace, ws)?;
            Ok(((amg.clone(), setup), hierarchy))
        })?;
        let message = self.message(message, hierarchy.report());
        Ok((hierarchy, message))
    }

    /// The inverse of a matrix, in the order that was found for an earlier one of the same pattern.
    #[cfg(feature = "direct")]
    pub(super) fn factors<W: Scalar>(
        &mut self,
        direct: &Direct,
        a: &Arc<dyn LinOp<W>>,
        ws: &Workspace,
    ) -> Result<(Arc<dyn LinOp<W>>, Option<String>)> {
        self.reused = false;
        let update = |known: &mut DirectSetup| known.update_values(a, ws);
        let made = renewed("direct", &mut self.factors, update, || direct.setup(a, ws))?;
        Ok(match made {
            (inverse, Renewal::Anew(message)) => (inverse, message),
            (inverse, Renewal::Reused) => {
                let message = "direct: order and fill of an earlier set-up reused";
                (inverse, Some(message.to_owned()))
            }
        })
    }

    /// The same for structured multigrid; of rows that ranks share the near cells of this one may be known.
    pub(super) fn structured<W: Mixes<W, W>>(
        &mut self,
        parameters: &StructMg,
        a: &Arc<dyn LinOp<W>>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<(Generated<W>, Option<String>)> {
        let near = Cell::new(near);
        let known = || near.take().zip(Distributed::behind(a.as_ref()));
        self.structured.take_if(|(asked, _)| asked != parameters);
        let update = |(_, setup): &mut (StructMg, GridSetup)| match known() {
            Some((near, rows)) => setup.update_of_ranks(&rows, Some(near), ws),
            None => setup.update_values(a, ws),
        };
        let (made, message) = renewed("multigrid", &mut self.structured, update, || {
            let made = match known() {
                Some((near, rows)) => parameters.generate_of_ranks(&rows, near, ws)?,
                None => parameters.generate_with_report(a, ws)?,
            };
            Ok(((parameters.clone(), made.setup.clone()), made))
        })?;
        let message = self.message(message, &made.report);
        Ok((made, message))
    }

    /// Notes whether levels were reused, and says so.
    fn message(&mut self, renewal: Renewal, report: &Report) -> Option<String> {
        self.reused = matches!(renewal, Renewal::Reused);
        match renewal {
            Renewal::Anew(message) => message,
            Renewal::Reused => {
                let levels = report.levels.len();
                Some(format!(
                    "multigrid: {levels} levels of an earlier set-up reused"
                ))
            }
        }
    }
}

/// How something was made.
enum Renewal {
    /// From what was kept.
    Reused,
    /// From nothing, with the reason where something was kept.
    Anew(Option<String>),
}

/// What a set-up that is kept makes of other values, or else a new one, which is kept.
fn renewed<S, M>(
    what: &str,
    kept: &mut Option<S>,
    update: impl FnOnce(&mut S) -> Result<M>,
    make: impl FnOnce() -> Result<(S, M)>,
) -> Result<(M, Renewal)> {
    let mut known = kept.take();
    let message = match known.as_mut().map(update) {
        None => None,
        Some(Ok(made)) => {
            *kept = known;
            return Ok((made, Renewal::Reused));
        }
        Some(Err(error)) => Some(anew(what, error)?),
    };
    let (setup, made) = make()?;
    *kept = Some(setup);
    Ok((made, Renewal::Anew(message)))
}

/// The message on a matrix that an earlier set-up is not for; other errors are passed on.
fn anew(what: &str, error: Error) -> Result<String> {
    match error {
        Error::InvalidStructure { .. } | Error::SizeMismatch { .. } | Error::NotAStencil { .. } => {
            Ok(format!("{what}: set up anew: {error}"))
        }
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
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
