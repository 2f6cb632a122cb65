//! What an experiment is.

use vcycle::config::RunConfig;
use vcycle::executor::Executor;

use super::record::Value;
use crate::common::Result;

/// A paper.
#[derive(Debug)]
pub(super) struct Paper {
    /// How experiments name it.
    pub key: &'static str,
    pub authors: &'static str,
    pub title: &'static str,
    /// What it publishes: a table with a row for every value.
    pub published: &'static str,
}

/// One table or figure of a paper.
#[derive(Debug)]
pub(super) struct Experiment {
    pub paper: &'static Paper,
    /// Which one, `table-6.2` say.
    pub item: &'static str,
    pub title: &'static str,
    /// How the problem is that of the paper, or only of its kind.
    pub problem: &'static str,
    /// Why values differ.
    pub why: &'static str,
    /// The quantity that is drawn, and whether its axis is logarithmic.
    pub chart: (&'static str, bool),
    /// Whether less is better, in that quantity.
    pub less_is_better: bool,
    pub run: fn(&Scope) -> Result<Vec<Value>>,
}

impl Experiment {
    pub fn name(&self) -> String {
        format!("{}/{}", self.paper.key, self.item)
    }
}

/// How much is measured, and where.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub quick: bool,
    pub device: String,
}

impl Scope {
    /// One of two sizes.
    pub fn size<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    pub fn executor(&self) -> Result<Executor> {
        let mut run = RunConfig::default();
        run.device.clone_from(&self.device);
        Ok(run.executor()?)
    }

    /// Fails for a device: what an experiment measures is made for processors.
    pub fn on_processors(&self) -> Result<Executor> {
        match self.device == "cpu" {
            true => self.executor(),
            false => Err("this one is made for processors".into()),
        }
    }
}
