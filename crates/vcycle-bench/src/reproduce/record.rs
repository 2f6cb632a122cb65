//! What an experiment has measured, as a file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, Scope, Size};
use super::machine;

/// One number.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Value {
    pub row: String,
    pub quantity: String,
    pub unit: String,
    pub value: f64,
    /// Whose number it is, where it is not ours.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// Whether the problem is only of the kind of the paper's, or smaller: iterations are not to be compared then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_the_kind: bool,
    /// What has to be said of it: that a solve has not converged, say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Value {
    pub fn new(row: impl Into<String>, quantity: &str, unit: &str, value: f64) -> Self {
        Self {
            row: row.into(),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            value,
            who: String::new(),
            of_the_kind: false,
            note: String::new(),
        }
    }

    /// A factor.
    pub fn factor(row: impl Into<String>, quantity: &str, value: f64) -> Self {
        Self::new(row, quantity, "x", value)
    }

    /// Iterations.
    pub fn iterations(row: impl Into<String>, count: usize) -> Self {
        Self::new(row, "iterations", "", count as f64)
    }

    #[must_use]
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    #[must_use]
    pub fn by(mut self, who: &str) -> Self {
        self.who = who.to_owned();
        self
    }

    #[must_use]
    pub fn of_the_kind(mut self, is_it: bool) -> Self {
        self.of_the_kind = is_it;
        self
    }
}

/// All numbers of an experiment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Record {
    pub experiment: String,
    pub version: String,
    pub size: Size,
    pub device: String,
    pub machine: String,
    /// Of the processor's clock, `2026-11-17`.
    pub date: String,
    pub seconds: f64,
    /// Why there are no values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub values: Vec<Value>,
}

impl Record {
    pub fn new(
        experiment: String,
        scope: &Scope,
        values: Vec<Value>,
        failure: Option<String>,
        seconds: f64,
    ) -> Self {
        Self {
            experiment,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            size: scope.size,
            device: scope.device.clone(),
            machine: scope.machine.clone(),
            date: machine::today(),
            seconds,
            failure,
            values,
        }
    }

    /// The record of a file; none where it is absent or half of one.
    pub fn read(file: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(file).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Whether a run with this scope would measure the same; what has failed is tried again.
    pub fn fits(&self, scope: &Scope) -> bool {
        let is_same = (self.size, &self.device) == (scope.size, &scope.device);
        is_same && self.failure.is_none() && self.version == env!("CARGO_PKG_VERSION")
    }
}

/// The name of the file of an experiment.
pub(super) fn file_name(experiment: &str) -> String {
    format!("{}.json", experiment.replace('/', "-"))
}

/// The records that a folder has of some experiments, in their order.
pub(super) fn all(
    folder: &Path,
    experiments: &[&'static Experiment],
) -> Vec<(&'static Experiment, Record)> {
    let read = |one: &&'static Experiment| {
        let record = Record::read(&folder.join(file_name(&one.name())))?;
        Some((*one, record))
    };
    experiments.iter().filter_map(read).collect()
}
