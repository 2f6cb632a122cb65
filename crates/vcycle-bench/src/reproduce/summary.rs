//! Published values and ours side by side.

use vcycle_plot::number;

use super::experiment::{Experiment, Size};
use super::record::{Record, Value};
use crate::published::PublishedValue;

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
    /// The same of others, measured in the same run.
    pub peers: Vec<(String, f64)>,
    pub note: String,
}

impl Line {
    /// The quantity with its unit.
    pub fn named(&self) -> String {
        match self.unit.as_str() {
            "" => self.quantity.clone(),
            unit => format!("{}, {unit}", self.quantity),
        }
    }

    /// What is said of it: peers, then the note.
    pub fn remarks(&self) -> String {
        let peers = self.peers.iter();
        let peers = peers.map(|(who, value)| format!("{who} {}", number(*value)));
        let note = (!self.note.is_empty()).then(|| self.note.clone());
        peers.chain(note).collect::<Vec<_>>().join("; ")
    }
}

/// All values of an experiment: ours in the order in which they were measured, then what we have not, then what only others have.
pub(super) fn lines(experiment: &Experiment, record: &Record) -> Vec<Line> {
    let mut published = experiment.published();
    let (ours, mut theirs): (Vec<_>, Vec<_>) =
        record.values.iter().partition(|value| value.who.is_empty());
    let mut lines = Vec::new();
    for value in ours {
        let is_it =
            |one: &PublishedValue| (one.row, one.quantity) == (&*value.row, &*value.quantity);
        let place = published.iter().position(is_it);
        let published = place.map(|place| published.remove(place).value);
        lines.push(of_ours(value, published, record.size));
    }
    lines.extend(published.iter().map(of_theirs));
    for line in &mut lines {
        let is_it = |value: &&Value| (&value.row, &value.quantity) == (&line.row, &line.quantity);
        let (same, others): (Vec<_>, Vec<_>) = theirs.into_iter().partition(is_it);
        (line.peers, theirs) = (of_peers(&same), others);
        if line.ours.is_none() && line.peers.is_empty() {
            line.note = "not measured in this run".to_owned();
        }
    }
    lines.extend(theirs.into_iter().map(of_a_peer));
    lines
}

fn of_peers(values: &[&Value]) -> Vec<(String, f64)> {
    let one = |value: &&Value| (value.who.clone(), value.value);
    values.iter().map(one).collect()
}

fn of_a_peer(value: &Value) -> Line {
    Line {
        peers: of_peers(&[value]),
        ours: None,
        ..of_ours(value, None, Size::Full)
    }
}

fn of_ours(value: &Value, published: Option<f64>, size: Size) -> Line {
    // Seconds and bandwidths are those of a machine, and iterations of other problems are not to be compared.
    let is_same = size == Size::Full && !value.of_the_kind;
    // Factors of times are those of large problems: small ones fit into caches.
    let is_comparable = match value.unit.as_str() {
        "x" | "%" => size == Size::Full,
        "" => is_same || !value.quantity.starts_with("iterations"),
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
        peers: Vec::new(),
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
        peers: Vec::new(),
        note: String::new(),
    }
}

/// The machines that published values come from.
pub(super) fn machines(experiment: &Experiment) -> String {
    let all = experiment.published();
    let mut machines: Vec<&str> = all.iter().map(PublishedValue::machine).collect();
    machines.sort_unstable();
    machines.dedup();
    match machines.is_empty() {
        true => "no numbers in the text of the paper".to_owned(),
        false => machines.join("; "),
    }
}

/// What has to be said of the size of a run.
pub(super) fn sizes(record: &Record) -> &'static str {
    match record.size {
        Size::Full => "",
        Size::Quick | Size::Tiny => ", small problems in place of those named",
    }
}
