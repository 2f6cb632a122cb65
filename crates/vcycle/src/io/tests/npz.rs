//! Archives of SciPy.

use super::super::zip::{Archive, Writer};
use super::super::*;
use super::{Temporary, dense};

/// An archive of integer arrays and text, as SciPy would write it.
fn archive(
    format: &str,
    arrays: impl Iterator<Item = (String, Vec<usize>, Vec<i64>)>,
) -> Temporary {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    let mut add = |name: &str, description: &str, shape: &[usize], contents: Vec<u8>| {
        writer
            .member(&format!("{name}.npy"), |out| {
                npy::write_header(out, description, shape)?;
                out.write_all(&contents)
            })
            .unwrap();
    };
    add("format", "|S3", &[], format.as_bytes().to_vec());
    for (name, shape, values) in arrays {
        let contents = values
            .iter()
            .flat_map(|value| value.to_be_bytes())
            .collect();
        add(&name, ">i8", &shape, contents);
    }
    writer.finish().unwrap();
    Temporary::holding(".npz", bytes)
}

/// Arrays of an archive, as text: their names, then a shape in brackets where it is not that of a list, then values.
fn archive_of(text: &str) -> Temporary {
    let (format, arrays) = text.split_once(':').unwrap();
    let numbers = |text: &str| -> Vec<i64> {
        let words = text.split_whitespace();
        words.map(|word| word.parse().unwrap()).collect()
    };
    let array = |text: &str| {
        let (name, values) = text.trim().split_once(' ').unwrap();
        let (shape, values) = match values.strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap(),
            None => ("", values),
        };
        let values = numbers(values);
        let mut shape: Vec<usize> = numbers(shape).into_iter().map(|n| n as usize).collect();
        if shape.is_empty() {
            shape.push(values.len());
        }
        (name.to_owned(), shape, values)
    };
    archive(format, arrays.split(',').map(array))
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
        let read = load_matrix(&archive_of(text).0, &Executor::reference());
        let AnyMatrix::Real(a) = read.unwrap() else {
            panic!("not real")
        };
        assert_eq!(dense(&a), expected, "{text}");
    }
}

/// As `save_npz` writes them unless it is told otherwise.
#[test]
fn deflated_members_are_read() {
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
    let AnyMatrix::Real(a) = load_matrix(&file.0, &Executor::reference()).unwrap() else {
        panic!("not real")
    };
    assert_eq!(dense(&a), [[0.0, 5.0], [7.0, 0.0]]);
}

#[test]
fn faults_of_archives_are_told() {
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
