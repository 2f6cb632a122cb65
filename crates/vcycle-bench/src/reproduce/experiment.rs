//! What an experiment is: one table or figure of a paper, described in a data file.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use vcycle::config::RunConfig;

use crate::options::Options;
use crate::peers::{Library, Measurement, Peers};
use crate::prelude::*;
use crate::problem;
use crate::published::{self, PublishedValue};
use crate::timing::mean;

/// Experiments and what was published, paper by paper.
macro_rules! papers {
    ($($name:literal)*) => {
        [$((
            include_str!(concat!("../../experiments/", $name, ".toml")),
            include_str!(concat!("../../published/", $name, ".tsv")),
        )),*]
    };
}

static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let files = papers!["tsai" "zong" "chronos" "amgt" "ginkgo"];
    files.map(|(text, values)| Paper::new(text, values)).into()
});

/// All experiments, in the order of the papers.
pub(super) fn all() -> Vec<&'static Experiment> {
    PAPERS.iter().flat_map(|paper| &paper.experiments).collect()
}

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
    /// For a malformed text: the files are part of the program, and a test reads them all.
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
        let subject = |fields: &Vec<String>| Subject {
            name: fields[0].clone(),
            problem: fields[scope.size([1, 2, 3])].clone(),
            extra: fields.get(4).cloned(),
        };
        Ok(of.iter().map(subject).collect())
    }
}

/// The name of a problem in the paper, and what is solved for it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub name: String,
    pub problem: String,
    /// The solver of a nonsymmetric problem, say.
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

    /// The name of one of its files, without the ending.
    pub fn file_stem(&self) -> String {
        self.name().replace('/', "-")
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

    /// The first of them.
    pub fn subject(&self, scope: &Scope) -> Result<Subject> {
        Ok(self.subjects(scope)?.swap_remove(0))
    }
}

/// Every problem of a list with every variant of a configuration, and columns of quantities.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Solves {
    /// A list of the paper.
    pub problems: String,
    /// The options that all variants have.
    pub base: Options,
    /// Options of each, beside its `name`; `only` for some problems, and `hidden` where it has no row of its own.
    #[serde(default = "one_variant")]
    pub variants: Vec<Options>,
    #[serde(default = "default_row")]
    pub row: String,
    pub columns: Vec<Column>,
    /// Rounds in three sizes.
    #[serde(default = "three_rounds")]
    pub rounds: [usize; 3],
    /// Whether problems are only of the kind of the paper's, but for some that are the `same`.
    #[serde(default)]
    pub of_the_kind: bool,
    #[serde(default)]
    pub same: Vec<String>,
    #[serde(default)]
    pub peers: Vec<Beside>,
    #[serde(default)]
    pub ends: Vec<End>,
}

fn one_variant() -> Vec<Options> {
    vec![Options::new()]
}

fn default_row() -> String {
    "{problem}, {variant}".to_owned()
}

fn three_rounds() -> [usize; 3] {
    [3; 3]
}

/// A quantity of a solve: its name alone, or a table.
#[derive(Debug, Deserialize)]
#[serde(from = "ColumnText")]
pub(super) struct Column(pub ColumnTable);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ColumnTable {
    pub quantity: String,
    pub unit: String,
    /// What of a solve it is.
    pub of: String,
    /// Its row, where that is another one.
    pub row: Option<String>,
    /// The variant that has it; all of them unless given.
    pub variant: Option<String>,
    /// On a device, how many times as much it is on the processor.
    pub processor: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ColumnText {
    Name(String),
    Table(ColumnTable),
}

impl From<ColumnText> for Column {
    fn from(text: ColumnText) -> Self {
        let of = match text {
            ColumnText::Table(column) => return Self(column),
            ColumnText::Name(of) => of,
        };
        let (quantity, unit) = match of.as_str() {
            "solve ms" => ("solve", "ms"),
            "set-up" | "solve" => (of.as_str(), "s"),
            "speed-up" => (of.as_str(), "x"),
            quantity => (quantity, ""),
        };
        Self(ColumnTable {
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            of,
            ..ColumnTable::default()
        })
    }
}

/// A library that solves the same systems, where `--peers` names it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    pub library: Library,
    pub row: String,
    /// The mean of how much longer it takes than our last variant.
    pub mean: Option<String>,
}

/// A row made of all values of a quantity.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub row: String,
    pub quantity: String,
    pub by: By,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    Least,
    Most,
    Mean,
    GeometricMean,
}

impl By {
    pub fn of(self, values: &[f64]) -> f64 {
        match self {
            Self::Least => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Most => values.iter().copied().fold(0.0, f64::max),
            Self::Mean => values.iter().sum::<f64>() / values.len().max(1) as f64,
            Self::GeometricMean => mean(values),
        }
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
    /// A description of the machine.
    pub machine: String,
    /// Libraries that are measured in the same run.
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
        Ok(self.run_config().executor()?)
    }

    pub fn run_config(&self) -> RunConfig {
        let mut run = RunConfig::default();
        run.device.clone_from(&self.device);
        run
    }

    /// Solves of a problem by a library on the processor, where `--peers` names it.
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
