//! What an experiment is: one table or figure of a paper, described in a data file.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use vcycle::config::RunConfig;
use vcycle::executor::Executor;

use super::solves::Solves;
use crate::common::Result;
use crate::options::Options;
use crate::peers::{Library, Measurement, Peers};
use crate::problem;
use crate::published::{self, PublishedValue};

/// Experiments and what was published, paper by paper.
const FILES: [(&str, &str); 5] = [
    (include_str!("../../experiments/tsai.toml"), published::TSAI),
    (include_str!("../../experiments/zong.toml"), published::ZONG),
    (
        include_str!("../../experiments/chronos.toml"),
        published::CHRONOS,
    ),
    (include_str!("../../experiments/amgt.toml"), published::AMGT),
    (
        include_str!("../../experiments/ginkgo.toml"),
        published::GINKGO,
    ),
];

static PAPERS: LazyLock<Vec<Paper>> =
    LazyLock::new(|| FILES.map(|(text, values)| Paper::new(text, values)).into());

/// All experiments, in the order of the papers.
pub(super) fn all() -> Vec<&'static Experiment> {
    PAPERS.iter().flat_map(|paper| &paper.experiments).collect()
}

/// A paper.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Paper {
    /// How experiments name it.
    pub key: String,
    pub authors: String,
    pub title: String,
    /// Tables and figures that have no row, and why.
    pub left_out: Vec<(String, String)>,
    /// Lists of problems: a name, what stands for it in three sizes, and what a measure has to know of it.
    problems: HashMap<String, Vec<Vec<String>>>,
    #[serde(rename = "experiment")]
    experiments: Vec<Experiment>,
    /// What it publishes: a table with a row for every value.
    #[serde(skip)]
    pub published: &'static str,
}

impl Paper {
    /// # Panics
    /// For a text that is none: the files are part of the program, and a test reads them all.
    fn new(text: &str, published: &'static str) -> Self {
        let mut paper: Self = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        paper.published = published;
        for experiment in &mut paper.experiments {
            experiment.key.clone_from(&paper.key);
        }
        paper
    }

    /// A list of problems in the size of a run.
    pub fn subjects(&self, list: &str, scope: &Scope) -> Result<Vec<Subject>> {
        let of = self.problems.get(list);
        let of = of.ok_or_else(|| format!("{} has no problems `{list}`", self.key))?;
        let place = 1 + scope.size([0, 1, 2]);
        let subject = |fields: &Vec<String>| Subject {
            name: fields[0].clone(),
            problem: fields[place].clone(),
            extra: fields.get(4).cloned(),
        };
        Ok(of.iter().map(subject).collect())
    }
}

/// What the paper calls a problem, and what is solved for it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub name: String,
    pub problem: String,
    /// The solver of what is not symmetric, say.
    pub extra: Option<String>,
}

/// One table or figure of a paper.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Experiment {
    #[serde(skip)]
    key: String,
    /// Which one, `table-6.2` say.
    pub item: String,
    pub title: String,
    /// How the problem is that of the paper, or only of its kind.
    pub problem: String,
    /// Why values differ.
    pub why: String,
    /// The quantity that is drawn.
    pub chart: Chart,
    /// Whether a device can run it; else it is made for processors.
    #[serde(default = "yes", rename = "devices")]
    pub on_devices: bool,
    /// Solves, most often.
    #[serde(default)]
    pub solve: Vec<Solves>,
    /// Or a measure of its own, with its list of problems and its options.
    pub measure: Option<String>,
    #[serde(default)]
    problems: String,
    #[serde(default)]
    pub base: Options,
    #[serde(default)]
    pub variants: Vec<Options>,
}

fn yes() -> bool {
    true
}

/// What a chart shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chart {
    pub quantity: String,
    #[serde(default)]
    pub logarithmic: bool,
    better: Better,
}

/// Which of two values is better.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Better {
    Less,
    More,
    /// They tell how something is made up.
    Neither,
}

impl Chart {
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
        format!("{}/{}", self.key, self.item)
    }

    pub fn paper(&self) -> &'static Paper {
        let mut papers = PAPERS.iter();
        let paper = papers.find(|paper| paper.key == self.key);
        paper.expect("an experiment is that of a paper")
    }

    /// What the paper has published of it.
    pub fn published(&self) -> Vec<PublishedValue> {
        let all = published::values(self.paper().published);
        all.filter(|value| value.experiment == self.item).collect()
    }

    /// The problems of its own measure.
    pub fn subjects(&self, scope: &Scope) -> Result<Vec<Subject>> {
        self.paper().subjects(&self.problems, scope)
    }
}

/// How large problems are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
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

    /// Solves of a problem by a library on the processor, where it is asked for.
    pub fn solved_by(
        &self,
        library: Library,
        problem: &str,
    ) -> Result<Vec<(&'static str, Measurement)>> {
        let peers = self.peers.of(library);
        match peers.is_empty() {
            true => Ok(Vec::new()),
            false => peers.solve(&problem::system(&Executor::cpu(), problem)?),
        }
    }
}
