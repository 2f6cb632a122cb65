//! Set-ups that are kept: for many right-hand sides, and for one matrix after another.

use std::time::Duration;

use super::local_setup::LocalSetup;
use super::root::{self, SolvedOnRoot};
use super::{Solution, System, SystemMatrix, Wide};
use crate::configuration::{Config, StopConfig};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{Size, check_size};
use crate::multigrid::Report;
use crate::vector::Vector;

/// A system that is set up once, and solved as often as there are right-hand sides.
///
/// It solves as [`solve_system`](super::solve_system) does: what `auto` has chosen is set up, and where that does not
/// converge the next attempt is made. [`apply`](Self::apply) is the preconditioner alone, for the iterations of another
/// program. [`update_values`](Self::update_values) is for the next matrix of the same pattern.
///
/// Several threads may solve and apply at once, each with its own workspace. Ranks that share the rows call everything
/// together.
///
/// ```
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
///
/// Where ranks share the rows, each has its own, as [`System`] shows.
#[derive(Debug)]
pub struct Prepared<T: Wide = f64> {
    given: System<T>,
    place: Place<T>,
}

/// Who has set up.
#[derive(Debug)]
enum Place<T: Wide> {
    /// Every rank its rows; all of them, where there is one rank.
    Local(Box<LocalSetup<T>>),
    /// Rank 0 for all.
    Root(Box<SolvedOnRoot<T>>),
}

impl<T: Wide> Prepared<T> {
    /// Sets up what `config` says, or the best of what can be set up where it says `auto`.
    ///
    /// # Errors
    /// When the configuration does not fit the matrix, and when no attempt's set-up succeeds.
    pub fn new(config: Config, given: System<T>, ws: &Workspace) -> Result<Self> {
        let place = match root::gathering(&config, &given.matrix)? {
            Some(a) => Place::Root(Box::new(SolvedOnRoot::new(&config, &given, a, ws)?)),
            None => {
                let nothing = Default::default();
                Place::Local(Box::new(LocalSetup::new(config, &given, nothing, 1, ws)?))
            }
        };
        Ok(Self { given, place })
    }

    /// Takes other values in the same places: the levels of multigrid are [renewed](crate::multigrid::Setup), everything
    /// else is set up anew. Where the last solve took more than twice the iterations of the first, so are the levels.
    /// [`SystemMatrix::with_values`] makes the matrix from values.
    ///
    /// # Errors
    /// For another size or pattern, and as [`new`](Self::new). The old set-up then stays.
    pub fn update_values(
        &mut self,
        matrix: impl Into<SystemMatrix<T>>,
        ws: &Workspace,
    ) -> Result<()> {
        let matrix = matrix.into();
        self.given.matrix.check_pattern(&matrix)?;
        let given = System {
            matrix,
            ..self.given.clone()
        };
        match &mut self.place {
            Place::Local(local) => local.update(&given, ws)?,
            Place::Root(root) => root.update(&given.matrix, ws)?,
        }
        self.given = given;
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
        self.given.check(b, guess)?;
        match &self.place {
            Place::Local(local) => local.solve(&self.given, b, guess, stop, ws),
            Place::Root(root) => root.solve(b, guess, stop, ws),
        }
    }

    /// `z = M r`: the preconditioner alone, a multigrid cycle most often. It is a fixed linear operator, and for a
    /// symmetric matrix a symmetric one unless the configuration asks for another.
    ///
    /// # Errors
    /// For a preconditioner that varies from application to application, vectors of another length, and when a device
    /// fails.
    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let fitting = Size::new(self.rows(), r.cols());
        let checked = check_size("apply", fitting, r.size())
            .and_then(|()| check_size("apply", fitting, z.size()));
        self.given.matrix.agree(checked)?;
        match &self.place {
            Place::Local(local) => local.apply(r, z, ws),
            Place::Root(root) => root.apply(r, z, ws),
        }
    }

    /// Rows of the matrix that this rank has.
    pub fn rows(&self) -> usize {
        self.given.matrix.rows()
    }

    /// The matrix that was given.
    pub fn matrix(&self) -> &SystemMatrix<T> {
        &self.given.matrix
    }

    /// The configuration with every `auto` decided.
    pub fn config(&self) -> &Config {
        match &self.place {
            Place::Local(local) => &local.ready.made.config,
            Place::Root(root) => &root.summary.config,
        }
    }

    /// What `auto` chose and why, and what else there is to report of the set-up.
    pub fn messages(&self) -> &[String] {
        match &self.place {
            Place::Local(local) => &local.ready.messages,
            Place::Root(root) => &root.summary.messages,
        }
    }

    /// The levels, where the preconditioner is multigrid; on rank 0 alone where that has set up for all.
    pub fn report(&self) -> Option<&Report> {
        match &self.place {
            Place::Local(local) => local.ready.made.multigrid.as_ref(),
            Place::Root(root) => root.report(),
        }
    }

    /// Time of the set-up.
    pub fn setup(&self) -> Duration {
        match &self.place {
            Place::Local(local) => local.ready.setup,
            Place::Root(root) => root.summary.time,
        }
    }

    /// Bytes of the stored matrix and of the preconditioner, on this rank.
    pub fn bytes(&self) -> usize {
        match &self.place {
            Place::Local(local) => local.ready.made.bytes,
            Place::Root(root) => root.summary.bytes,
        }
    }
}

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
    last: Option<LocalSetup<T>>,
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
        let local = LocalSetup::new(config.clone(), system, before, b.cols(), ws)?;
        let mut solution = local.solve(system, b, guess, &config.stop, ws)?;
        let messages = local.ready.messages.iter().cloned();
        solution.messages.splice(..0, messages);
        solution.setup += local.ready.setup;
        if local.is_stale() {
            let message = "not converged, or more than twice the iterations of the matrix that was set up: \
                           the next one is set up anew";
            solution.messages.push(message.to_owned());
        }
        self.last = Some(local);
        Ok(solution)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{
        assert_has, blocks, chosen, config, counted, device, matrix, ones, solved, system,
    };
    use super::*;
    use crate::matrix::Csr;

    fn prepared(options: &str, a: Csr<f64>) -> Prepared<f64> {
        Prepared::new(config(options), system(a), &Workspace::new()).unwrap()
    }

    fn solve(prepared: &Prepared<f64>) -> Solution<f64> {
        let (b, stop) = (ones(prepared.matrix()), &prepared.config().stop);
        prepared.solve(&b, None, stop, &Workspace::new()).unwrap()
    }

    fn update(prepared: &mut Prepared<f64>, a: Csr<f64>) -> Result<()> {
        prepared.update_values(Arc::new(a), &Workspace::new())
    }

    fn applied(prepared: &Prepared<f64>) -> Result<Vec<f64>> {
        let r = ones(prepared.matrix());
        let mut z = Vector::zeros_like(&r)?;
        prepared.apply(&r, &mut z, &Workspace::new())?;
        Ok(z.to_vec())
    }

    const AMG: &str = "solver=cg preconditioner=amg";

    #[test]
    fn it_solves_as_a_solve_does() {
        for options in ["", AMG, "precision=sp", "preconditioner=ic0"] {
            let prepared = prepared(options, matrix("poisson5:40"));
            let system = system(matrix("poisson5:40"));
            let once = solved(options, &system, &ones(&system.matrix));
            for _ in 0..2 {
                let solution = solve(&prepared);
                assert_eq!(solution.x.to_vec(), once.x.to_vec());
                assert_eq!(solution.outcome.iterations, once.outcome.iterations);
            }
            assert_eq!(prepared.config(), &once.config);
        }
    }

    #[test]
    fn a_stencil_on_a_device_takes_other_values() {
        let Some(device) = device() else { return };
        let a = matrix("poisson7:14").copy_to(&device).unwrap();
        let mut prepared = prepared("", a.clone());
        assert_eq!(prepared.config().preconditioner.name(), "struct-mg");
        let once = solve(&prepared);
        update(&mut prepared, a.scale(2.0).unwrap()).unwrap();
        let half = solve(&prepared);
        assert!(once.outcome.converged() && half.outcome.converged());
        for (one, half) in once.x.to_vec().iter().zip(half.x.to_vec()) {
            assert!((one - 2.0 * half).abs() < 1e-6 * one.abs(), "{one}, {half}");
        }
    }

    #[test]
    fn a_cycle_is_linear_and_the_same_for_every_thread() {
        let prepared = prepared("", matrix("tet:6"));
        let once = applied(&prepared).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(applied(&prepared).unwrap(), once));
            }
        });
    }

    #[test]
    fn a_negative_system_is_applied_with_its_own_sign_and_what_varies_is_not() {
        let varying = prepared("preconditioner=amg:cycle=k", matrix("poisson5:40"));
        assert_has(applied(&varying).unwrap_err(), "varies");
        let a = matrix("poisson5:30");
        let minus = applied(&prepared("", a.scale(-1.0).unwrap())).unwrap();
        let negated: Vec<f64> = minus.iter().map(|value| -value).collect();
        assert_eq!(applied(&prepared("", a)).unwrap(), negated);
    }

    #[test]
    fn other_values_renew_the_levels_and_another_pattern_is_refused() {
        let mut prepared = prepared(AMG, matrix("poisson5:40"));
        let first = solve(&prepared);
        update(&mut prepared, matrix("poisson5:40").scale(3.0).unwrap()).unwrap();
        assert_has(prepared.messages().concat(), "reused");
        let second = solve(&prepared);
        assert_eq!(second.outcome.iterations, first.outcome.iterations);
        assert!((3.0 * second.x.to_vec()[0] - first.x.to_vec()[0]).abs() < 1e-6);
        let error = update(&mut prepared, matrix("poisson9:40")).unwrap_err();
        assert_has(error, "pattern");
        assert!(solve(&prepared).outcome.converged());
    }

    #[test]
    fn levels_that_do_not_suit_are_made_anew() {
        // The other direction is the strong one now: groups along the first are wrong.
        let [first, other] = ["aniso5:64,0.001", "aniso5:64,0.001,90"];
        let mut prepared = prepared(AMG, matrix(first));
        assert!(solve(&prepared).outcome.converged());
        update(&mut prepared, matrix(other)).unwrap();
        assert!(solve(&prepared).outcome.converged());
        update(&mut prepared, matrix(other)).unwrap();
        assert!(!prepared.messages().concat().contains("reused"));
        let mut steps = Steps::new(AMG);
        steps.of(first, 1.0);
        assert_has(steps.of(other, 1.0).0, "reused|anew");
        assert!(!steps.of(other, 1.0).0.contains("reused"));
    }

    #[test]
    fn where_the_first_attempt_fails_the_next_is_made() {
        // The blocks are indefinite, which CG finds out.
        let prepared = prepared("preconditioner=none", blocks(2.0, 8));
        let (b, stop) = (counted(prepared.matrix()), &prepared.config().stop);
        let solution = prepared.solve(&b, None, stop, &Workspace::new()).unwrap();
        assert!(solution.outcome.converged(), "{:?}", solution.messages);
        assert_eq!(chosen(&solution.config), "minres+none");
    }

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

    #[test]
    fn equal_patterns_share_a_set_up_and_others_do_not() {
        let mut steps = Steps::new(AMG);
        let (message, first) = steps.of("poisson5:40", 1.0);
        assert!(!message.contains("reused"));
        let (message, second) = steps.of("poisson5:40", 3.0);
        assert_eq!(message, "multigrid: 2 levels of an earlier set-up reused");
        assert_eq!(second, first);
        for other in ["poisson9:40", "poisson5:41"] {
            let (message, _) = steps.of(other, 1.0);
            assert_has(message, "multigrid: set up anew: update of values");
        }
    }

    #[test]
    fn structured_multigrid_and_factors_are_shared_as_well() {
        let mut steps = Steps::new("solver=cg preconditioner=struct-mg");
        let (_, first) = steps.of("poisson7:8", 1.0);
        let (message, second) = steps.of("poisson7:8", 1e8);
        assert_has(message, "of an earlier set-up reused|scaled into the range");
        assert!(first.abs_diff(second) <= 1, "{first} {second}");
        for other in ["poisson27:8", "poisson7:9"] {
            assert_has(steps.of(other, 1.0).0, "set up anew");
        }
        if cfg!(feature = "direct") {
            let mut steps = Steps::new("solver=direct");
            assert!(!steps.of("poisson5:12", 1.0).0.contains("reused"));
            assert_has(steps.of("poisson5:12", 3.0).0, "fill of an earlier");
            assert_has(steps.of("poisson9:12", 1.0).0, "direct: set up anew");
        }
    }

    #[test]
    fn a_space_is_recycled_from_matrix_to_matrix() {
        let mut steps = Steps::new("solver=gcro-dr preconditioner=jacobi");
        let [first, second] = [1.0, 1.5].map(|factor| steps.of("poisson5:24", factor).1);
        assert!(4 * second < 3 * first, "{second} {first}");
    }
}
