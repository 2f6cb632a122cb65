//! Systems that one rank solves for all: ranks that use the same device gain nothing from sharing the work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SharedSystem;
use super::told::{DecidedText, SetUp, Solved, by_first};
use crate::configuration::{Config, StopConfig};
use crate::driver::storage::Wide;
use crate::driver::{Prepared, Solution, System};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::matrix::{Csr, Distributed};
use crate::multigrid::{NearNullspace, Report};
use crate::vector::Vector;

/// What rank 0 has set up for all.
#[derive(Debug)]
pub(super) struct Led<T: Wide> {
    /// Own rows as they were given.
    matrix: Arc<Distributed<T>>,
    /// That of rank 0; none on the others.
    prepared: Option<Prepared<T>>,
    /// Every `auto` decided.
    config: Config,
    told: SetUp,
}

/// Whether rank 0 solves for all. All ranks call it together.
pub(super) fn is_meant<T: Wide>(config: &Config, a: &Distributed<T>) -> Result<bool> {
    let is_small = u32::try_from(a.rows().total()).is_ok();
    let may_be = is_small && config.gathers_on_one_device();
    Ok(may_be && a.executor().is_device_of_all()?)
}

/// Sets up and solves.
pub(super) fn solve<T: Wide>(
    config: &Config,
    system: &SharedSystem<T>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    let team = system.matrix.team();
    let first = team.traffic();
    let led = Led::new(config, system, ws)?;
    let then = team.traffic();
    let mut solution = led.solve(b, system.guess.as_ref(), &config.stop, ws)?;
    solution.setup = led.setup();
    // The first sentence is that of the set-up, too.
    let known = sharing(&led.matrix).iter().count();
    let all = led.messages().iter().cloned();
    solution.messages.splice(..known, all);
    solution.traffic = Some([then.since(&first), team.traffic().since(&then)]);
    Ok(solution)
}

impl<T: Wide> Led<T> {
    /// Gathers the matrix, and sets up.
    pub fn new(config: &Config, given: &SharedSystem<T>, ws: &Workspace) -> Result<Self> {
        let begin = Instant::now();
        let (a, team) = (&given.matrix, given.matrix.team());
        let near = gathered_near(a, given.near_nullspace.as_ref())?;
        let whole = a.gathered()?;
        let place = a.executor().gathering();
        let made = whole.map(|matrix| prepared(config, matrix, near, &place, ws));
        let prepared = team.agree(made.transpose())?;
        let told = told(a, prepared.as_ref(), begin)?;
        Ok(Self {
            config: told.config.read()?,
            told,
            matrix: Arc::clone(a),
            prepared,
        })
    }

    /// Takes other values for the same entries: `after` is the matrix that has them.
    pub fn update(&mut self, after: &Arc<Distributed<T>>, ws: &Workspace) -> Result<()> {
        let begin = Instant::now();
        let values = after.gathered_values(after.local().values())?;
        let team = Arc::clone(after.team());
        let updated = self.prepared.as_mut().map(|prepared| {
            let matrix = Csr::with_pattern(prepared.matrix().pattern(), values)?;
            prepared.update_values(Arc::new(matrix), ws)
        });
        team.agree(updated.transpose())?;
        self.told = told(after, self.prepared.as_ref(), begin)?;
        self.config = self.told.config.read()?;
        self.matrix = Arc::clone(after);
        Ok(())
    }

    /// Gathers right-hand sides, solves, and sends every rank its rows.
    pub fn solve(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let (team, begin) = (self.matrix.team(), Instant::now());
        let all = self.gathered(b)?;
        let guess = guess.map(|guess| self.gathered(guess)).transpose()?;
        let guess = guess.flatten();
        let solved = self.led(all.as_ref(), |prepared, b| {
            prepared.solve(b, guess.as_ref(), stop, ws)
        })?;
        let x = self.spread(solved.as_ref().map(|solved| &solved.x), b.cols())?;
        let told = solved.as_ref().map(Solved::new);
        let told = by_first(team.as_ref(), told.as_ref())?;
        Ok(Solution {
            x,
            outcome: told.outcome(),
            config: told.config.read()?,
            messages: sharing(&self.matrix)
                .into_iter()
                .chain(told.messages)
                .collect(),
            setup: Duration::ZERO,
            solving: begin.elapsed(),
            bytes: told.bytes,
            multigrid: solved.and_then(|solved| solved.multigrid),
            traffic: None,
        })
    }

    /// The preconditioner of rank 0 for the rows of all.
    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let all = self.gathered(r)?;
        let applied = self.led(all.as_ref(), |prepared, r| {
            let mut z = Vector::zeros_like(r)?;
            prepared.apply(r, &mut z, ws)?;
            Ok(z)
        })?;
        *z = self.spread(applied.as_ref(), r.cols())?;
        Ok(())
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn messages(&self) -> &[String] {
        &self.told.messages
    }

    pub fn setup(&self) -> Duration {
        self.told.setup
    }

    /// The levels, on rank 0.
    pub fn report(&self) -> Option<&Report> {
        self.prepared.as_ref().and_then(Prepared::report)
    }

    /// What rank 0 makes of a vector that it has gathered, if no rank has failed.
    fn led<R>(
        &self,
        all: Option<&Vector<T>>,
        work: impl FnOnce(&Prepared<T>, &Vector<T>) -> Result<R>,
    ) -> Result<Option<R>> {
        let made = self.prepared.as_ref().zip(all);
        let made = made.map(|(prepared, all)| work(prepared, all));
        self.matrix.team().agree(made.transpose())
    }

    /// The rows of all ranks, where rank 0 has set up; none on the others.
    fn gathered(&self, own: &Vector<T>) -> Result<Option<Vector<T>>> {
        let values = self.matrix.gathered_values(&own.to_vec())?;
        let place = self.prepared.as_ref();
        let place = place.map(|prepared| prepared.matrix().executor());
        let made = place.map(|place| Vector::from_rows(place, own.cols(), values));
        self.matrix.team().agree(made.transpose())
    }

    /// Own rows of what rank 0 has.
    fn spread(&self, all: Option<&Vector<T>>, cols: usize) -> Result<Vector<T>> {
        let all = all.map(Vector::to_vec);
        let own = self.matrix.spread_values(all.as_deref(), cols)?;
        let own = Vector::from_rows(self.matrix.executor(), cols, own);
        self.matrix.team().agree(own)
    }
}

fn prepared<T: Wide>(
    config: &Config,
    matrix: Csr<T>,
    near_nullspace: Option<NearNullspace>,
    place: &Executor,
    ws: &Workspace,
) -> Result<Prepared<T>> {
    let mut system = System::new(Arc::new(matrix.into_executor(place)?));
    system.near_nullspace = near_nullspace;
    Prepared::new(config.clone(), system, ws)
}

/// What is said first, where there are several ranks.
fn sharing<T: Wide>(a: &Distributed<T>) -> Option<String> {
    let (ranks, device) = (a.team().size(), a.executor().name());
    (ranks > 1).then(|| format!("{ranks} ranks share {device}: rank 0 solves for all"))
}

/// What is said of a set-up, whose it is above all, and how long it took.
fn told<T: Wide>(
    a: &Distributed<T>,
    prepared: Option<&Prepared<T>>,
    begin: Instant,
) -> Result<SetUp> {
    let told = prepared.map(|prepared| SetUp {
        config: DecidedText::new(prepared.config()),
        messages: sharing(a)
            .into_iter()
            .chain(prepared.messages().iter().cloned())
            .collect(),
        setup: begin.elapsed(),
    });
    by_first(a.team().as_ref(), told.as_ref())
}

/// What is known of the unknowns of all rows, on rank 0.
fn gathered_near<T: Wide>(
    a: &Distributed<T>,
    own: Option<&NearNullspace>,
) -> Result<Option<NearNullspace>> {
    let team = a.team();
    let vectors = own.map_or(&[][..], NearNullspace::vectors);
    let block = own.map_or(0, NearNullspace::block_size);
    let known = [block, vectors.len()].map(|count| (count as u64).to_ne_bytes());
    if team.alike(known.as_flattened())?.1 < team.size() {
        let reason = "ranks were told different numbers of vectors or unknowns of a node";
        return Err(Error::Team(reason.to_owned()));
    }
    let all: Result<Vec<_>> = vectors
        .iter()
        .map(|vector| a.gathered_values(vector))
        .collect();
    let all = all?;
    let is_known = own.is_some() && team.rank() == 0;
    let made = is_known.then(|| NearNullspace::new(block, all));
    team.agree(made.transpose())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::config::{SharedPrepared, solve_shared};
    use crate::gallery::{self, Problem};
    use crate::matrix::Partition;

    /// The rows of this rank of a problem.
    fn part(rank: &Executor, problem: &Problem) -> Result<(SharedSystem, Vector<f64>)> {
        let team = rank.team().expect("a rank has a team");
        let rows = Partition::even(problem.rhs.len() as u64, 3, team.size());
        let own = rows.range(team.rank());
        let own = own.start as usize..own.end as usize;
        let a = Distributed::part_of(rank, &problem.matrix, rows)?;
        let near = problem.near_nullspace.as_ref().expect("rigid bodies");
        let vectors = near.vectors().iter();
        let vectors = vectors.map(|vector| vector[own.clone()].to_vec()).collect();
        let system = SharedSystem::new(Arc::new(a));
        let near = NearNullspace::new(3, vectors)?;
        let b = Vector::from_column(rank, problem.rhs[own].to_vec());
        Ok((system.with_near_nullspace(near), b))
    }

    #[test]
    fn ranks_of_one_device_get_what_it_solves_alone() {
        let Some(device) = vcycle_core::testing::device() else {
            return;
        };
        let problem = gallery::build("elasticity:6x3x3", &Executor::cpu()).unwrap();
        let text = "solver = \"cg\"\npreconditioner = \"amg:mis2,smoother=jacobi,precision=dp\"";
        let (config, ws) = (Config::from_toml(text).unwrap(), Workspace::new());
        let near = problem.near_nullspace.clone();
        let matrix = problem.matrix.copy_to(&device).unwrap();
        let b = Vector::from_column(&device, problem.rhs.clone());
        let mut alone = System::new(Arc::new(matrix));
        alone.near_nullspace = near;
        let alone = Prepared::new(config.clone(), alone, &ws).unwrap();
        let expected = alone.solve(&b, None, &config.stop, &ws).unwrap();
        let mut applied = Vector::zeros_like(&b).unwrap();
        alone.apply(&b, &mut applied, &ws).unwrap();
        threads::run(2, |team| {
            let rank = device.with_team(&team)?;
            let (system, b) = part(&rank, &problem)?;
            let whole = |x: &Vector<f64>| system.matrix.gathered_values(&x.to_vec());
            let leads = team.rank() == 0;
            let ws = Workspace::new();
            let once = solve_shared(&config, &system, &b, &ws)?;
            let mut kept = SharedPrepared::new(&config, system.clone(), &ws)?;
            let again = kept.solve(&b, None, &config.stop, &ws)?;
            for found in [&once, &again] {
                let first = |told: &&String| told.contains("rank 0 solves for all");
                assert_eq!(found.messages.iter().filter(first).count(), 1);
                assert!(found.outcome.history == expected.outcome.history);
                assert_eq!(found.config.preconditioner, expected.config.preconditioner);
                assert_eq!(found.multigrid.is_some(), leads);
                let x = whole(&found.x)?;
                assert!(!leads || x == expected.x.to_vec());
            }
            let mut z = Vector::zeros_like(&b)?;
            kept.apply(&b, &mut z, &ws)?;
            let z = whole(&z)?;
            assert!(!leads || z == applied.to_vec());
            let twice = system.matrix.local().values().iter();
            kept.update_values(twice.map(|value| 2.0 * value).collect(), &ws)?;
            let half = kept.solve(&b, None, &config.stop, &ws)?;
            let pairs = half.x.to_vec().into_iter().zip(once.x.to_vec());
            let size = once
                .x
                .to_vec()
                .into_iter()
                .fold(0.0, |a: f64, b| a.max(b.abs()));
            assert!(
                pairs
                    .into_iter()
                    .all(|(half, x)| (2.0 * half - x).abs() < 1e-6 * size)
            );
            Ok(())
        })
        .unwrap();
    }
}
