//! Solves by several ranks: processes under MPI, or threads.

use std::cell::Cell;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use vcycle::Error;
use vcycle::communicator::{Communicator, mpi, threads};
use vcycle::config::{AnySystem, Config, PreconditionerConfig, SharedSystem, System, solve_shared};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::io::write_vector;
use vcycle::log::{ChromeTrace, Profile};
use vcycle::matrix::{Csr, Distributed, GridOrder, Partition, Permutation};
use vcycle::multigrid::NearNullspace;
use vcycle::vector::Vector;

use super::file_parts::FileParts;
use super::files::{Written, write_files};
use super::order::{Renumbered, of_grid, order};
use super::records::Records;
use super::task::{Reading, Task, show};
use crate::args::{PartitionKind, SolveArgs};
use crate::error::{CliError, Result};
use crate::output::overview::overview;
use crate::output::print;
use crate::output::progress::Progress;
use crate::output::summary::{Extent, RankSummary, Summary};

/// A system as one rank or all of them have read it.
struct Whole {
    matrix: Arc<Csr<f64>>,
    near_nullspace: Option<NearNullspace>,
    b: Vector<f64>,
    guess: Option<Vector<f64>>,
    /// The order that all of these are in, if not their own.
    order: Option<Permutation>,
    reading: Reading,
}

/// What rank 0 has to show.
struct Answer {
    summary: Summary,
    x: Vector<f64>,
    solution: vcycle::config::Solution<f64>,
    profile: Profile,
    trace: ChromeTrace,
}

/// How ranks are told of what a rank has read.
enum Known<'w> {
    /// Every rank knows it.
    ByAll(&'w Whole),
    /// Rank 0 knows it, and spreads it.
    ByFirst(Option<&'w Whole>),
    /// Every rank makes its own rows, and gets others where these are in another order.
    InParts(&'w str, Option<GridOrder>),
    /// Every rank reads its part of a file.
    OfFile(&'w FileParts),
}

/// Solves with ranks that are threads.
pub fn by_threads(args: &SolveArgs, config: &Config, ranks: usize) -> Result<ExitCode> {
    check_partition(args, config)?;
    let host = host(config)?;
    let in_parts = in_parts(args);
    let order = order_of_parts(args, in_parts)?;
    let file = match FileParts::is_meant(args) {
        true => Some(FileParts::new(args, &host, true)?),
        false => None,
    };
    let whole = match (in_parts, &file) {
        (None, None) => Some(read(args, config, &host)?),
        _ => None,
    };
    let work = |team: Arc<dyn Communicator>| {
        let begun = format!("{ranks} ranks, threads of one process");
        let known = match (in_parts, &file, &whole) {
            (Some(problem), ..) => Known::InParts(problem, order),
            (_, Some(file), _) => Known::OfFile(file),
            (.., Some(whole)) => Known::ByAll(whole),
            (.., None) => Known::ByFirst(None),
        };
        solve(args, config, &team, known, &begun)
    };
    let answers = threads::run(ranks, work)?;
    let answer = answers.into_iter().flatten().next();
    finish(args, whole.as_ref(), answer.expect("rank 0 has an answer"))
}

/// Solves with the processes that a launcher of MPI has started.
pub fn by_processes(args: &SolveArgs, config: &Config) -> Result<ExitCode> {
    let team = mpi::world()?;
    same_options(team.as_ref())?;
    check_partition(args, config)?;
    let host = host(config)?;
    let in_parts = in_parts(args);
    let order = order_of_parts(args, in_parts)?;
    // A file need not be at hand on every machine.
    let file = match team.any(!FileParts::is_meant(args))? {
        true => None,
        false => Some(FileParts::new(args, &host, team.rank() == 0)?),
    };
    let whole = match (in_parts, &file, team.rank()) {
        (None, None, 0) => Some(read(args, config, &host)?),
        _ => None,
    };
    let known = match (in_parts, &file) {
        (Some(problem), _) => Known::InParts(problem, order),
        (None, Some(file)) => Known::OfFile(file),
        (None, None) => Known::ByFirst(whole.as_ref()),
    };
    let begun = format!("{} processes under {}", team.size(), mpi::version()?);
    let answer = solve(args, config, &team, known, &begun)?;
    let status = match answer {
        Some(answer) => finish(args, whole.as_ref(), answer)?,
        None => ExitCode::SUCCESS,
    };
    // Other ranks end as the first one does.
    let failed = team.any(status != ExitCode::SUCCESS)?;
    mpi::finish();
    Ok(match failed {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    })
}

/// The problem, where every rank can make its own rows and nothing else needs the whole matrix.
fn in_parts(args: &SolveArgs) -> Option<&str> {
    let problem = args.input.source.as_str();
    let is_plain = args.partition != PartitionKind::Graph && args.rhs.is_none();
    let is_made = is_plain && needs_no_whole(args) && gallery::is_made_in_parts(problem);
    is_made.then_some(problem)
}

/// Whether no option asks for the whole matrix, or for vectors that belong to it.
pub(super) fn needs_no_whole(args: &SolveArgs) -> bool {
    let known = &args.known;
    args.x0.is_none()
        && args.report.is_none()
        && args.trace.is_none()
        && known.near_nullspace.is_none()
        && known.coordinates.is_none()
        && known.block_size.is_none()
}

/// The order of rows that ranks make themselves, if that is not their own.
fn order_of_parts(args: &SolveArgs, problem: Option<&str>) -> Result<Option<GridOrder>> {
    match (args.partition, problem) {
        (PartitionKind::Boxes, Some(problem)) => Ok(Some(of_grid(problem)?.0)),
        _ => Ok(None),
    }
}

/// Fails where rows are to be in another order than the one a preconditioner needs.
fn check_partition(args: &SolveArgs, config: &Config) -> Result<()> {
    let is_structured = matches!(config.preconditioner, PreconditionerConfig::StructMg(_));
    match is_structured && args.partition != PartitionKind::Rows {
        false => Ok(()),
        true => Err(CliError::Option {
            option: "--partition",
            reason: "struct-mg needs the order of the grid, which it shares itself; use rows"
                .to_owned(),
        }),
    }
}

/// Fails where ranks were given different options.
fn same_options(team: &dyn Communicator) -> Result<()> {
    let own: Vec<String> = std::env::args().skip(1).collect();
    let all = team.all_gather(own.join("\n").as_bytes())?;
    let other = all.iter().position(|options| *options != all[0]);
    let checked = match other {
        None => Ok(()),
        Some(rank) => {
            let reason = format!("ranks 0 and {rank} were given different options");
            Err(Error::Team(reason))
        }
    };
    Ok(team.agree(checked)?)
}

/// What reads, before ranks begin: all cores, unless threads are given.
fn host(config: &Config) -> vcycle::Result<Executor> {
    match config.run.threads {
        Some(threads) => Executor::cpu_with_threads(threads),
        None => Ok(Executor::cpu()),
    }
}

fn read(args: &SolveArgs, config: &Config, host: &Executor) -> Result<Whole> {
    let task = Task {
        args,
        config: config.clone(),
        executor: host.clone(),
        made: Cell::default(),
    };
    let (system, mut reading) = task.read(&args.input.source)?;
    let AnySystem::Real(system) = system else {
        return Err(CliError::Library(Error::Unsupported {
            component: "a complex matrix".to_owned(),
            operation: "several ranks".to_owned(),
        }));
    };
    reading.end();
    let b = reading.right_hand_side(&system.matrix, args.rhs.as_deref())?;
    let System {
        matrix,
        near_nullspace,
        guess,
        ..
    } = task.known(&system, &b)?;
    let (kind, source) = (args.partition, &args.input.source);
    let order = order(kind, source, &matrix, near_nullspace.as_ref())?;
    let mut all = Renumbered {
        matrix,
        near_nullspace,
        b,
        guess,
    };
    if let Some(order) = &order {
        all = all.by(order)?;
    }
    Ok(Whole {
        matrix: all.matrix,
        near_nullspace: all.near_nullspace,
        b: all.b,
        guess: all.guess,
        order,
        reading,
    })
}

impl Known<'_> {
    fn whole(&self) -> Option<&Whole> {
        match self {
            Self::ByAll(whole) => Some(whole),
            Self::ByFirst(whole) => *whole,
            Self::InParts(..) | Self::OfFile(_) => None,
        }
    }

    /// The solution in the order of the rows as they are given.
    fn in_order(&self, x: Vector<f64>) -> vcycle::Result<Vector<f64>> {
        let mut own = x.clone();
        match (self, self.whole().and_then(|whole| whole.order.as_ref())) {
            (_, Some(order)) => order.apply_inverse(&x, &mut own)?,
            (Self::InParts(_, Some(order)), _) => {
                let (from, to) = (x.host()?, own.host_mut()?);
                let values = (0..).zip(to.iter_mut());
                values.for_each(|(row, value)| *value = from[order.place(row) as usize]);
            }
            _ => {}
        }
        Ok(own)
    }

    /// The own part of the system and of the right-hand side.
    fn part(&self, rank: &Executor) -> vcycle::Result<(SharedSystem, Vector<f64>)> {
        if let Self::InParts(problem, order) = self
            && let Some((a, b)) = gallery::build_part(problem, rank)?
        {
            let (a, b) = match order {
                None => (a, b),
                Some(order) => {
                    let (a, mut vectors) = a.renumbered(|row| order.place(row), &[b])?;
                    (a, vectors.swap_remove(0))
                }
            };
            let b = Vector::from_column(rank, b);
            return Ok((SharedSystem::new(Arc::new(a)), b));
        }
        if let Self::OfFile(file) = self {
            return file.part(rank);
        }
        let team = rank.team().expect("a rank has a team");
        let whole = self.whole();
        let near = whole.and_then(|whole| whole.near_nullspace.as_ref());
        let counts = [
            near.map_or(1, NearNullspace::block_size),
            near.map_or(0, |near| near.vectors().len()),
            usize::from(near.is_some()),
            whole.map_or(0, |whole| whole.b.cols()),
            usize::from(whole.is_some_and(|whole| whole.guess.is_some())),
        ];
        let counts = counts.map(|count| count as u64);
        let mut told = [0; 5];
        for (told, count) in told.iter_mut().zip(counts) {
            *told = team.all_numbers(count)?[0] as usize;
        }
        let [block, vectors, is_known, cols, is_guessed] = told;
        let matrix = match self {
            Self::ByAll(whole) => {
                let rows = whole.matrix.size().rows as u64;
                let rows = Partition::even(rows, block as u64, team.size());
                Distributed::part_of(rank, &whole.matrix, rows)?
            }
            Self::ByFirst(_) | Self::InParts(..) | Self::OfFile(_) => {
                let matrix = whole.map(|whole| whole.matrix.as_ref());
                Distributed::spread(rank, matrix, block)?
            }
        };
        let leads = |values: Option<Vec<f64>>| values.filter(|_| team.rank() == 0);
        let spread = |values: Option<Vec<f64>>, cols| {
            let values = leads(values);
            matrix.spread_values(values.as_deref(), cols)
        };
        let b = spread(whole.map(|whole| whole.b.to_vec()), cols)?;
        let b = Vector::from_rows(rank, cols, b)?;
        let mut modes = Vec::new();
        for number in 0..vectors {
            modes.push(spread(near.map(|near| near.vectors()[number].clone()), 1)?);
        }
        let guess = match is_guessed {
            0 => None,
            _ => {
                let guess = whole.and_then(|whole| whole.guess.as_ref());
                Some(spread(guess.map(Vector::to_vec), cols)?)
            }
        };
        let mut system = SharedSystem::new(Arc::new(matrix));
        if is_known > 0 {
            system = system.with_near_nullspace(NearNullspace::new(block, modes)?);
        }
        if let Some(guess) = guess {
            system = system.with_guess(Vector::from_rows(rank, cols, guess)?);
        }
        Ok((system, b))
    }
}

/// Solves as one rank; rank 0 has the answer.
fn solve(
    args: &SolveArgs,
    config: &Config,
    team: &Arc<dyn Communicator>,
    known: Known<'_>,
    begun: &str,
) -> vcycle::Result<Option<Answer>> {
    let (rank, sharing) = config.run.executor_of_rank(team)?;
    let rank = &rank;
    let begin = Instant::now();
    let (system, b) = known.part(rank)?;
    let spreading = begin.elapsed();
    let leads = rank.team().is_some_and(|team| team.rank() == 0);
    let progress = Progress::begin(leads && !args.json && !args.quiet, "set-up");
    let records = Records::default();
    let ws = match leads {
        true => Workspace::with_log(records.log(args, &progress)),
        false => Workspace::new(),
    };
    let solution = solve_shared(config, &system, &b, &ws);
    progress.end();
    let mut solution = solution?;
    let ranks = all_ranks(&system.matrix, &solution)?;
    let x = system.matrix.gathered_values(&solution.x.to_vec())?;
    let nonzeros = system.matrix.total_nonzeros()? as usize;
    if !leads {
        return Ok(None);
    }
    drop(ws);
    solution.messages.insert(0, begun.to_owned());
    solution.messages.splice(1..1, sharing);
    let extent = Extent {
        rows: system.matrix.rows().total() as usize,
        nonzeros,
        bytes: system.matrix.bytes(),
    };
    let (name, reading) = match (&known, known.whole()) {
        (Known::InParts(problem, _), _) => (*problem, spreading),
        (Known::OfFile(file), _) => (file.name(), spreading),
        (_, Some(whole)) => (whole.reading.name(), whole.reading.time() + spreading),
        (_, None) => ("", spreading),
    };
    let mut summary = Summary::new(name, extent, rank, &solution, reading);
    summary.ranks = ranks;
    let x = Vector::from_rows(&rank.alone(), b.cols(), x)?;
    Ok(Some(Answer {
        summary,
        x: known.in_order(x)?,
        solution,
        profile: taken(records.profile),
        trace: taken(records.trace),
    }))
}

/// What was recorded.
fn taken<R: Default>(record: Rc<std::cell::RefCell<R>>) -> R {
    std::mem::take(&mut record.borrow_mut())
}

/// What every rank has done.
fn all_ranks(
    a: &Distributed<f64>,
    solution: &vcycle::config::Solution<f64>,
) -> vcycle::Result<Vec<RankSummary>> {
    let levels = solution.multigrid.iter().flat_map(|report| &report.levels);
    let own = RankSummary {
        rows: a.size().rows,
        nonzeros: a.local().nonzeros(),
        neighbours: a.columns().neighbours(),
        traffic: solution.traffic.unwrap_or_default(),
        levels: levels.filter_map(|level| level.part).collect(),
    };
    let text = serde_json::to_vec(&own).expect("plain data");
    let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes);
    let all: std::result::Result<Vec<RankSummary>, _> =
        a.team().all_gather(&text)?.into_iter().map(read).collect();
    all.map_err(|error| Error::Team(format!("a rank's summary cannot be read: {error}")))
}

/// Prints and writes what is asked for; success only if it converged.
fn finish(args: &SolveArgs, whole: Option<&Whole>, answer: Answer) -> Result<ExitCode> {
    let summary = &answer.summary;
    show(args, &overview(summary), summary);
    if let Some(path) = &args.output {
        write_vector(path, &answer.x)?;
    }
    if let Some(whole) = whole {
        let written = Written {
            source: whole.reading.source(),
            a: &whole.matrix,
            solution: &answer.solution,
            summary,
            profile: &answer.profile,
            trace: &answer.trace,
        };
        write_files(args, &written)?;
    }
    if args.json {
        print(&serde_json::to_string(summary).expect("a summary is plain data"));
    }
    Ok(match summary.status {
        "converged" => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}
