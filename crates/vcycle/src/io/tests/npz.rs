//! Archives of SciPy.

use super::super::zip::Writer;
use super::super::*;
use super::{Temporary, dense, load};

/// An archive as SciPy would write it, of a format and integer arrays as text: their names, then a shape in brackets where
/// it is not that of a list, then values.
fn archive_of(text: &str) -> Temporary {
    let (format, arrays) = text.split_once(':').unwrap();
    let numbers = |text: &str| -> Vec<i64> {
        let words = text.split_whitespace();
        words.map(|word| word.parse().unwrap()).collect()
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    let mut add = |name: &str, description: &str, shape: &[usize], contents: Vec<u8>| {
        let member = writer.member(&format!("{name}.npy"), |out| {
            npy::write_header(out, description, shape)?;
            out.write_all(&contents)
        });
        member.unwrap();
    };
    add("format", "|S3", &[], format.as_bytes().to_vec());
    for array in arrays.split(',') {
        let (name, values) = array.trim().split_once(' ').unwrap();
        let shaped = values
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'));
        let (shape, values) = shaped.unwrap_or(("", values));
        let values = numbers(values);
        let shape = match numbers(shape) {
            none if none.is_empty() => vec![values.len()],
            shape => shape.into_iter().map(|n| n as usize).collect(),
        };
        let contents = values.iter().flat_map(|value| value.to_be_bytes());
        add(name, ">i8", &shape, contents.collect());
    }
    writer.finish().unwrap();
    Temporary::holding(".npz", bytes)
}

#[test]
fn all_formats_of_scipy_are_read() {
    let expected = [[1.0, 2.0, 0.0, 0.0], [0.0, 3.0, 4.0, 0.0]];
    for text in [
        "csr: shape 2 4, data 1 2 3 4, indptr 0 2 4, indices 0 1 1 2",
        "csc: shape 2 4, data 1 2 3 4, indptr 0 1 3 4 4, indices 0 0 1 1",
        "coo: shape 2 4, data 1 2 3 4, row 0 0 1 1, col 0 1 1 2",
        "bsr: shape 2 4, data [2 2 2] 1 2 0 3 0 0 4 0, indptr 0 2, indices 0 1",
        "dia: shape 2 4, data [2 3] 1 3 9 9 2 4, offsets 0 1",
    ] {
        assert_eq!(dense(&load(&archive_of(text))), expected, "{text}");
    }
}

/// As `save_npz` writes them by default.
#[cfg(feature = "gzip")]
#[test]
fn deflated_members_are_read() {
    use super::super::zip::Archive;
    use std::io::Write;
    let stored = archive_of("coo: shape 2 2, data 5 7, row 0 1, col 1 0");
    let stored = Archive::open(&stored.0).unwrap();
    let mut bytes = Vec::new();
    let mut deflated = rawzip::ZipArchiveWriter::new(&mut bytes);
    for name in ["format", "shape", "data", "row", "col"] {
        let name = format!("{name}.npy");
        let contents = stored.member(&name).unwrap().unwrap();
        let member = deflated.new_file(&name);
        let member = member.compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = member.start().unwrap();
        let level = flate2::Compression::fast();
        let mut data = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, level));
        data.write_all(&contents).unwrap();
        let (encoder, descriptor) = data.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    deflated.finish().unwrap();
    let file = Temporary::holding(".npz", bytes);
    assert_eq!(dense(&load(&file)), [[0.0, 5.0], [7.0, 0.0]]);
}

#[test]
fn faults_of_archives_are_reported() {
    for text in [
        "csr: shape 2 2, data 1",
        "xyz: shape 2 2, data 1",
        "coo: shape 2, data 1",
        "coo: shape 2 2, data 1, row 2, col 0",
        "coo: shape 2 2, data 1, row -1, col 0",
        "coo: shape 2 2, data 1, row 0 0, col 0",
        "csr: shape 2 2, data 1, indptr 0 2 1, indices 0",
        "csc: shape 2 2, data 1, indptr 0 9 9, indices 0",
        "bsr: shape 2 2, data 1, indptr 0 0 1, indices 0",
        "dia: shape 2 2, data 1, offsets 0",
        "coo: shape 1099511627776 2, data 1, row 0, col 0",
    ] {
        let result = load_matrix(&archive_of(text).0, &Executor::reference());
        assert!(matches!(result, Err(Error::File(_))), "{text}");
    }
}
