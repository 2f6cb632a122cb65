//! Solves by several ranks: processes under MPI, or threads.

use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use vcycle::Error;
use vcycle::communicator::{Communicator, mpi, threads};
use vcycle::config::{Config, PreconditionerConfig, Solution, Wide, solve_shared};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::io::write_vector;
use vcycle::log::{ChromeTrace, Profile};
use vcycle::matrix::{Distributed, GridOrder};
use vcycle::scalar::c64;
use vcycle::vector::Vector;

use super::file_parts::FileParts;
use super::files::{Written, write_files};
use super::led;
use super::order::of_grid;
use super::parts::{AnyWhole, Known, Own, Parts, Whole, made, read};
use super::records::Records;
use super::task::show;
use crate::args::{PartitionKind, SolveArgs};
use crate::error::{CliError, Result};
use crate::output::overview::overview;
use crate::output::print;
use crate::output::progress::Progress;
use crate::output::summary::{Extent, RankSummary, Summary};

/// What rank 0 has to show.
struct Answer<T> {
    summary: Summary,
    x: Vector<T>,
    solution: Solution<T>,
    profile: Profile,
    trace: ChromeTrace,
}

/// Solves with ranks that are threads.
pub fn by_threads(args: &SolveArgs, config: &Config, ranks: usize) -> Result<ExitCode> {
    let kind = partition(args, config)?;
    let begun = format!("{ranks} ranks, threads of one process");
    if led::is_of_threads(config, ranks) {
        return led::solve(args, config, ranks, begun);
    }
    let begun = begun.as_str();
    if let Some(problem) = in_parts(args, kind) {
        let order = order_of_parts(kind, problem)?;
        let of_rank = |rank: &Executor| made(problem, order, rank);
        return run(
            args,
            config,
            (ranks, begun),
            parts(problem, order, &of_rank),
        );
    }
    let host = host(config)?;
    if FileParts::is_meant(args, kind) {
        let file = FileParts::new(args, &host, true)?;
        let of_rank = |rank: &Executor| file.part(rank);
        return run(
            args,
            config,
            (ranks, begun),
            parts(file.name(), None, &of_rank),
        );
    }
    match read(args, config, kind, &host)? {
        AnyWhole::Real(whole) => run(args, config, (ranks, begun), Known::ByAll(&whole)),
        AnyWhole::Complex(whole) => run(args, config, (ranks, begun), Known::ByAll(&whole)),
    }
}

/// What every rank gets by itself.
fn parts<'w, T>(
    name: &'w str,
    order: Option<GridOrder>,
    of_rank: &'w (dyn Fn(&Executor) -> vcycle::Result<Own<T>> + Sync),
) -> Known<'w, T> {
    Known::InParts(Parts {
        name,
        order,
        of_rank,
    })
}

/// Solves with so many threads.
fn run<T: Wide>(
    args: &SolveArgs,
    config: &Config,
    (ranks, begun): (usize, &str),
    known: Known<'_, T>,
) -> Result<ExitCode> {
    let answers = threads::run(ranks, |team| solve(args, config, &team, known, begun))?;
    let answer = answers.into_iter().flatten().next();
    finish(args, known.whole(), answer.expect("rank 0 has an answer"))
}

/// Solves with the processes that a launcher of MPI has started.
pub fn by_processes(args: &SolveArgs, config: &Config) -> Result<ExitCode> {
    let team = mpi::world()?;
    same_options(team.as_ref())?;
    let kind = partition(args, config)?;
    let begun = format!("{} processes under {}", team.size(), mpi::version()?);
    if led::is_of_team(config, team.as_ref())? {
        let status = match team.rank() {
            0 => led::solve(args, config, team.size(), begun)?,
            _ => ExitCode::SUCCESS,
        };
        return together(team.as_ref(), status);
    }
    let begun = begun.as_str();
    if let Some(problem) = in_parts(args, kind) {
        let order = order_of_parts(kind, problem)?;
        let of_rank = |rank: &Executor| made(problem, order, rank);
        return take_part(
            args,
            config,
            (&team, begun),
            parts(problem, order, &of_rank),
        );
    }
    let (host, leads) = (host(config)?, team.rank() == 0);
    // A file need not be at hand on every machine.
    if !team.any(!FileParts::is_meant(args, kind))? {
        let file = FileParts::new(args, &host, leads)?;
        let of_rank = |rank: &Executor| file.part(rank);
        return take_part(
            args,
            config,
            (&team, begun),
            parts(file.name(), None, &of_rank),
        );
    }
    let whole = leads.then(|| read(args, config, kind, &host)).transpose()?;
    let is_complex = team.any(matches!(whole, Some(AnyWhole::Complex(_))))?;
    match &whole {
        Some(AnyWhole::Real(whole)) => {
            take_part(args, config, (&team, begun), Known::ByFirst(Some(whole)))
        }
        Some(AnyWhole::Complex(whole)) => {
            take_part(args, config, (&team, begun), Known::ByFirst(Some(whole)))
        }
        None if is_complex => take_part::<c64>(args, config, (&team, begun), Known::ByFirst(None)),
        None => take_part::<f64>(args, config, (&team, begun), Known::ByFirst(None)),
    }
}

/// Solves with the other processes.
fn take_part<T: Wide>(
    args: &SolveArgs,
    config: &Config,
    (team, begun): (&Arc<dyn Communicator>, &str),
    known: Known<'_, T>,
) -> Result<ExitCode> {
    let answer = solve(args, config, team, known, begun)?;
    let status = match answer {
        Some(answer) => finish(args, known.whole(), answer)?,
        None => ExitCode::SUCCESS,
    };
    together(team.as_ref(), status)
}

/// Ends all processes as the first one ends.
fn together(team: &dyn Communicator, status: ExitCode) -> Result<ExitCode> {
    let failed = team.any(status != ExitCode::SUCCESS)?;
    mpi::finish();
    Ok(match failed {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    })
}

/// The problem, where every rank can make its own rows and nothing else needs the whole matrix.
fn in_parts(args: &SolveArgs, kind: PartitionKind) -> Option<&str> {
    let problem = args.input.source.as_str();
    let is_plain = kind != PartitionKind::Graph && args.rhs.is_none();
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
fn order_of_parts(kind: PartitionKind, problem: &str) -> Result<Option<GridOrder>> {
    match kind {
        PartitionKind::Boxes => Ok(Some(of_grid(problem)?.0)),
        _ => Ok(None),
    }
}

/// How rows are shared. Structured multigrid needs them in the order of the grid, which it cuts into slabs or boxes itself.
fn partition(args: &SolveArgs, config: &Config) -> Result<PartitionKind> {
    let is_structured = matches!(config.preconditioner, PreconditionerConfig::StructMg(_));
    match (is_structured, args.partition) {
        (true, PartitionKind::Boxes) => Ok(PartitionKind::Rows),
        (true, PartitionKind::Graph) => Err(CliError::Option {
            option: "--partition",
            reason:
                "struct-mg needs the order of the grid, which it cuts itself; use rows or boxes"
                    .to_owned(),
        }),
        (_, kind) => Ok(kind),
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

/// Solves as one rank; rank 0 has the answer.
fn solve<T: Wide>(
    args: &SolveArgs,
    config: &Config,
    team: &Arc<dyn Communicator>,
    known: Known<'_, T>,
    begun: &str,
) -> vcycle::Result<Option<Answer<T>>> {
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
        (Known::InParts(parts), _) => (parts.name, spreading),
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
fn all_ranks<T: Wide>(
    a: &Distributed<T>,
    solution: &Solution<T>,
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
fn finish<T: Wide>(
    args: &SolveArgs,
    whole: Option<&Whole<T>>,
    answer: Answer<T>,
) -> Result<ExitCode> {
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
