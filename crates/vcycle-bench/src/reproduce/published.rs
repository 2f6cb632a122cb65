//! Values that papers have published.

use super::experiment::Experiment;

/// A line of a data file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PublishedValue {
    pub experiment: &'static str,
    pub row: &'static str,
    pub quantity: &'static str,
    pub unit: &'static str,
    pub value: f64,
    /// The machine and the program.
    pub measured_on: &'static str,
}

/// All values of a data file.
///
/// # Panics
/// For a line that is none: the files are part of the program, and a test reads them all.
pub(super) fn values(text: &'static str) -> Vec<PublishedValue> {
    let line = |line: &'static str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [experiment, row, quantity, unit, value, measured_on] = fields[..] else {
            panic!("six fields in a line of published values: {line}");
        };
        PublishedValue {
            experiment,
            row,
            quantity,
            unit,
            value: value.parse().expect("a published value is a number"),
            measured_on,
        }
    };
    text.lines().skip(1).map(line).collect()
}

/// Those of one experiment.
pub(super) fn of(experiment: &Experiment) -> Vec<PublishedValue> {
    let mut all = values(experiment.paper.published);
    all.retain(|value| value.experiment == experiment.item);
    all
}
