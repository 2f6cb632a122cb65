//! What an experiment has measured, as a file.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, Scope, Size};
use crate::install::output;
use crate::prelude::*;

/// One number.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Value {
    pub row: String,
    pub quantity: String,
    pub unit: String,
    pub value: f64,
    /// The library that it was measured with, where that is not ours.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// Whether the problem is only of the kind of the paper's, or smaller: then iterations are not comparable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_the_kind: bool,
    /// A remark: that a solve has not converged, say.
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
            ..Self::default()
        }
    }

    pub fn factor(row: impl Into<String>, quantity: &str, value: f64) -> Self {
        Self::new(row, quantity, "x", value)
    }

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
    /// The day in Greenwich, `2026-11-17`.
    pub date: String,
    pub seconds: f64,
    /// Why there are no values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub values: Vec<Value>,
}

impl Record {
    pub fn new(
        experiment: &Experiment,
        scope: &Scope,
        measured: Result<Vec<Value>>,
        seconds: f64,
    ) -> Result<Self> {
        let (values, failure) = match measured {
            Ok(values) => (values, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok(Self {
            experiment: experiment.name(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            size: scope.size,
            device: scope.device.clone(),
            machine: scope.machine.clone(),
            date: output(Command::new("date").args(["-u", "+%F"]))?,
            seconds,
            failure,
            values,
        })
    }

    /// The record in a folder; none where it is absent or incomplete.
    pub fn read(folder: &Path, experiment: &Experiment) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(file_name(experiment))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Whether a run with this scope would measure the same; failed experiments are repeated.
    pub fn fits(&self, scope: &Scope) -> bool {
        let is_same = (self.size, &self.device) == (scope.size, &scope.device);
        is_same && self.failure.is_none() && self.version == env!("CARGO_PKG_VERSION")
    }
}

/// The name of the file of an experiment.
pub(super) fn file_name(experiment: &Experiment) -> String {
    format!("{}.json", experiment.file_stem())
}

/// The records of a folder, in the order of the experiments.
pub(super) fn all(folder: &Path) -> Vec<(&'static Experiment, Record)> {
    let all = super::experiment::all().into_iter();
    all.filter_map(|one| Some((one, Record::read(folder, one)?)))
        .collect()
}
