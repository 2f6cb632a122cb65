//! Archives of SciPy.

use super::super::zip::Writer;
use super::super::*;
use super::{Temporary, dense};

/// An archive of integer arrays and text, as SciPy would write it.
fn archive(format: &str, arrays: &[(&str, &[usize], &[i64])]) -> Temporary {
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
        add(name, ">i8", shape, contents);
    }
    writer.finish().unwrap();
    Temporary::holding(".npz", bytes)
}

#[test]
fn all_formats_of_scipy_are_read() {
    let expected = [[1.0, 2.0, 0.0, 0.0], [0.0, 3.0, 4.0, 0.0]];
    let shape: (&str, &[usize], &[i64]) = ("shape", &[2], &[2, 4]);
    let data: (&str, &[usize], &[i64]) = ("data", &[4], &[1, 2, 3, 4]);
    let files = [
        archive(
            "csr",
            &[
                shape,
                data,
                ("indptr", &[3], &[0, 2, 4]),
                ("indices", &[4], &[0, 1, 1, 2]),
            ],
        ),
        archive(
            "csc",
            &[
                shape,
                data,
                ("indptr", &[5], &[0, 1, 3, 4, 4]),
                ("indices", &[4], &[0, 0, 1, 1]),
            ],
        ),
        archive(
            "coo",
            &[
                shape,
                data,
                ("row", &[4], &[0, 0, 1, 1]),
                ("col", &[4], &[0, 1, 1, 2]),
            ],
        ),
        archive(
            "bsr",
            &[
                shape,
                ("data", &[2, 2, 2], &[1, 2, 0, 3, 0, 0, 4, 0]),
                ("indptr", &[2], &[0, 2]),
                ("indices", &[2], &[0, 1]),
            ],
        ),
        archive(
            "dia",
            &[
                shape,
                ("data", &[2, 3], &[1, 3, 9, 9, 2, 4]),
                ("offsets", &[2], &[0, 1]),
            ],
        ),
    ];
    for file in &files[..] {
        let read = load_matrix(&file.0, &Executor::reference()).unwrap();
        let AnyMatrix::Real(a) = read else {
            panic!("not real")
        };
        assert_eq!(dense(&a), expected);
    }
}

#[test]
fn faults_of_archives_are_told() {
    let shape: (&str, &[usize], &[i64]) = ("shape", &[2], &[2, 2]);
    let data: (&str, &[usize], &[i64]) = ("data", &[1], &[1]);
    for (format, arrays) in [
        ("csr", vec![shape, data]),
        ("xyz", vec![shape, data]),
        ("coo", vec![("shape", &[1][..], &[2][..]), data]),
        (
            "coo",
            vec![shape, data, ("row", &[1], &[2]), ("col", &[1], &[0])],
        ),
        (
            "coo",
            vec![shape, data, ("row", &[1], &[-1]), ("col", &[1], &[0])],
        ),
        (
            "coo",
            vec![shape, data, ("row", &[2], &[0, 0]), ("col", &[1], &[0])],
        ),
        (
            "csr",
            vec![
                shape,
                data,
                ("indptr", &[3], &[0, 2, 1]),
                ("indices", &[1], &[0]),
            ],
        ),
        (
            "csc",
            vec![
                shape,
                data,
                ("indptr", &[3], &[0, 9, 9]),
                ("indices", &[1], &[0]),
            ],
        ),
        (
            "bsr",
            vec![
                shape,
                data,
                ("indptr", &[3], &[0, 0, 1]),
                ("indices", &[1], &[0]),
            ],
        ),
        ("dia", vec![shape, data, ("offsets", &[1], &[0])]),
        (
            "coo",
            vec![
                ("shape", &[2], &[1 << 40, 2]),
                data,
                ("row", &[1], &[0]),
                ("col", &[1], &[0]),
            ],
        ),
    ] {
        let file = archive(format, &arrays);
        let result = load_matrix(&file.0, &Executor::reference());
        assert!(matches!(result, Err(Error::File(_))), "{format} {arrays:?}");
    }
}
