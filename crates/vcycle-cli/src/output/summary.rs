//! The result of a solve as data: what `--json` prints and the report shows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vcycle::communicator::Traffic;
use vcycle::config::{Solution, Unit};
use vcycle::multigrid::{LevelFacts, LevelPart, Report};

use crate::prelude::*;

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
    /// The norm of the component of b that is known to be outside the range of the matrix, relative to that of b.
    pub outside_range: f64,
    pub read_seconds: f64,
    pub setup_seconds: f64,
    pub solve_seconds: f64,
    pub rows: usize,
    pub nonzeros: usize,
    pub operator_complexity: f64,
    pub grid_complexity: f64,
    pub levels: Vec<Value>,
    /// Held by matrix and preconditioner.
    pub bytes: usize,
    pub peak_memory_bytes: Option<usize>,
    /// What was estimated before the set-up.
    pub estimated_memory_bytes: usize,
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

impl Summary {
    /// Gathers what there is to say about a solution, for a matrix of so many rows, entries and bytes.
    pub fn new<T: Wide>(
        problem: &str,
        [rows, nonzeros, bytes]: [usize; 3],
        executor: &Executor,
        solution: &Solution<T>,
        reading: Duration,
    ) -> Self {
        let outcome = &solution.outcome;
        let multigrid = solution.multigrid.as_ref();
        let precision = solution.config.precision.unwrap_or_default();
        Self {
            status: outcome.status.name(),
            problem: problem.to_owned(),
            iterations: outcome.iterations,
            relative_residual: outcome.relative_residual,
            recurrence_residual: outcome.recurrence_residual,
            backward_error: outcome.backward_error,
            outside_range: outcome.outside_range,
            read_seconds: reading.as_secs_f64(),
            setup_seconds: solution.setup.as_secs_f64(),
            solve_seconds: solution.solving.as_secs_f64(),
            rows,
            nonzeros,
            operator_complexity: multigrid.map_or(1.0, Report::operator_complexity),
            grid_complexity: multigrid.map_or(1.0, Report::grid_complexity),
            levels: match multigrid {
                Some(report) => report.levels.iter().map(level).collect(),
                None => vec![json!({
                    "rows": rows,
                    "nonzeros": nonzeros,
                    "working_precision": name(precision.working, T::KIND.is_complex()),
                    "matrix_precision": name(precision.matrix, T::KIND.is_complex()),
                    "format": solution.config.format.unwrap_or_default(),
                    "smoother": null,
                    "bytes": bytes,
                    "setup": [],
                })],
            },
            bytes: solution.bytes,
            peak_memory_bytes: peak_memory(executor),
            estimated_memory_bytes: solution.estimated_bytes,
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

/// A level of multigrid: how its matrix is stored for products (`csr`, `bsr 3x3`, `dense`), what smooths or solves on it, and
/// the times of the stages of its set-up.
pub fn level(facts: &LevelFacts) -> Value {
    json!({
        "rows": facts.rows,
        "nonzeros": facts.nonzeros,
        "working_precision": name(facts.precision.working, false),
        "matrix_precision": name(facts.precision.matrix, false),
        "format": facts.format,
        "smoother": facts.smoother,
        "bytes": facts.bytes,
        "setup": facts.setup,
    })
}

fn name(unit: Unit, complex: bool) -> &'static str {
    unit.kind(complex).map_or("", |kind| kind.name())
}

/// The most memory the process has held: that of its device, or of the host where the system says so.
fn peak_memory(executor: &Executor) -> Option<usize> {
    if let Some(device) = executor.device() {
        return Some(device.memory_use().1);
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
