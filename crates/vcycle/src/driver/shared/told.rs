//! What the rank that has solved tells the others.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::communicator::Communicator;
use crate::configuration::Config;
use crate::driver::Solution;
use crate::error::{Error, Result};
use crate::stop::{ColumnOutcome, Outcome, Status};

/// How rank 0 has set up.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetUp {
    pub config: DecidedText,
    pub messages: Vec<String>,
    pub setup: Duration,
}

/// A configuration with every `auto` decided, as TOML.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DecidedText(String);

impl DecidedText {
    pub fn new(config: &Config) -> Self {
        Self(config.to_toml())
    }

    pub fn read(&self) -> Result<Config> {
        Ok(Config::from_toml(&self.0)?)
    }
}

/// How rank 0 has solved; numbers are told by their bits, as JSON has no infinity.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Solved {
    pub config: DecidedText,
    pub messages: Vec<String>,
    pub bytes: usize,
    whole: Column,
    columns: Vec<Column>,
    history: Vec<u64>,
    elapsed: Duration,
}

/// Status, iterations, and the four numbers of an outcome.
type Column = (Status, usize, [u64; 4]);

/// What rank 0 tells; the others tell nothing. All ranks call it together.
pub(super) fn by_first<T>(team: &dyn Communicator, told: Option<&T>) -> Result<T>
where
    T: Serialize + for<'t> Deserialize<'t>,
{
    let own = told.map(|told| serde_json::to_vec(told).expect("plain data"));
    let all = team.all_gather(&own.unwrap_or_default())?;
    let unread = |error| Error::Team(format!("what rank 0 tells cannot be read: {error}"));
    serde_json::from_slice(&all[0]).map_err(unread)
}

impl Solved {
    pub fn new<T>(solution: &Solution<T>) -> Self {
        let outcome = &solution.outcome;
        let column = |column: &ColumnOutcome| {
            let numbers = [
                column.relative_residual,
                column.recurrence_residual,
                column.backward_error,
                column.condition,
            ];
            (column.status, column.iterations, numbers.map(f64::to_bits))
        };
        Self {
            config: DecidedText::new(&solution.config),
            messages: solution.messages.clone(),
            bytes: solution.bytes,
            whole: column(&ColumnOutcome {
                status: outcome.status,
                iterations: outcome.iterations,
                relative_residual: outcome.relative_residual,
                recurrence_residual: outcome.recurrence_residual,
                backward_error: outcome.backward_error,
                condition: outcome.condition,
            }),
            columns: outcome.columns.iter().map(column).collect(),
            history: outcome.history.iter().map(|norm| norm.to_bits()).collect(),
            elapsed: outcome.elapsed,
        }
    }

    pub fn outcome(&self) -> Outcome {
        let whole = column(&self.whole);
        Outcome {
            status: whole.status,
            iterations: whole.iterations,
            relative_residual: whole.relative_residual,
            recurrence_residual: whole.recurrence_residual,
            backward_error: whole.backward_error,
            condition: whole.condition,
            columns: self.columns.iter().map(column).collect(),
            history: self.history.iter().copied().map(f64::from_bits).collect(),
            elapsed: self.elapsed,
        }
    }
}

fn column(&(status, iterations, numbers): &Column) -> ColumnOutcome {
    let [relative, recurrence, backward, condition] = numbers.map(f64::from_bits);
    ColumnOutcome {
        status,
        iterations,
        relative_residual: relative,
        recurrence_residual: recurrence,
        backward_error: backward,
        condition,
    }
}
