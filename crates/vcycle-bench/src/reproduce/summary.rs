//! Published values and ours side by side.

use super::experiment::Experiment;
use super::published::{self, PublishedValue};
use super::record::{Record, Value};

/// One line of a comparison.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub row: String,
    pub quantity: String,
    pub unit: String,
    pub published: Option<f64>,
    pub ours: Option<f64>,
    /// Ours relative to what was published, where that depends on neither machine nor size.
    pub ratio: Option<f64>,
    pub note: String,
}

/// All values of an experiment: ours in the order in which they were measured, then what we have not.
pub(super) fn lines(experiment: &Experiment, record: &Record) -> Vec<Line> {
    let mut published = published::of(experiment);
    let ours = record.values.iter().map(|value| {
        let is_it =
            |one: &PublishedValue| (one.row, one.quantity) == (&*value.row, &*value.quantity);
        let place = published.iter().position(is_it);
        of_ours(
            value,
            place.map(|place| published.remove(place).value),
            record.quick,
        )
    });
    let mut lines: Vec<Line> = ours.collect();
    lines.extend(published.iter().map(of_theirs));
    lines
}

fn of_ours(value: &Value, published: Option<f64>, quick: bool) -> Line {
    // Seconds and bandwidths are those of a machine, and iterations of small problems are not to be compared.
    let is_comparable = match value.unit.as_str() {
        "x" => true,
        "" => !(quick && value.quantity == "iterations"),
        _ => false,
    };
    let ratio = published.map(|published| value.value / published);
    Line {
        row: value.row.clone(),
        quantity: value.quantity.clone(),
        unit: value.unit.clone(),
        published,
        ours: Some(value.value),
        ratio: ratio.filter(|_| is_comparable),
        note: value.note.clone(),
    }
}

fn of_theirs(value: &PublishedValue) -> Line {
    Line {
        row: value.row.to_owned(),
        quantity: value.quantity.to_owned(),
        unit: value.unit.to_owned(),
        published: Some(value.value),
        ours: None,
        ratio: None,
        note: "not measured in this run".to_owned(),
    }
}

/// The machines that published values come from.
pub(super) fn machines(experiment: &Experiment) -> String {
    let all = published::of(experiment);
    let machine = |value: &PublishedValue| value.measured_on.split(';').next().unwrap_or_default();
    let mut machines: Vec<&str> = all.iter().map(machine).collect();
    machines.dedup();
    match machines.is_empty() {
        true => "no numbers in the text of the paper".to_owned(),
        false => machines.join("; "),
    }
}

/// A number with as many digits as a reader needs.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if value.fract() == 0.0 && size < 1e15 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}
