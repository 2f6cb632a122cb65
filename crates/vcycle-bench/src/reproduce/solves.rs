//! Solves as data: every problem of a list with every variant of a configuration, and columns of what is measured.

use serde::Deserialize;

use crate::options::Options;
use crate::peers::Library;
use crate::timing::mean;

/// Solves of an experiment, as its data file has them.
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
    #[serde(default = "usual_row")]
    pub row: String,
    columns: Vec<ColumnText>,
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

fn usual_row() -> String {
    "{problem}, {variant}".to_owned()
}

fn three_rounds() -> [usize; 3] {
    [3; 3]
}

/// A quantity of a solve.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Column {
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

/// One of the usual quantities by its name, or all that it takes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ColumnText {
    Usual(String),
    Whole(Column),
}

impl Solves {
    pub fn columns(&self) -> Vec<Column> {
        self.columns.iter().map(ColumnText::column).collect()
    }
}

impl ColumnText {
    fn column(&self) -> Column {
        match self {
            Self::Whole(column) => column.clone(),
            Self::Usual(of) => {
                let (quantity, unit) = match of.as_str() {
                    "solve ms" => ("solve", "ms"),
                    "set-up" | "solve" => (of.as_str(), "s"),
                    "speed-up" => (of.as_str(), "x"),
                    quantity => (quantity, ""),
                };
                Column {
                    quantity: quantity.to_owned(),
                    unit: unit.to_owned(),
                    of: of.clone(),
                    ..Column::default()
                }
            }
        }
    }
}

/// A library that solves the same systems, where it is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    pub library: Library,
    pub row: String,
    /// The mean of how much longer it takes than our last variant.
    pub mean: Option<String>,
}

/// What is made of all values of a quantity.
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
