//! A set-up over ranks that is kept.

use std::sync::Arc;
use std::time::Duration;

use super::SharedSystem;
use super::led::{self, Led};
use super::parts::Parts;
use crate::configuration::{Config, StopConfig};
use crate::driver::Solution;
use crate::driver::storage::Wide;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{Size, check_size};
use crate::multigrid::Report;
use crate::vector::Vector;

/// [`Prepared`](crate::driver::Prepared) for systems whose rows several ranks share: set up once, solved and applied often. All
/// ranks call everything together.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{communicator::threads, config::{Config, SharedPrepared, SharedSystem}};
/// use vcycle::{executor::{Executor, Workspace}, matrix::{Distributed, Duplicates}, vector::Vector};
/// threads::run(2, |team| {
///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
///     let own = team.rank() as u64;
///     let a = Distributed::from_rows(&rank, vec![0, 2], vec![own, 1 - own], vec![2.0, -1.0], Duplicates::Refuse)?;
///     let ws = Workspace::new();
///     let prepared = SharedPrepared::new(&Config::default(), SharedSystem::new(Arc::new(a)), &ws)?;
///     let b = Vector::filled(&rank, 1, 1, 1.0)?;
///     let solution = prepared.solve(&b, None, &prepared.config().stop, &ws)?;
///     assert!(solution.outcome.converged());
///     Ok(())
/// })?;
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedPrepared<T: Wide = f64> {
    given: SharedSystem<T>,
    kind: Kind<T>,
}

/// Who has set up.
#[derive(Debug)]
enum Kind<T: Wide> {
    /// All ranks.
    Parts(Box<Parts<T>>),
    /// Rank 0 for all.
    Led(Box<Led<T>>),
}

impl<T: Wide> SharedPrepared<T> {
    /// Sets up what `config` says, or the best choice where it says `auto`.
    ///
    /// # Errors
    /// As [`solve_shared`](super::solve_shared).
    pub fn new(config: &Config, given: SharedSystem<T>, ws: &Workspace) -> Result<Self> {
        let kind = match led::is_meant(config, &given.matrix)? {
            true => Kind::Led(Box::new(Led::new(config, &given, ws)?)),
            false => Kind::Parts(Box::new(Parts::new(config, given.clone(), ws)?)),
        };
        Ok(Self { given, kind })
    }

    /// Takes other values for the entries of own rows, in the order of [`Distributed::local`](crate::matrix::Distributed::local):
    /// the levels of multigrid are [renewed](crate::multigrid::Setup), everything else is set up anew. Where the last solve
    /// took more than twice the iterations of the first, so are the levels.
    ///
    /// # Errors
    /// For another number of values, and as [`new`](Self::new). The old set-up then stays.
    pub fn update_values(&mut self, values: Vec<T>, ws: &Workspace) -> Result<()> {
        let before = &self.given.matrix;
        let mut given = self.given.clone();
        given.matrix = Arc::new(before.team().agree(before.with_values(values))?);
        match &mut self.kind {
            Kind::Parts(parts) => parts.update(given.clone(), ws)?,
            Kind::Led(led) => led.update(&given.matrix, ws)?,
        }
        self.given = given;
        Ok(())
    }

    /// Solves for own rows of one or many right-hand sides, from a guess or from zero. Where the first choice does not converge,
    /// [`solve_shared`](super::solve_shared) goes on with the others.
    ///
    /// # Errors
    /// When operands do not fit the matrix, or another rank has failed. Not converging is no error.
    pub fn solve(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let fitting = Size::new(self.rows(), b.cols());
        let fits = check_size("right-hand side", fitting, b.size()).and_then(|()| match guess {
            Some(guess) => check_size("initial guess", fitting, guess.size()),
            None => Ok(()),
        });
        self.given.matrix.team().agree(fits)?;
        match &self.kind {
            Kind::Parts(parts) => parts.solve(b, guess, stop, ws),
            Kind::Led(led) => led.solve(b, guess, stop, ws),
        }
    }

    /// `z = M r`: the preconditioner alone, for own rows.
    ///
    /// # Errors
    /// For a preconditioner that varies, vectors of another length, and when another rank has failed.
    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let fitting = Size::new(self.rows(), r.cols());
        let fits = check_size("residual", fitting, r.size())
            .and_then(|()| check_size("preconditioned residual", fitting, z.size()));
        self.given.matrix.team().agree(fits)?;
        match &self.kind {
            Kind::Parts(parts) => parts.apply(r, z, ws),
            Kind::Led(led) => led.apply(r, z, ws),
        }
    }

    /// Own rows of the matrix.
    pub fn rows(&self) -> usize {
        self.given.matrix.size().rows
    }

    /// The rows of this rank.
    pub fn system(&self) -> &SharedSystem<T> {
        &self.given
    }

    /// The configuration with every `auto` decided.
    pub fn config(&self) -> &Config {
        match &self.kind {
            Kind::Parts(parts) => parts.config(),
            Kind::Led(led) => led.config(),
        }
    }

    /// What `auto` chose and why, and what else is to be said of the set-up.
    pub fn messages(&self) -> &[String] {
        match &self.kind {
            Kind::Parts(parts) => parts.messages(),
            Kind::Led(led) => led.messages(),
        }
    }

    /// The levels, where the preconditioner is multigrid; on rank 0 alone where that has set up for all.
    pub fn report(&self) -> Option<&Report> {
        match &self.kind {
            Kind::Parts(parts) => parts.report(),
            Kind::Led(led) => led.report(),
        }
    }

    /// Time of the set-up.
    pub fn setup(&self) -> Duration {
        match &self.kind {
            Kind::Parts(parts) => parts.setup(),
            Kind::Led(led) => led.setup(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::matrix::{Distributed, Partition};

    #[test]
    fn other_values_renew_the_levels_of_all_ranks() {
        let whole = gallery::build("poisson5:40", &Executor::cpu())
            .unwrap()
            .matrix;
        threads::run(2, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let a = Distributed::part_of(&rank, &whole, Partition::even(1600, 1, 2))?;
            let values = a.local().values().to_vec();
            let (ws, config) = (Workspace::new(), Config::default());
            let mut prepared = SharedPrepared::new(&config, SharedSystem::new(Arc::new(a)), &ws)?;
            let b = Vector::filled(&rank, prepared.rows(), 1, 1.0)?;
            let first = prepared.solve(&b, None, &config.stop, &ws)?;
            // Negative values, too: -2 A x = b.
            prepared.update_values(values.iter().map(|value| -2.0 * value).collect(), &ws)?;
            assert!(
                prepared
                    .messages()
                    .concat()
                    .contains("levels of an earlier set-up reused")
            );
            let second = prepared.solve(&b, None, &config.stop, &ws)?;
            assert_eq!(second.outcome.iterations, first.outcome.iterations);
            for (x, y) in first.x.to_vec().into_iter().zip(second.x.to_vec()) {
                assert!((x + 2.0 * y).abs() <= 1e-6 * x.abs().max(1.0));
            }
            assert!(prepared.update_values(vec![1.0], &ws).is_err());
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn structured_multigrid_takes_other_values_on_all_ranks() {
        let whole = gallery::build("poisson7:17", &Executor::cpu())
            .unwrap()
            .matrix;
        threads::run(2, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let a = Distributed::part_of(&rank, &whole, Partition::even(4913, 1, 2))?;
            let twice: Vec<f64> = a.local().values().iter().map(|value| 2.0 * value).collect();
            let (ws, system) = (Workspace::new(), SharedSystem::new(Arc::new(a)));
            // One finds the cells of the grid first; of the other rank 0 has them all.
            for given in ["struct-mg", "auto", "struct-mg:gather-cells=9999"] {
                let config = Config::from_toml(&format!("preconditioner = \"{given}\""))?;
                let mut prepared = SharedPrepared::new(&config, system.clone(), &ws)?;
                assert_eq!(prepared.config().preconditioner.name(), "struct-mg");
                let b = Vector::filled(&rank, prepared.rows(), 1, 1.0)?;
                let first = prepared.solve(&b, None, &config.stop, &ws)?;
                prepared.update_values(twice.clone(), &ws)?;
                let told = prepared.messages().concat();
                assert!(
                    told.contains("levels of an earlier set-up reused"),
                    "{told}"
                );
                let second = prepared.solve(&b, None, &config.stop, &ws)?;
                assert_eq!(second.outcome.iterations, first.outcome.iterations);
                let pairs = first.x.to_vec().into_iter().zip(second.x.to_vec());
                assert!(
                    pairs
                        .into_iter()
                        .all(|(x, y)| (x - 2.0 * y).abs() <= 1e-6 * x.abs())
                );
            }
            Ok(())
        })
        .unwrap();
    }

    /// Ranks that use the same device share a grid where they are told to.
    #[test]
    fn structured_multigrid_takes_other_values_on_the_devices_of_ranks() {
        let Some(device) = vcycle_core::testing::device() else {
            return;
        };
        let whole = gallery::build("poisson7:5x6x13", &Executor::cpu())
            .unwrap()
            .matrix;
        let given = "preconditioner = \"struct-mg:gather-cells=0,coarsest-cells=30\"";
        threads::run(2, |team| {
            let rank = device.with_team(&team)?;
            let a = Distributed::part_of(&rank, &whole, Partition::even(390, 1, 2))?;
            let twice = a.local().values().iter().map(|value| 2.0 * value).collect();
            let (ws, system) = (Workspace::new(), SharedSystem::new(Arc::new(a)));
            let config = Config::from_toml(given)?;
            let mut prepared = SharedPrepared::new(&config, system, &ws)?;
            assert!(!prepared.messages().concat().contains("solves for all"));
            let b = Vector::filled(&rank, prepared.rows(), 1, 1.0)?;
            let first = prepared.solve(&b, None, &config.stop, &ws)?;
            assert!(first.outcome.converged() && first.outcome.iterations < 9);
            let report = first.multigrid.expect("levels that are shared");
            assert!(report.levels[0].part.is_some());
            prepared.update_values(twice, &ws)?;
            let second = prepared.solve(&b, None, &config.stop, &ws)?;
            assert_eq!(second.outcome.iterations, first.outcome.iterations);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn vectors_of_another_length_on_one_rank_are_refused_on_all() {
        let whole = gallery::build("poisson5:8", &Executor::cpu())
            .unwrap()
            .matrix;
        let devices = vcycle_core::testing::device();
        for place in [Executor::cpu_with_threads(1).unwrap()]
            .into_iter()
            .chain(devices)
        {
            threads::run(2, |team| {
                let rank = place.with_team(&team)?;
                let a = Distributed::part_of(&rank, &whole, Partition::even(64, 1, 2))?;
                let (ws, config) = (Workspace::new(), Config::default());
                let prepared = SharedPrepared::new(&config, SharedSystem::new(Arc::new(a)), &ws)?;
                let of = |rows| Vector::filled(&rank, rows, 1, 1.0);
                let short = 32 - team.rank();
                assert!(prepared.apply(&of(short)?, &mut of(32)?, &ws).is_err());
                assert!(prepared.apply(&of(32)?, &mut of(short)?, &ws).is_err());
                prepared.apply(&of(32)?, &mut of(32)?, &ws)
            })
            .unwrap();
        }
    }
}
