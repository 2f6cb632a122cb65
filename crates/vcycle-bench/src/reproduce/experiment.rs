//! What an experiment is.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use vcycle::config::RunConfig;
use vcycle::executor::Executor;

use super::record::Value;
use crate::common::Result;
use crate::peers::{Library, Peers};
use crate::published::{self, PublishedValue};

/// A paper.
#[derive(Debug)]
pub(super) struct Paper {
    /// How experiments name it.
    pub key: &'static str,
    pub authors: &'static str,
    pub title: &'static str,
    /// What it publishes: a table with a row for every value.
    pub published: &'static str,
    /// Tables and figures that have no row, and why.
    pub left_out: &'static [(&'static str, &'static str)],
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
    /// The quantity that is drawn.
    pub chart: Chart,
    /// Whether a device can run it; else it is made for processors.
    pub on_devices: bool,
    pub run: fn(&Scope) -> Result<Vec<Value>>,
}

/// What a chart shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chart {
    pub quantity: &'static str,
    pub logarithmic: bool,
    pub better: Better,
}

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Less,
    More,
    /// They tell how something is made up.
    Neither,
}

impl Chart {
    const fn new(quantity: &'static str, better: Better) -> Self {
        Self {
            quantity,
            logarithmic: false,
            better,
        }
    }

    /// A quantity of which less is better.
    pub const fn less(quantity: &'static str) -> Self {
        Self::new(quantity, Better::Less)
    }

    /// A quantity of which more is better.
    pub const fn more(quantity: &'static str) -> Self {
        Self::new(quantity, Better::More)
    }

    /// A share.
    pub const fn share(quantity: &'static str) -> Self {
        Self::new(quantity, Better::Neither)
    }

    pub const fn logarithmic(self) -> Self {
        Self {
            logarithmic: true,
            ..self
        }
    }

    /// How much better a ratio is, more than one being better; none where neither is.
    pub fn gain(&self, ratio: f64) -> Option<f64> {
        match self.better {
            Better::Less => Some(1.0 / ratio),
            Better::More => Some(ratio),
            Better::Neither => None,
        }
    }
}

impl Experiment {
    pub fn name(&self) -> String {
        format!("{}/{}", self.paper.key, self.item)
    }

    /// What the paper has published of it.
    pub fn published(&self) -> Vec<PublishedValue> {
        let all = published::values(self.paper.published);
        all.filter(|value| value.experiment == self.item).collect()
    }
}

/// How large problems are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Size {
    /// For tests: an unoptimised program takes seconds, and its times say nothing.
    Tiny,
    /// Three minutes in all.
    Quick,
    /// As large as the machine allows.
    Full,
}

/// How much is measured, and where.
pub(super) struct Scope {
    pub size: Size,
    pub device: String,
    /// The machine, in words.
    pub machine: String,
    /// Whom to measure in the same run.
    pub peers: Peers,
    /// The Python that has Intel MKL.
    pub mkl: Option<PathBuf>,
}

impl Scope {
    /// One of three: tiny, quick, full.
    pub fn size<T>(&self, sizes: [T; 3]) -> T {
        let [tiny, quick, full] = sizes;
        match self.size {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Full => full,
        }
    }

    /// Seconds that something short is repeated for.
    pub fn seconds(&self) -> f64 {
        self.size([0.0, 0.1, 0.5])
    }

    pub fn executor(&self) -> Result<Executor> {
        let mut run = RunConfig::default();
        run.device.clone_from(&self.device);
        Ok(run.executor()?)
    }

    /// Those of some libraries that are to be measured, where the processor is.
    pub fn peers_among(&self, libraries: &[Library]) -> Peers {
        self.peers.among(libraries)
    }
}
