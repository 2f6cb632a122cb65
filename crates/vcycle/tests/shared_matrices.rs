//! Reads the shared collection of real matrices and compares with its manifest.

use std::path::{Path, PathBuf};

use vcycle::executor::Executor;
use vcycle::io::{self, AnyMatrix, AnyVector};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/matrices");

/// A line of the manifest: name, rows, entries (both triangles), field.
fn manifest() -> Option<Vec<(String, usize, usize, String)>> {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("MANIFEST.tsv")).ok()?;
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &str| field.parse().expect("a number in the manifest");
        let name = fields[0].to_owned();
        (
            name,
            number(fields[1]),
            number(fields[2]),
            fields[3].to_owned(),
        )
    };
    Some(text.lines().skip(1).map(line).collect())
}

fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.mtx.xz"))
}

#[test]
fn the_collection_is_what_its_manifest_says() {
    let Some(manifest) = manifest() else {
        eprintln!("skipped: no shared matrices");
        return;
    };
    let executor = Executor::cpu();
    for (name, rows, entries, field) in manifest {
        let matrix = io::load_matrix(file(&name), &executor).unwrap();
        let complex = matches!(matrix, AnyMatrix::Complex(_));
        assert_eq!(matrix.size().rows, rows, "rows of {name}");
        assert_eq!(matrix.nonzeros(), entries, "entries of {name}");
        assert_eq!(complex, field == "complex", "field of {name}");
    }
}

#[test]
fn a_right_hand_side_is_read() {
    if manifest().is_none() {
        eprintln!("skipped: no shared matrices");
        return;
    }
    let vector = io::read_vector(file("cavity14_b"), &Executor::cpu()).unwrap();
    let AnyVector::Real(vector) = vector else {
        panic!("the right-hand side is real");
    };
    assert_eq!((vector.rows(), vector.cols()), (2597, 1));
}
