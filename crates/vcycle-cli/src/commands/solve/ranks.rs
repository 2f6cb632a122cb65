//! Solves by several ranks: processes under MPI, or threads.

use std::time::{Duration, Instant};

use vcycle::Error;
use vcycle::communicator::{Communicator, mpi, threads};
use vcycle::config::{PreconditionerConfig, Solution, solve_system};
use vcycle::gallery;
use vcycle::matrix::Distributed;
use vcycle::scalar::c64;

use super::file_parts::{FileParts, needs_no_whole};
use super::files::{Answer, Records};
use super::parts::{AnyWhole, Known, Whole, made, of_grid, read};
use super::task::{end, show};
use crate::args::{PartitionKind, SolveArgs};
use crate::output::overview::overview;
use crate::output::progress::Progress;
use crate::output::summary::{RankSummary, Summary};
use crate::prelude::*;

/// How ranks were started.
pub enum Launch {
    /// As so many threads.
    Threads(usize),
    /// As processes, by a launcher of MPI.
    Processes(Arc<dyn Communicator>),
}

impl Launch {
    /// Whether this process reads what one reads for all.
    fn leads(&self) -> bool {
        match self {
            Self::Threads(_) => true,
            Self::Processes(team) => team.rank() == 0,
        }
    }

    /// Whether it holds on any process.
    fn any(&self, holds: bool) -> vcycle::Result<bool> {
        match self {
            Self::Threads(_) => Ok(holds),
            Self::Processes(team) => team.any(holds),
        }
    }

    fn message(&self) -> vcycle::Result<String> {
        Ok(match self {
            Self::Threads(ranks) => format!("{ranks} ranks, threads of one process"),
            Self::Processes(team) => {
                format!("{} processes under {}", team.size(), mpi::version()?)
            }
        })
    }

    fn solve<T: Wide>(
        &self,
        args: &SolveArgs,
        config: &Config,
        known: Known<'_, T>,
    ) -> Result<ExitCode> {
        let begun = self.message()?;
        match self {
            Self::Threads(ranks) => {
                let solve = |team| solve_as_rank(args, config, &team, known, &begun);
                let answers = threads::run(*ranks, solve)?;
                let answer = answers.into_iter().flatten().next();
                finish(args, known.whole(), answer.expect("rank 0 has an answer"))
            }
            Self::Processes(team) => {
                let answer = solve_as_rank(args, config, team, known, &begun)?;
                let status = match answer {
                    Some(answer) => finish(args, known.whole(), answer)?,
                    None => ExitCode::SUCCESS,
                };
                // All processes end as the first one does.
                let failed = team.any(status != ExitCode::SUCCESS)?;
                mpi::finish();
                Ok(ExitCode::from(u8::from(failed)))
            }
        }
    }
}

/// Solves with several ranks. Each makes or reads its own rows where it can; otherwise one reads for all.
pub fn solve(args: &SolveArgs, config: &Config, launch: &Launch) -> Result<ExitCode> {
    if let Launch::Processes(team) = launch {
        same_options(team.as_ref())?;
    }
    let kind = partition(args, config)?;
    if let Some(problem) = in_parts(args, kind) {
        let order = match kind {
            PartitionKind::Boxes => Some(of_grid(problem)?.0),
            PartitionKind::Rows | PartitionKind::Graph => None,
        };
        let of_rank = |rank: &Executor| made(problem, order, rank);
        return launch.solve(args, config, Known::InParts(problem, order, &of_rank));
    }
    // What reads, before ranks begin: all cores, unless threads are given.
    let host = match config.run.threads {
        Some(threads) => Executor::cpu_with_threads(threads)?,
        None => Executor::cpu(),
    };
    // A file need not be at hand on every machine.
    if !launch.any(!FileParts::can_read_parts(args, kind))? {
        let file = FileParts::new(args, &host, launch.leads())?;
        let of_rank = |rank: &Executor| file.part(rank);
        return launch.solve(args, config, Known::InParts(file.name(), None, &of_rank));
    }
    let whole = match launch.leads() {
        true => Some(read(args, config, kind, &host)?),
        false => None,
    };
    let is_complex = launch.any(matches!(whole, Some(AnyWhole::Complex(_))))?;
    match &whole {
        Some(AnyWhole::Real(whole)) => launch.solve(args, config, Known::Whole(Some(whole))),
        Some(AnyWhole::Complex(whole)) => launch.solve(args, config, Known::Whole(Some(whole))),
        None if is_complex => launch.solve::<c64>(args, config, Known::Whole(None)),
        None => launch.solve::<f64>(args, config, Known::Whole(None)),
    }
}

/// The problem, where every rank can make its own rows and nothing else needs the whole matrix.
fn in_parts(args: &SolveArgs, kind: PartitionKind) -> Option<&str> {
    let problem = args.input.source.as_str();
    let is_plain = kind != PartitionKind::Graph && args.rhs.is_none();
    let is_made = is_plain && needs_no_whole(args) && gallery::is_made_in_parts(problem);
    is_made.then_some(problem)
}

/// How rows are shared. Structured multigrid needs them in the order of the grid, which it cuts into slabs or boxes itself.
fn partition(args: &SolveArgs, config: &Config) -> Result<PartitionKind> {
    let is_structured = matches!(config.preconditioner, PreconditionerConfig::StructMg(_));
    match (is_structured, args.partition) {
        (true, PartitionKind::Boxes) => Ok(PartitionKind::Rows),
        (true, PartitionKind::Graph) => {
            let reason =
                "struct-mg needs the order of the grid, which it cuts itself; use rows or boxes";
            Err(CliError::option("--partition", reason))
        }
        (_, kind) => Ok(kind),
    }
}

/// Fails where ranks were given different options.
fn same_options(team: &dyn Communicator) -> Result<()> {
    let own: Vec<String> = std::env::args().skip(1).collect();
    let all = team.all_gather(own.join("\n").as_bytes())?;
    let other = all.iter().position(|options| *options != all[0]);
    let differing = |rank| Error::Team(format!("ranks 0 and {rank} were given different options"));
    Ok(team.agree(other.map_or(Ok(()), |rank| Err(differing(rank))))?)
}

/// Solves as one rank; rank 0 has the answer.
fn solve_as_rank<T: Wide>(
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
    let solution = solve_system(config, &system, &b, &ws);
    progress.end();
    let mut solution = solution?;
    let a = system.matrix.shared().expect("ranks share the rows");
    let ranks = all_ranks(a, &solution)?;
    let x = a.gathered_values(&solution.x.to_vec())?;
    let nonzeros = a.total_nonzeros()? as usize;
    if !leads {
        return Ok(None);
    }
    drop(ws);
    solution.messages.insert(0, begun.to_owned());
    solution.messages.splice(1..1, sharing);
    let size = [a.rows().total() as usize, nonzeros, a.bytes()];
    let (name, reading) = match (&known, known.whole()) {
        (Known::InParts(name, ..), _) => (*name, Duration::ZERO),
        (_, Some(Whole { reading, .. })) => (&*reading.source.name, reading.time),
        (_, None) => ("", Duration::ZERO),
    };
    let mut summary = Summary::new(name, size, rank, &solution, reading + spreading);
    summary.ranks = ranks;
    solution.x = known.in_order(Vector::from_rows(&rank.alone(), b.cols(), x)?)?;
    Ok(Some(Answer {
        summary,
        solution,
        profile: records.profile.take(),
        trace: records.trace.take(),
    }))
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
    let matrix = |whole: &Whole<T>| whole.system.matrix.whole().cloned();
    let a = whole.map(matrix).transpose()?;
    let source = whole.map(|whole| &whole.reading.source);
    answer.write(args, 1, source.zip(a.as_ref()))?;
    Ok(end(args, summary, summary.status == "converged"))
}
