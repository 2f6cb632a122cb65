//! A set-up that is kept.

use std::sync::Arc;
use std::time::Instant;

use super::analysis::{Analysis, Pose};
use super::chain::is_better;
use super::ready::Ready;
use super::sequence::Kept;
use super::storage::Wide;
use super::wear::Wear;
use super::{Solution, System};
use crate::configuration::{Config, StopConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{Size, check_size};
use crate::matrix::Csr;
use crate::multigrid::Report;
use crate::registration::Symmetry;
use crate::stop::Status;
use crate::vector::Vector;

/// A system that is set up once, and solved as often as there are right-hand sides.
///
/// It solves as [`solve_system`](super::solve_system) does: what `auto` has chosen is set up, and where that does not
/// converge the next attempt is made. [`apply`](Self::apply) is the preconditioner alone, for the iterations of another
/// program. [`update_values`](Self::update_values) is for the next matrix of the same pattern.
///
/// Several threads may solve and apply at once, each with its own workspace.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{config::{Config, Prepared, System}, executor::{Executor, Workspace}, gallery, vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("poisson5:64", &cpu)?;
/// let prepared = Prepared::new(Config::default(), System::from(problem), &Workspace::new())?;
/// for scale in [1.0, 2.0] {
///     let b = Vector::filled(&cpu, 64 * 64, 1, scale)?;
///     let solution = prepared.solve(&b, None, &prepared.config().stop, &Workspace::new())?;
///     assert!(solution.outcome.converged());
/// }
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Debug)]
pub struct Prepared<T: Wide> {
    asked: Config,
    given: System<T>,
    /// The system that is solved in its place, where the analysis has found a better one.
    system: System<T>,
    pose: Pose,
    ready: Ready<T>,
    kept: Kept,
    wear: Wear,
}

impl<T: Wide> Prepared<T> {
    /// Sets up what `config` says, or the best of what can be set up where it says `auto`.
    ///
    /// # Errors
    /// When the configuration does not fit the matrix, and when no attempt's set-up succeeds.
    pub fn new(config: Config, given: System<T>, ws: &Workspace) -> Result<Self> {
        Self::with_kept(config, given, Kept::default(), ws)
    }

    fn with_kept(asked: Config, given: System<T>, mut kept: Kept, ws: &Workspace) -> Result<Self> {
        let analysis = Analysis::new(&asked, &given)?;
        let mut ready = T::prepare(&asked, analysis.system(), &mut kept, ws)?;
        let found = analysis.messages().iter().cloned();
        ready.messages.splice(..0, found);
        ready.setup += analysis.time();
        let (system, pose) = (analysis.system().clone(), analysis.pose().clone());
        Ok(Self {
            asked,
            given,
            system,
            pose,
            ready,
            kept,
            wear: Wear::default(),
        })
    }

    /// Takes other values in the same places: the levels of multigrid are [renewed](crate::multigrid::Setup), everything
    /// else is set up anew. Where the last solve took more than twice the iterations of the first, so are the levels.
    ///
    /// # Errors
    /// For another size or pattern, and as [`new`](Self::new). The old set-up then stays.
    pub fn update_values(&mut self, matrix: Arc<Csr<T>>, ws: &Workspace) -> Result<()> {
        let before = &self.given.matrix;
        check_size("update of values", before.size(), matrix.size())?;
        if !before.pattern().same_as(matrix.pattern()) {
            return Err(Error::InvalidStructure {
                format: "csr",
                reason: "update of values: the pattern is not that of the set-up".to_owned(),
            });
        }
        let given = System {
            matrix,
            ..self.given.clone()
        };
        let kept = self.wear.kept(&mut self.kept);
        let mut renewed = Self::with_kept(self.asked.clone(), given, kept, ws)?;
        if renewed.kept.reused() {
            renewed.wear = Wear::after(&self.wear);
        }
        *self = renewed;
        Ok(())
    }

    /// Solves for one or many right-hand sides, from a guess or from zero.
    ///
    /// # Errors
    /// When operands do not fit the matrix, or a device fails. Not converging is no error.
    pub fn solve(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let fitting = Size::new(self.rows(), b.cols());
        check_size("right-hand side", fitting, b.size())?;
        if let Some(guess) = guess {
            b.executor().check_same(guess.executor(), "initial guess")?;
            check_size("initial guess", fitting, guess.size())?;
        }
        let b = self.pose.right_hand_side(b)?;
        let guess = guess.map(|guess| self.pose.guess(guess)).transpose()?;
        let guess = guess.as_deref();
        let mut solution = self.iterate(&b, guess, stop, ws)?;
        self.wear.note(solution.outcome.iterations);
        let next = match self.may_be_stale(solution.outcome.status) {
            true => Some(self.ready.place),
            false => self.ready.chain.next(self.ready.place, &solution.outcome),
        };
        if let Some(next) = next {
            solution = self.go_on(next, solution, &b, guess, stop, ws)?;
        }
        self.wear.note_first(solution.outcome.iterations);
        solution.x = self.pose.solution(solution.x)?;
        Ok(solution)
    }

    /// Whether levels of an earlier matrix may be why a solve has not converged.
    fn may_be_stale(&self, status: Status) -> bool {
        let has_ended_well = matches!(
            status,
            Status::Converged | Status::AccuracyLimit | Status::TimeLimit | Status::Interrupted
        );
        self.kept.reused() && !has_ended_well
    }

    fn iterate(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let (ready, begin) = (&self.ready, Instant::now());
        let mut messages = Vec::new();
        let mut b = std::borrow::Cow::Borrowed(b);
        if let Some(nullspace) = &ready.nullspace {
            let (consistent, told) = nullspace.consistent(&b)?;
            b = std::borrow::Cow::Owned(consistent);
            messages.push(told);
        }
        let mut x = match guess {
            Some(guess) => guess.clone(),
            None => match ready.iteration.start(&b, ws)? {
                Some(x) => x,
                None => Vector::zeros_like(&b)?,
            },
        };
        let stop = ready.chain.stop(ready.place, &stop.stop()?);
        let precision = ready.config.precision.unwrap_or_default();
        let iteration = &ready.iteration;
        let outcome = iteration.iterate(ready.a.as_ref(), precision, &b, &mut x, &stop, ws)?;
        if let Some(nullspace) = &ready.nullspace {
            nullspace.project(&mut x)?;
        }
        Ok(Solution {
            x,
            outcome,
            config: ready.config.clone(),
            messages,
            setup: Default::default(),
            solving: begin.elapsed(),
            bytes: ready.bytes,
            multigrid: ready.multigrid.clone(),
            traffic: None,
        })
    }

    /// Makes one attempt after the other, from the place `next` on; the best answer is handed over.
    fn go_on(
        &self,
        next: usize,
        mut best: Solution<T>,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let mut system = self.system.clone();
        system.guess = guess.cloned();
        let mut place = Some(next);
        while let Some(tried) = place {
            let attempt = &self.ready.chain.attempts[tried];
            let mut config = self.asked.clone();
            attempt.configure(&mut config);
            config.stop = stop.clone();
            let limit = self.ready.chain.stop(tried, &stop.stop()?).iterations;
            config.stop.max_iterations = limit;
            let (status, residual) = (best.outcome.status, best.outcome.relative_residual);
            let told = format!(
                "{status}, residual {residual:.1e}: {} set up",
                attempt.name()
            );
            best.messages.push(told);
            match T::solve_system(&config, &system, b, None, ws) {
                Ok(other) => {
                    place = self.ready.chain.next(tried, &other.outcome);
                    best = better(best, other, attempt.is_direct());
                }
                Err(error) => {
                    best.messages.push(format!("set-up failed: {error}"));
                    place = Some(tried + 1).filter(|&next| next < self.ready.chain.attempts.len());
                }
            }
        }
        Ok(best)
    }

    /// `z = M r`: the preconditioner alone, a multigrid cycle most often. It is a fixed linear operator, and for a
    /// symmetric matrix a symmetric one unless the configuration asks for another.
    ///
    /// # Errors
    /// For a preconditioner that varies from application to application, vectors of another length, and when a device
    /// fails.
    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let fitting = Size::new(self.rows(), r.cols());
        check_size("apply", fitting, r.size())?;
        check_size("apply", fitting, z.size())?;
        let attempt = &self.ready.chain.attempts[self.ready.place];
        if attempt.preconditioner.symmetry() == Symmetry::Varying {
            return Err(Error::Unsupported {
                component: format!("preconditioner `{}`", attempt.preconditioner.name()),
                operation: "being applied by another program: it varies".to_owned(),
            });
        }
        let r = self.pose.right_hand_side(r)?;
        let Some(nullspace) = &self.ready.nullspace else {
            return self.cycle(&r, z, ws);
        };
        let mut r = r.into_owned();
        nullspace.project(&mut r)?;
        let mut inner = Vector::zeros_like(&r)?;
        self.ready.iteration.precondition(&r, &mut inner, ws)?;
        nullspace.project(&mut inner)?;
        *z = self.pose.solution(inner)?;
        Ok(())
    }

    fn cycle(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        if !self.pose.renumbers() {
            return self.ready.iteration.precondition(r, z, ws);
        }
        let mut inner = Vector::zeros_like(r)?;
        self.ready.iteration.precondition(r, &mut inner, ws)?;
        *z = self.pose.solution(inner)?;
        Ok(())
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.given.matrix.size().rows
    }

    /// The matrix that was given.
    pub fn matrix(&self) -> &Arc<Csr<T>> {
        &self.given.matrix
    }

    /// The configuration with every `auto` decided.
    pub fn config(&self) -> &Config {
        &self.ready.config
    }

    /// What `auto` chose and why, and what else is to be said of the set-up.
    pub fn messages(&self) -> &[String] {
        &self.ready.messages
    }

    /// The levels, where the preconditioner is multigrid.
    pub fn report(&self) -> Option<&Report> {
        self.ready.multigrid.as_ref()
    }

    /// Time of the set-up.
    pub fn setup(&self) -> std::time::Duration {
        self.ready.setup
    }

    /// Bytes of the stored matrix and of the preconditioner.
    pub fn bytes(&self) -> usize {
        self.ready.bytes
    }
}

/// The better one of two, with the messages and the time of both.
fn better<T>(one: Solution<T>, other: Solution<T>, is_direct: bool) -> Solution<T> {
    let messages = [one.messages.as_slice(), &other.messages].concat();
    let (setup, solving) = (one.setup + other.setup, one.solving + other.solving);
    let best = match is_better(&other.outcome, is_direct, &one.outcome) {
        true => other,
        false => one,
    };
    Solution {
        messages,
        setup,
        solving,
        ..best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;

    fn prepared(config: &str, problem: &str) -> Prepared<f64> {
        let problem = gallery::build(problem, &Executor::cpu()).unwrap();
        let config = Config::from_toml(config).unwrap();
        Prepared::new(config, System::from(problem), &Workspace::new()).unwrap()
    }

    fn solve(prepared: &Prepared<f64>, b: &Vector<f64>) -> Solution<f64> {
        let stop = &prepared.config().stop;
        prepared.solve(b, None, stop, &Workspace::new()).unwrap()
    }

    fn ones(prepared: &Prepared<f64>) -> Vector<f64> {
        Vector::filled(&Executor::cpu(), prepared.rows(), 1, 1.0).unwrap()
    }

    const AMG: &str = "solver = \"cg\"\npreconditioner = \"amg\"";

    #[test]
    fn it_solves_as_a_solve_does() {
        for config in ["", AMG, "precision = \"sp\"", "preconditioner = \"ic0\""] {
            let problem = gallery::build("poisson5:40", &Executor::cpu()).unwrap();
            let prepared = prepared(config, "poisson5:40");
            let b = ones(&prepared);
            let config = Config::from_toml(config).unwrap();
            let system = System::from(problem);
            let once = super::super::solve_system(&config, &system, &b, &Workspace::new()).unwrap();
            for _ in 0..2 {
                let solution = solve(&prepared, &b);
                assert_eq!(solution.x.to_vec(), once.x.to_vec());
                assert_eq!(solution.outcome.iterations, once.outcome.iterations);
            }
            assert_eq!(prepared.config(), &once.config);
        }
    }

    #[test]
    fn a_stencil_on_a_device_takes_other_values() {
        let Some(device) = vcycle_core::testing::device() else {
            return;
        };
        let a = gallery::build("poisson7:14", &Executor::cpu()).unwrap();
        let a = Arc::new(a.matrix.copy_to(&device).unwrap());
        let b = Vector::filled(&device, a.size().rows, 1, 1.0).unwrap();
        let system = System::new(Arc::clone(&a));
        let mut prepared = Prepared::new(Config::default(), system, &Workspace::new()).unwrap();
        assert_eq!(prepared.config().preconditioner.name(), "struct-mg");
        let once = solve(&prepared, &b);
        let twice = Arc::new(a.scale(2.0).unwrap());
        prepared.update_values(twice, &Workspace::new()).unwrap();
        let half = solve(&prepared, &b);
        assert!(once.outcome.converged() && half.outcome.converged());
        for (one, half) in once.x.to_vec().iter().zip(half.x.to_vec()) {
            assert!((one - 2.0 * half).abs() < 1e-6 * one.abs(), "{one}, {half}");
        }
    }

    #[test]
    fn a_cycle_is_linear_and_the_same_for_every_thread() {
        let prepared = prepared("", "tet:6");
        let (r, ws) = (ones(&prepared), Workspace::new());
        let mut once = Vector::zeros_like(&r).unwrap();
        prepared.apply(&r, &mut once, &ws).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut z = Vector::zeros_like(&r).unwrap();
                    prepared.apply(&r, &mut z, &Workspace::new()).unwrap();
                    assert_eq!(z.to_vec(), once.to_vec());
                });
            }
        });
    }

    #[test]
    fn a_negative_system_is_applied_with_its_own_sign() {
        let a = gallery::build("poisson5:30", &Executor::cpu())
            .unwrap()
            .matrix;
        let minus = System::new(Arc::new(a.scale(-1.0).unwrap()));
        let of = |system| Prepared::new(Config::default(), system, &Workspace::new()).unwrap();
        let (plus, minus) = (of(System::new(Arc::new(a))), of(minus));
        let r = ones(&plus);
        let apply = |prepared: &Prepared<f64>| {
            let mut z = Vector::zeros_like(&r).unwrap();
            prepared.apply(&r, &mut z, &Workspace::new()).unwrap();
            z.to_vec()
        };
        let negated: Vec<f64> = apply(&minus).iter().map(|value| -value).collect();
        assert_eq!(apply(&plus), negated);
    }

    #[test]
    fn other_values_renew_the_levels_and_another_pattern_is_refused() {
        let mut prepared = prepared(AMG, "poisson5:40");
        let b = ones(&prepared);
        let first = solve(&prepared, &b);
        let scaled = prepared.matrix().scale(3.0).unwrap();
        prepared
            .update_values(Arc::new(scaled), &Workspace::new())
            .unwrap();
        assert!(
            prepared.messages().concat().contains("reused"),
            "{:?}",
            prepared.messages()
        );
        let second = solve(&prepared, &b);
        assert_eq!(second.outcome.iterations, first.outcome.iterations);
        assert!((3.0 * second.x.to_vec()[0] - first.x.to_vec()[0]).abs() < 1e-6);
        let other = gallery::build("poisson9:40", &Executor::cpu())
            .unwrap()
            .matrix;
        let error = prepared
            .update_values(Arc::new(other), &Workspace::new())
            .unwrap_err();
        assert!(error.to_string().contains("pattern"), "{error}");
        assert!(solve(&prepared, &b).outcome.converged());
    }

    #[test]
    fn levels_that_do_not_suit_are_made_anew() {
        let mut prepared = prepared(AMG, "aniso5:64,0.001");
        let b = ones(&prepared);
        assert!(solve(&prepared, &b).outcome.converged());
        let turned = gallery::build("aniso5:64,0.001,90", &Executor::cpu())
            .unwrap()
            .matrix;
        let turned = Arc::new(turned);
        prepared
            .update_values(Arc::clone(&turned), &Workspace::new())
            .unwrap();
        assert!(solve(&prepared, &b).outcome.converged());
        prepared.update_values(turned, &Workspace::new()).unwrap();
        assert!(!prepared.messages().concat().contains("reused"));
    }

    #[test]
    fn where_the_first_attempt_fails_the_next_is_made() {
        // Blocks [1 2; 2 1] are indefinite, which CG finds out.
        let a = Csr::from_arrays(
            &Executor::cpu(),
            Size::square(16),
            (0..=16).map(|row| 2 * row).collect(),
            (0..8u32)
                .flat_map(|k| [2 * k, 2 * k + 1, 2 * k, 2 * k + 1])
                .collect(),
            [1.0, 2.0, 2.0, 1.0].repeat(8),
            Default::default(),
        );
        let config = Config::from_toml("preconditioner = \"none\"").unwrap();
        let system = System::new(Arc::new(a.unwrap()));
        let prepared = Prepared::new(config, system, &Workspace::new()).unwrap();
        let b = Vector::from_column(&Executor::cpu(), (1..=16).map(f64::from).collect());
        let solution = solve(&prepared, &b);
        assert!(solution.outcome.converged(), "{:?}", solution.messages);
        assert_eq!(solution.config.solver.name(), "minres");
    }

    #[test]
    fn what_varies_is_not_applied() {
        let prepared = prepared("preconditioner = \"amg:cycle=k\"", "poisson5:40");
        let r = ones(&prepared);
        let mut z = r.clone();
        let error = prepared.apply(&r, &mut z, &Workspace::new()).unwrap_err();
        assert!(error.to_string().contains("varies"), "{error}");
    }
}
