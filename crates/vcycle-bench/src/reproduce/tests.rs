use std::path::Path;

use super::*;

/// Where the committed pages and their records are.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// Iterations of tiny problems, as they were when the table was made.
const TINY: &str = include_str!("tiny.tsv");

#[test]
fn published_values_are_of_experiments() {
    let all = experiments::all();
    for experiment in &all {
        for value in crate::published::values(experiment.paper.published) {
            let name = format!("{}/{}", experiment.paper.key, value.experiment);
            assert!(all.iter().any(|one| one.name() == name), "{name}");
            assert!(value.value.is_finite() && !value.measured_on.is_empty());
        }
    }
}

#[test]
fn the_committed_pages_are_what_their_records_make() {
    for (page, folder) in [
        ("reproduction.md", "reproduction"),
        ("reproduction-h200.md", "reproduction-h200"),
    ] {
        let records = record::all(&Path::new(DOCS).join(folder), &experiments::all());
        assert!(!records.is_empty(), "{folder} has no records");
        let committed = std::fs::read_to_string(Path::new(DOCS).join(page)).unwrap();
        assert!(
            committed == markdown::of(&records, folder),
            "run `vcycle reproduce --report -o docs/{folder} --markdown docs/{page}`"
        );
    }
}

/// Runs every experiment with the smallest problems: its table has the rows of the committed one, and its solves take as
/// many iterations as they did.
#[test]
fn experiments_make_the_committed_tables() {
    let scope = Scope {
        size: Size::Tiny,
        device: "cpu".to_owned(),
        machine: String::new(),
        peers: Peers::default(),
        mkl: None,
    };
    let mut counted = String::new();
    for experiment in experiments::all() {
        let record = measure(experiment, &scope);
        assert_eq!(record.failure, None, "{}", experiment.name());
        let file = Path::new(DOCS)
            .join("reproduction")
            .join(record::file_name(&experiment.name()));
        let committed = Record::read(&file).unwrap();
        assert_eq!(shape(&record), shape(&committed), "{}", experiment.name());
        counted += &iterations(&record);
    }
    compare(&counted, TINY);
}

/// Row and quantity of everything of ours, in order.
fn shape(record: &Record) -> Vec<(&str, &str)> {
    let ours = record.values.iter().filter(|value| value.who.is_empty());
    ours.map(|value| (&*value.row, &*value.quantity)).collect()
}

/// A line for every solve.
fn iterations(record: &Record) -> String {
    let values = record.values.iter();
    let values = values.filter(|value| value.quantity.starts_with("iterations"));
    let line = |value: &record::Value| {
        let (row, quantity) = (&value.row, &value.quantity);
        format!(
            "{}\t{row}\t{quantity}\t{}\n",
            record.experiment, value.value
        )
    };
    values.map(line).collect()
}

/// Fails where counts differ by more than one in twenty: processors add in different orders.
fn compare(counted: &str, expected: &str) {
    assert_eq!(
        counted.lines().count(),
        expected.lines().count(),
        "tiny.tsv is to be:\n{counted}"
    );
    for (one, other) in counted.lines().zip(expected.lines()) {
        let split = |line: &str| {
            let (row, count) = line.rsplit_once('\t').unwrap();
            (row.to_owned(), count.parse::<f64>().unwrap())
        };
        let ((row, ours), (same, theirs)) = (split(one), split(other));
        let is_near = (ours - theirs).abs() <= (0.05 * theirs).max(1.0);
        assert!(row == same && is_near, "{one}\n{other}");
    }
}

#[test]
fn a_name_that_nothing_has_is_told_with_those_that_there_are() {
    let error = chosen(Some("tsia")).unwrap_err().to_string();
    assert!(error.contains("tsai/table-6.2"), "{error}");
    assert!(chosen(Some("zong")).unwrap().len() > 2);
    assert_eq!(chosen(Some("zong/table-3")).unwrap().len(), 1);
}

#[test]
fn iterations_of_other_problems_have_no_ratio() {
    let experiment = chosen(Some("chronos/table-4.4")).unwrap()[0];
    let folder = Path::new(DOCS).join("reproduction");
    let record = Record::read(&folder.join(record::file_name(&experiment.name()))).unwrap();
    for line in summary::lines(experiment, &record) {
        let is_complexity = line.quantity.ends_with("complexity");
        assert!(line.ratio.is_none() || is_complexity, "{line:?}");
    }
}
