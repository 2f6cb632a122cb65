//! `vcycle reproduce --quick` runs every experiment: its tables have the rows of the committed ones, and its solves take as many
//! iterations as they did.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// Where the committed records are.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reproduction");
/// Iterations of tiny problems, as they were when the table was made.
const TINY: &str = include_str!("tiny.tsv");

#[derive(Deserialize)]
struct Record {
    experiment: String,
    failure: Option<String>,
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    row: String,
    quantity: String,
    value: f64,
    #[serde(default)]
    who: String,
}

impl Record {
    fn read(file: &Path) -> Self {
        let text =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        serde_json::from_str(&text).unwrap()
    }

    /// Row and quantity of everything of ours, in order.
    fn shape(&self) -> Vec<(&str, &str)> {
        let ours = self.values.iter().filter(|value| value.who.is_empty());
        ours.map(|value| (&*value.row, &*value.quantity)).collect()
    }

    /// A line for every solve.
    fn iterations(&self) -> impl Iterator<Item = String> {
        let counted = self
            .values
            .iter()
            .filter(|value| value.quantity.starts_with("iterations"));
        counted.map(|value| {
            format!(
                "{}\t{}\t{}\t{}",
                self.experiment, value.row, value.quantity, value.value
            )
        })
    }
}

#[test]
fn a_quick_run_makes_the_committed_tables() {
    if !cfg!(debug_assertions) {
        println!("skipped: an optimised program takes larger problems, three minutes of them");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduction");
    let ended = Command::new(env!("CARGO_BIN_EXE_vcycle-bench"))
        .args(["reproduce", "--quick", "--again", "--output"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let page = std::fs::read_to_string(folder.join("index.html")).unwrap();
    let mut counted = Vec::new();
    for name in committed() {
        let [record, expected] =
            [&folder, Path::new(COMMITTED)].map(|place| Record::read(&place.join(&name)));
        assert_eq!(record.failure, None, "{name}");
        assert_eq!(record.shape(), expected.shape(), "{name}");
        assert!(
            page.contains(&record.experiment),
            "{name} is not on the page"
        );
        counted.extend(record.iterations());
    }
    compare(counted);
}

/// Names of the files of the committed records.
fn committed() -> Vec<String> {
    let files = std::fs::read_dir(COMMITTED).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    names
}

/// Fails where counts differ by more than one in twenty: processors add in different orders.
fn compare(mut counted: Vec<String>) {
    counted.sort();
    let all = counted.join("\n");
    assert_eq!(
        counted.len(),
        TINY.lines().count(),
        "tiny.tsv is to be:\n{all}"
    );
    for (one, other) in counted.iter().zip(TINY.lines()) {
        let split = |line: &str| {
            let (row, count) = line.rsplit_once('\t').unwrap();
            (row.to_owned(), count.parse::<f64>().unwrap())
        };
        let ((row, ours), (same, theirs)) = (split(one), split(other));
        let is_near = (ours - theirs).abs() <= (0.05 * theirs).max(1.0);
        assert!(row == same && is_near, "{one}\n{other}");
    }
}
