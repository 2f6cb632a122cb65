use std::path::Path;

use super::*;

/// Where the committed page and its records are.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn published_values_are_of_experiments() {
    let all = experiments::all();
    for experiment in &all {
        for value in published::values(experiment.paper.published) {
            let name = format!("{}/{}", experiment.paper.key, value.experiment);
            assert!(all.iter().any(|one| one.name() == name), "{name}");
            assert!(value.value.is_finite() && !value.measured_on.is_empty());
        }
    }
}

#[test]
fn the_committed_page_is_what_its_records_make() {
    let records = record::all(&Path::new(DOCS).join("reproduction"), &experiments::all());
    let names: Vec<String> = records.iter().map(|(one, _)| one.name()).collect();
    let expected: Vec<String> = experiments::all().iter().map(|one| one.name()).collect();
    assert_eq!(names, expected, "an experiment without a committed record");
    let committed = std::fs::read_to_string(Path::new(DOCS).join("reproduction.md")).unwrap();
    assert_eq!(
        committed,
        markdown::of(&records),
        "run `vcycle reproduce -o docs/reproduction --markdown docs/reproduction.md`"
    );
}

#[test]
fn a_name_that_nothing_has_is_told_with_those_that_there_are() {
    let error = chosen(Some("tsia")).unwrap_err().to_string();
    assert!(error.contains("tsai/table-6.2"), "{error}");
    assert_eq!(chosen(Some("zong")).unwrap().len(), 2);
    assert_eq!(chosen(Some("zong/table-3")).unwrap().len(), 1);
}

#[test]
fn charts_have_bars_for_both_and_an_axis() {
    let line = |row: &str, published, ours| summary::Line {
        row: row.to_owned(),
        quantity: "time".to_owned(),
        unit: "s".to_owned(),
        published,
        ours,
        ratio: None,
        note: String::new(),
    };
    let lines = [
        line("a < b", Some(0.02), Some(3.0)),
        line("b", None, Some(40.0)),
    ];
    for logarithmic in [false, true] {
        let svg = plot::bars(&lines, "time, s", logarithmic).unwrap();
        assert!(
            svg.contains("a &lt; b") && svg.contains("published"),
            "{svg}"
        );
        assert_eq!(svg.matches("<rect").count(), 2 + 3);
    }
    assert!(plot::bars(&[], "time", false).is_none());
}
