//! The result of a solve as data: what `--json` prints and the report shows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vcycle::communicator::Traffic;
use vcycle::config::{Config, Solution, Unit, Wide};
use vcycle::executor::Executor;
use vcycle::matrix::Csr;
use vcycle::multigrid::{LevelFacts, LevelPart, Report, StageTime};

/// The object `--json` prints; scripts rely on its keys.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub status: &'static str,
    pub problem: String,
    pub iterations: usize,
    /// True, in double precision; `null` where it is not a number.
    pub relative_residual: f64,
    pub recurrence_residual: f64,
    /// Normwise, or more.
    pub backward_error: f64,
    pub read_seconds: f64,
    pub setup_seconds: f64,
    pub solve_seconds: f64,
    pub rows: usize,
    pub nonzeros: usize,
    pub operator_complexity: f64,
    pub grid_complexity: f64,
    pub levels: Vec<LevelSummary>,
    /// Held by matrix and preconditioner.
    pub bytes: usize,
    pub peak_memory_bytes: Option<usize>,
    pub device: String,
    /// Programs of kernels that the device was given so far: how many were compiled or loaded, from an archive or from the
    /// disk, and the seconds of all threads together; `null` on the processor.
    pub kernels: Value,
    pub threads: usize,
    pub config: Config,
    pub messages: Vec<String>,
    /// The status in a sentence, with what to try.
    pub explanation: String,
    /// Of further matrices that were solved for in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Summary>,
    /// Of every rank, where several share the system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankSummary>,
    #[serde(skip)]
    pub history: Vec<f64>,
    #[serde(skip)]
    pub multigrid: Option<Report>,
}

/// What one rank has of the system and of every level that ranks share, and what it has sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankSummary {
    pub rows: usize,
    pub nonzeros: usize,
    pub neighbours: usize,
    /// In the set-up and in the iterations.
    pub traffic: [Traffic; 2],
    pub levels: Vec<LevelPart>,
}

/// The size of a matrix.
pub struct Extent {
    pub rows: usize,
    pub nonzeros: usize,
    pub bytes: usize,
}

impl<T: Wide> From<&Csr<T>> for Extent {
    fn from(a: &Csr<T>) -> Self {
        Self {
            rows: a.size().rows,
            nonzeros: a.nonzeros(),
            bytes: a.bytes(),
        }
    }
}

/// One level of a hierarchy; without multigrid there is one.
#[derive(Debug, Serialize)]
pub struct LevelSummary {
    pub rows: usize,
    pub nonzeros: usize,
    pub working_precision: &'static str,
    pub matrix_precision: &'static str,
    /// How the matrix is stored for products: `csr`, `bsr 3x3`, `dense`.
    pub format: String,
    /// What smooths, or solves on the coarsest level; `null` without multigrid.
    pub smoother: Option<String>,
    pub bytes: usize,
    /// Stages of the set-up and their times.
    pub setup: Vec<StageTime>,
}

impl Summary {
    /// Gathers what there is to say about a solution.
    pub fn new<T: Wide>(
        problem: &str,
        a: Extent,
        executor: &Executor,
        solution: &Solution<T>,
        reading: Duration,
    ) -> Self {
        let outcome = &solution.outcome;
        let multigrid = solution.multigrid.as_ref();
        Self {
            status: outcome.status.name(),
            problem: problem.to_owned(),
            iterations: outcome.iterations,
            relative_residual: outcome.relative_residual,
            recurrence_residual: outcome.recurrence_residual,
            backward_error: outcome.backward_error,
            read_seconds: reading.as_secs_f64(),
            setup_seconds: solution.setup.as_secs_f64(),
            solve_seconds: solution.solving.as_secs_f64(),
            rows: a.rows,
            nonzeros: a.nonzeros,
            operator_complexity: multigrid.map_or(1.0, Report::operator_complexity),
            grid_complexity: multigrid.map_or(1.0, Report::grid_complexity),
            levels: match multigrid {
                None => vec![level::<T>(a, &solution.config)],
                Some(report) => report.levels.iter().map(LevelSummary::of).collect(),
            },
            bytes: solution.bytes,
            peak_memory_bytes: peak_memory(),
            device: executor.name().to_owned(),
            kernels: executor.device().map_or(Value::Null, |device| {
                let builds = device.builds();
                json!({"compiled": builds.compiled, "loaded": builds.loaded, "seconds": builds.seconds})
            }),
            threads: executor.threads(),
            config: solution.config.clone(),
            messages: solution.messages.clone(),
            explanation: outcome.explanation(),
            then: Vec::new(),
            ranks: Vec::new(),
            history: outcome.history.clone(),
            multigrid: solution.multigrid.clone(),
        }
    }
}

impl LevelSummary {
    /// A level of multigrid.
    pub fn of(facts: &LevelFacts) -> Self {
        Self {
            rows: facts.rows,
            nonzeros: facts.nonzeros,
            working_precision: unit_name(facts.precision.working, false),
            matrix_precision: unit_name(facts.precision.matrix, false),
            format: facts.format.clone(),
            smoother: Some(facts.smoother.clone()),
            bytes: facts.bytes,
            setup: facts.setup.clone(),
        }
    }
}

fn unit_name(unit: Unit, complex: bool) -> &'static str {
    unit.kind(complex).map_or("", |kind| kind.name())
}

fn level<T: Wide>(a: Extent, config: &Config) -> LevelSummary {
    let complex = T::KIND.is_complex();
    let name = |unit| unit_name(unit, complex);
    let precision = config.precision.unwrap_or_default();
    LevelSummary {
        rows: a.rows,
        nonzeros: a.nonzeros,
        working_precision: name(precision.working),
        matrix_precision: name(precision.matrix),
        format: config.format.unwrap_or_default().to_string(),
        smoother: None,
        bytes: a.bytes,
        setup: Vec::new(),
    }
}

/// The most memory the process has held, where the system tells.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
