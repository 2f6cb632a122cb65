//! Compressed files.

use super::super::*;
use super::{Temporary, awkward, load_columns};

#[test]
fn streams_cut_short_are_told() {
    for extension in [".mtx.gz", ".mtx.xz", ".mtx.zst", ".npz"] {
        let file = Temporary::new(extension);
        write_matrix(&file.0, &awkward(2_000, true)).unwrap();
        let mut bytes = std::fs::read(&file.0).unwrap();
        bytes.truncate(bytes.len() / 2);
        std::fs::write(&file.0, bytes).unwrap();
        let Err(Error::File(error)) = load_matrix(&file.0, &Executor::reference()) else {
            panic!("{extension} is complete");
        };
        let archive = extension == ".npz" && matches!(error.problem, Problem::Array(_));
        assert!(
            archive || matches!(error.problem, Problem::Truncated),
            "{error}"
        );
    }
}

#[test]
fn joined_gzip_streams_are_one_text() {
    use std::io::Write;
    let mut bytes = Vec::new();
    for part in ["%%MatrixMarket matrix array real general\n2 1\n1", "2\n3\n"] {
        let mut encoder = flate2::write::GzEncoder::new(&mut bytes, flate2::Compression::fast());
        encoder.write_all(part.as_bytes()).unwrap();
        encoder.finish().unwrap();
    }
    let file = Temporary::holding(".mtx.gz", bytes);
    assert_eq!(load_columns(&file).to_vec(), [12.0, 3.0]);
}
