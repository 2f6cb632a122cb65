//! Published values and ours side by side.

use vcycle_plot::{BarRow, bars, number};

use super::experiment::{Experiment, Size};
use super::record::Record;

/// One line of a comparison.
#[derive(Clone, Debug, Default)]
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
    fn new(row: &str, quantity: &str, unit: &str) -> Self {
        Self {
            row: row.to_owned(),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// The quantity with its unit.
    pub fn named(&self) -> String {
        match self.unit.as_str() {
            "" => self.quantity.clone(),
            unit => format!("{}, {unit}", self.quantity),
        }
    }

    /// Peers, then the note.
    pub fn remarks(&self) -> String {
        let peers = self.peers.iter();
        let peers = peers.map(|(who, value)| format!("{who} {}", number(*value)));
        let note = (!self.note.is_empty()).then(|| self.note.clone());
        peers.chain(note).collect::<Vec<_>>().join("; ")
    }
}

/// All values of an experiment: ours in the order in which they were measured, then published values that were not measured, then
/// those of peers alone.
pub(super) fn lines(experiment: &Experiment, record: &Record) -> Vec<Line> {
    let mut published = experiment.published();
    let mut lines = Vec::new();
    for value in record.values.iter().filter(|value| value.who.is_empty()) {
        let mut line = Line::new(&value.row, &value.quantity, &value.unit);
        (line.ours, line.note) = (Some(value.value), value.note.clone());
        let mut known = published.iter();
        let place = known.position(|one| (one.row, one.quantity) == (&value.row, &value.quantity));
        if let Some(place) = place {
            let theirs = published.remove(place).value;
            line.published = Some(theirs);
            // Seconds and bandwidths are those of a machine, and iterations those of a problem. Factors of times are those of large
            // problems: small ones fit into caches.
            let is_full = record.size == Size::Full;
            let is_comparable = match value.unit.as_str() {
                "x" | "%" => is_full,
                "" => is_full && !value.of_the_kind || !value.quantity.starts_with("iterations"),
                _ => false,
            };
            line.ratio = is_comparable.then_some(value.value / theirs);
        }
        lines.push(line);
    }
    for value in published {
        let mut line = Line::new(value.row, value.quantity, value.unit);
        line.published = Some(value.value);
        lines.push(line);
    }
    let known = lines.len();
    for value in record.values.iter().filter(|value| !value.who.is_empty()) {
        let peer = (value.who.clone(), value.value);
        let is_it = |line: &&mut Line| (&line.row, &line.quantity) == (&value.row, &value.quantity);
        if let Some(line) = lines[..known].iter_mut().find(is_it) {
            line.peers.push(peer);
            continue;
        }
        let mut line = Line::new(&value.row, &value.quantity, &value.unit);
        (line.peers, line.note) = (vec![peer], value.note.clone());
        lines.push(line);
    }
    for line in &mut lines[..known] {
        if line.ours.is_none() && line.peers.is_empty() {
            line.note = "not measured in this run".to_owned();
        }
    }
    lines
}

/// The bars of an experiment, where there are values of the quantity that is drawn.
pub(super) fn chart(experiment: &Experiment, record: &Record) -> Option<String> {
    let mut drawn = lines(experiment, record);
    drawn.retain(|line| line.quantity == experiment.chart.quantity);
    let named = drawn.first()?.named();
    let row = |line: Line| {
        let both = [("published", line.published), ("vcycle", line.ours)].into_iter();
        let both = both.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        BarRow {
            name: line.row,
            values: both.chain(line.peers).collect(),
        }
    };
    let rows: Vec<BarRow> = drawn.into_iter().map(row).collect();
    let logarithmic = experiment.chart.logarithmic;
    bars(&rows, &["published", "vcycle"], &named, logarithmic)
}
