use std::path::Path;

use super::*;

/// Where the committed pages and their records are.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn published_values_are_of_experiments() {
    let all = experiment::all();
    for experiment in &all {
        for value in crate::published::values(experiment.paper().published) {
            let name = format!("{}/{}", experiment.paper().key, value.experiment);
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
        let records = record::all(&Path::new(DOCS).join(folder));
        assert!(!records.is_empty(), "{folder} has no records");
        let committed = std::fs::read_to_string(Path::new(DOCS).join(page)).unwrap();
        assert!(
            committed == markdown::of(&records, folder),
            "run `vcycle reproduce --report -o docs/{folder} --markdown docs/{page}`"
        );
    }
}

#[test]
fn an_unknown_name_is_reported_with_those_that_there_are() {
    let error = chosen(Some("tsia")).unwrap_err().to_string();
    assert!(error.contains("tsai/table-6.2"), "{error}");
    assert!(chosen(Some("zong")).unwrap().len() > 2);
    assert_eq!(chosen(Some("zong/table-3")).unwrap().len(), 1);
}

#[test]
fn iterations_of_other_problems_have_no_ratio() {
    let experiment = chosen(Some("chronos/table-4.4")).unwrap()[0];
    let folder = Path::new(DOCS).join("reproduction");
    let record = Record::read(&folder, experiment).unwrap();
    for line in summary::lines(experiment, &record) {
        let is_complexity = line.quantity.ends_with("complexity");
        assert!(line.ratio.is_none() || is_complexity, "{line:?}");
    }
}
