//! Systems that rank 0 solves for all: ranks that use the same device gain nothing from sharing the work, and the direct
//! solver factorises on one rank.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::local_setup::LocalSetup;
use super::{Solution, System, SystemMatrix, Wide};
use crate::communicator::Communicator;
use crate::configuration::{Config, SolverConfig, StopConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::matrix::Distributed;
use crate::multigrid::{NearNullspace, Report};
use crate::stop::{ColumnOutcome, Outcome, Status};
use crate::vector::Vector;

/// What rank 0 has set up for all.
#[derive(Debug)]
pub(super) struct SolvedOnRoot<T: Wide> {
    /// Own rows as they were given.
    matrix: Arc<Distributed<T>>,
    /// The system of all rows and its set-up, on rank 0; none on the others.
    local: Option<(System<T>, LocalSetup<T>)>,
    pub summary: Summary,
}

/// How rank 0 has set up or solved; floating-point numbers are sent by their bits, as JSON has no infinity.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Summary {
    /// Every `auto` decided.
    pub config: Config,
    pub messages: Vec<String>,
    pub bytes: usize,
    pub time: Duration,
    /// Of a solve: status, iterations, and the numbers of each column.
    columns: Vec<(Status, usize, [u64; 5])>,
    history: Vec<u64>,
}

/// The rows of this rank where rank 0 solves for all. All ranks call it together.
pub(super) fn gathering<'a, T: Wide>(
    config: &Config,
    matrix: &'a SystemMatrix<T>,
) -> Result<Option<&'a Arc<Distributed<T>>>> {
    let is_small = |a: &&Arc<_>| u32::try_from(Distributed::rows(a).total()).is_ok();
    let may_be = matrix.shared().filter(is_small);
    match may_be.filter(|_| config.gathers_on_one_device()) {
        Some(a) if is_direct(config) || a.executor().is_device_of_all()? => Ok(Some(a)),
        _ => Ok(None),
    }
}

fn is_direct(config: &Config) -> bool {
    matches!(config.solver, SolverConfig::Direct(_))
}

/// Sets up and solves.
pub(super) fn solve<T: Wide>(
    config: &Config,
    system: &System<T>,
    a: &Arc<Distributed<T>>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    let first = a.team().traffic();
    let root = SolvedOnRoot::new(config, system, a, ws)?;
    let then = a.team().traffic();
    let mut solution = root.solve(b, system.guess.as_ref(), &config.stop, ws)?;
    solution.setup = root.summary.time;
    // The first message is that of the set-up, too.
    let known = sharing(a).iter().count();
    solution
        .messages
        .splice(..known, root.summary.messages.iter().cloned());
    solution.traffic = Some([then.since(&first), a.team().traffic().since(&then)]);
    Ok(solution)
}

impl<T: Wide> SolvedOnRoot<T> {
    /// Gathers the matrix, and sets up.
    pub fn new(
        config: &Config,
        given: &System<T>,
        a: &Arc<Distributed<T>>,
        ws: &Workspace,
    ) -> Result<Self> {
        let begin = Instant::now();
        let near = gathered_near(a, given.near_nullspace.as_ref())?;
        let place = a.executor().gathering();
        let made = a.gathered()?.map(|matrix| {
            let mut system = System::new(Arc::new(matrix.into_executor(&place)?));
            system.near_nullspace = near;
            system.single = given.single;
            let local = LocalSetup::new(config.clone(), &system, Default::default(), 1, ws)?;
            Ok((system, local))
        });
        let local = a.team().agree(made.transpose())?;
        let summary = Summary::of_setup(a, local.as_ref(), begin)?;
        Ok(Self {
            summary,
            matrix: Arc::clone(a),
            local,
        })
    }

    /// Takes other values for the same entries.
    pub fn update(&mut self, after: &SystemMatrix<T>, ws: &Workspace) -> Result<()> {
        let begin = Instant::now();
        let after = after.shared().expect("rows that ranks share");
        let values = after.gathered_values(after.local().values())?;
        let updated = self.local.as_mut().map(|(system, local)| {
            let matrix = system.matrix.with_values(values)?;
            let system_after = System {
                matrix,
                ..system.clone()
            };
            local.update(&system_after, ws)?;
            *system = system_after;
            Ok(())
        });
        after.team().agree(updated.transpose())?;
        self.summary = Summary::of_setup(after, self.local.as_ref(), begin)?;
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
        let begin = Instant::now();
        let all = self.gathered(b)?;
        let guess = guess.map(|guess| self.gathered(guess)).transpose()?;
        let guess = guess.flatten();
        let solved = self.on_root(all.as_ref(), |(system, local), b| {
            local.solve(system, b, guess.as_ref(), stop, ws)
        })?;
        let x = self.spread(solved.as_ref().map(|solved| &solved.x), b.cols())?;
        let summary = solved.as_ref().map(Summary::of_solution);
        let summary = Summary::broadcast(self.matrix.team().as_ref(), summary)?;
        let sharing = sharing(&self.matrix).into_iter();
        Ok(Solution {
            x,
            outcome: summary.outcome(),
            config: summary.config,
            messages: sharing.chain(summary.messages).collect(),
            setup: Duration::ZERO,
            solving: begin.elapsed(),
            bytes: summary.bytes,
            estimated_bytes: solved.as_ref().map_or(0, |solved| solved.estimated_bytes),
            multigrid: solved.and_then(|solved| solved.multigrid),
            traffic: None,
        })
    }

    /// The preconditioner of rank 0 for the rows of all.
    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let all = self.gathered(r)?;
        let applied = self.on_root(all.as_ref(), |(_, local), r| {
            let mut z = Vector::zeros_like(r)?;
            local.apply(r, &mut z, ws)?;
            Ok(z)
        })?;
        *z = self.spread(applied.as_ref(), r.cols())?;
        Ok(())
    }

    /// The levels, on rank 0.
    pub fn report(&self) -> Option<&Report> {
        let (_, local) = self.local.as_ref()?;
        local.ready.made.multigrid.as_ref()
    }

    /// What rank 0 makes of a vector that it has gathered, if no rank has failed.
    fn on_root<R>(
        &self,
        all: Option<&Vector<T>>,
        work: impl FnOnce(&(System<T>, LocalSetup<T>), &Vector<T>) -> Result<R>,
    ) -> Result<Option<R>> {
        let made = self.local.as_ref().zip(all);
        let made = made.map(|(local, all)| work(local, all));
        self.matrix.team().agree(made.transpose())
    }

    /// The rows of all ranks, where rank 0 has set up; none on the others.
    fn gathered(&self, own: &Vector<T>) -> Result<Option<Vector<T>>> {
        let values = self.matrix.gathered_values(&own.to_vec())?;
        let place = self.local.as_ref();
        let place = place.map(|(system, _)| system.matrix.executor());
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

/// The first message, where there are several ranks.
fn sharing<T: Wide>(a: &Distributed<T>) -> Option<String> {
    let (ranks, device) = (a.team().size(), a.executor().name());
    (ranks > 1).then(|| match a.executor().is_device() {
        true => format!("{ranks} ranks share {device}: rank 0 solves for all"),
        false => format!("direct: rank 0 of {ranks} solves for all"),
    })
}

impl Summary {
    fn new(config: &Config, messages: Vec<String>, bytes: usize, time: Duration) -> Self {
        Self {
            config: config.clone(),
            messages,
            bytes,
            time,
            columns: Vec::new(),
            history: Vec::new(),
        }
    }

    /// How rank 0 has set up, and how long it took, sent to all.
    fn of_setup<T: Wide>(
        a: &Distributed<T>,
        local: Option<&(System<T>, LocalSetup<T>)>,
        begin: Instant,
    ) -> Result<Self> {
        let summary = local.map(|(_, local)| {
            let (ready, mut messages) = (&local.ready, Vec::from_iter(sharing(a)));
            messages.extend_from_slice(&ready.messages);
            let made = &ready.made;
            Self::new(&made.config, messages, made.bytes, begin.elapsed())
        });
        Self::broadcast(a.team().as_ref(), summary)
    }

    fn of_solution<T>(solution: &Solution<T>) -> Self {
        let (config, outcome) = (&solution.config, &solution.outcome);
        let column = |column: &ColumnOutcome| {
            let numbers = [
                column.relative_residual,
                column.recurrence_residual,
                column.backward_error,
                column.condition,
                column.outside_range,
            ];
            (column.status, column.iterations, numbers.map(f64::to_bits))
        };
        Self {
            columns: outcome.columns.iter().map(column).collect(),
            history: outcome.history.iter().map(|norm| norm.to_bits()).collect(),
            ..Self::new(
                config,
                solution.messages.clone(),
                solution.bytes,
                outcome.elapsed,
            )
        }
    }

    fn outcome(&self) -> Outcome {
        let column = |&(status, iterations, numbers): &(Status, usize, [u64; 5])| {
            let numbers = numbers.map(f64::from_bits);
            ColumnOutcome {
                status,
                iterations,
                relative_residual: numbers[0],
                recurrence_residual: numbers[1],
                backward_error: numbers[2],
                condition: numbers[3],
                outside_range: numbers[4],
            }
        };
        let columns = self.columns.iter().map(column).collect();
        let history = self.history.iter().copied().map(f64::from_bits).collect();
        Outcome::from_columns(columns, history, self.time)
    }

    /// What rank 0 sends; the others send nothing. All ranks call it together.
    fn broadcast(team: &dyn Communicator, own: Option<Self>) -> Result<Self> {
        let own = own.map(|own| serde_json::to_vec(&own).expect("plain data"));
        let all = team.all_gather(&own.unwrap_or_default())?;
        let unread = |error| Error::Team(format!("what rank 0 sends cannot be read: {error}"));
        serde_json::from_slice(&all[0]).map_err(unread)
    }
}

/// What is known of the unknowns of all rows, on rank 0.
fn gathered_near<T: Wide>(
    a: &Distributed<T>,
    own: Option<&NearNullspace>,
) -> Result<Option<NearNullspace>> {
    let team = a.team();
    let vectors = own.map_or(&[][..], NearNullspace::vectors);
    let block = own.map_or(0, NearNullspace::block_size);
    let what = "near-nullspace vectors or unknowns per node";
    team.check_same(what, &[block, vectors.len()])?;
    let gathered = vectors.iter().map(|vector| a.gathered_values(vector));
    let all = gathered.collect::<Result<Vec<_>>>()?;
    let is_known = own.is_some() && team.rank() == 0;
    let made = is_known.then(|| NearNullspace::new(block, all));
    team.agree(made.transpose())
}
