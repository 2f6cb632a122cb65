//! Files written and read, format by format.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::zip::Writer;
use super::*;
use crate::scalar::{bf16, c32, f16};

/// A file name of its own in the temporary folder; the file is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(extension: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("vcycle-io-test-{}-{count}{extension}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn holding(extension: &str, contents: impl AsRef<[u8]>) -> Self {
        let file = Self::new(extension);
        std::fs::write(&file.0, contents).unwrap();
        file
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A Matrix Market file of this banner and body, read.
fn read(kind: &str, body: &str) -> Result<AnyMatrix> {
    let file = Temporary::holding(".mtx", format!("%%MatrixMarket matrix {kind}\n{body}"));
    load_matrix(&file.0, &Executor::cpu_with_threads(2)?)
}

fn real(kind: &str, body: &str) -> Csr<f64> {
    let Ok(AnyMatrix::Real(matrix)) = read(kind, body) else {
        panic!("not a real matrix");
    };
    matrix
}

/// The problem of a file, and its line and column.
fn problem(kind: &str, body: &str) -> (Problem, Option<(usize, usize)>) {
    let Err(Error::File(error)) = read(kind, body) else {
        panic!("{kind}: {body:?} has no problem");
    };
    let place = error.place.map(|place| (place.line, place.column));
    (error.problem, place)
}

fn dense(matrix: &Csr<f64>) -> Vec<Vec<f64>> {
    let Size { rows, cols } = matrix.size();
    let value = |row, col| matrix.entry(row, col).unwrap_or_default();
    let row = |row| (0..cols).map(|col| value(row, col)).collect();
    (0..rows).map(row).collect()
}

#[test]
fn coordinates_with_all_that_occurs_in_the_wild() {
    let body = "% comment \u{e9}\n\n 2 3   4 \r\n1 1 1.0D+05\r\n\t2 3 +1.5  \n%\n\n  % more\n2 1 -.5\n1\t2 7";
    let a = real("coordinate real general", body);
    assert_eq!(dense(&a), [[1e5, 7.0, 0.0], [-0.5, 0.0, 1.5]]);
}

#[test]
fn fields_and_symmetries() {
    let pattern = real("coordinate pattern symmetric", "2 2 2\n1 1\n2 1\n");
    assert_eq!(dense(&pattern), [[1.0, 1.0], [1.0, 0.0]]);
    let integer = real("coordinate integer skew-symmetric", "2 2 1\n2 1 3\n");
    assert_eq!(dense(&integer), [[0.0, -3.0], [3.0, 0.0]]);
    let hermitian = read("coordinate complex Hermitian", "2 2 2\n1 1 4 0\n2 1 1 2\n");
    let AnyMatrix::Complex(hermitian) = hermitian.unwrap() else {
        panic!("not complex");
    };
    assert_eq!(hermitian.entry(0, 1), Some(c64::new(1.0, -2.0)));
    assert_eq!(hermitian.entry(1, 0), Some(c64::new(1.0, 2.0)));
}

#[test]
fn arrays_are_stored_by_columns() {
    let general = real("array real general", "2 2\n1\n0\n3\n4\n");
    assert_eq!(dense(&general), [[1.0, 3.0], [0.0, 4.0]]);
    assert_eq!(general.nonzeros(), 3);
    let symmetric = real("array integer symmetric", "2 2\n1\n2\n3\n");
    assert_eq!(dense(&symmetric), [[1.0, 2.0], [2.0, 3.0]]);
    let skew = real("array real skew-symmetric", "2 2\n5\n");
    assert_eq!(dense(&skew), [[0.0, -5.0], [5.0, 0.0]]);
}

#[test]
fn empty_matrices_are_matrices() {
    assert_eq!(
        real("coordinate real general", "0 0 0\n").size(),
        Size::new(0, 0)
    );
    assert_eq!(real("coordinate real general", "3 2 0").nonzeros(), 0);
}

#[test]
fn words_that_are_no_numbers_are_named() {
    let token = |body: &str| match problem("coordinate real general", body) {
        (Problem::Token { expected, found }, Some(place)) => (expected, found, place),
        other => panic!("{other:?}"),
    };
    let expected = |what, found: &str, place| (what, found.to_owned(), place);
    assert_eq!(
        token("2 2 2\n1 1 1.0\n2  2 abc\n"),
        expected("a number", "abc", (4, 6))
    );
    assert_eq!(token("2 2 1\n1 x 1\n"), expected("an index", "x", (3, 3)));
    assert_eq!(
        token("2 2 1\n1 1\n"),
        expected("a number", "end of line", (3, 4))
    );
    assert_eq!(
        token("2 2 1\n1 1 1 1\n"),
        expected("the end of the line", "1", (3, 7))
    );
    assert_eq!(
        token("2 2 1\n1 1 \u{e9}\n"),
        expected("a number", "\\xc3\\xa9", (3, 5))
    );
    assert!(matches!(
        problem("coordinate integer general", "1 1 1\n1 1 1.5\n").0,
        Problem::Token { .. }
    ));
}

#[test]
fn indices_outside_are_named() {
    let general = "coordinate real general";
    assert!(matches!(
        problem(general, "2 3 1\n0 1 1\n"),
        (
            Problem::IndexOutOfRange {
                axis: "row",
                index: 0,
                limit: 2
            },
            Some((3, 1))
        )
    ));
    assert!(matches!(
        problem(general, "2 3 1\n1 4 1\n"),
        (
            Problem::IndexOutOfRange {
                axis: "column",
                index: 4,
                limit: 3
            },
            Some((3, 3))
        )
    ));
}

#[test]
fn values_that_are_not_finite_are_named() {
    for value in ["nan", "-Inf", "1e999"] {
        assert!(matches!(
            problem("coordinate real general", &format!("9 9 1\n2 3 {value}\n")),
            (Problem::NonFinite { row: 2, column: 3 }, Some((3, 1)))
        ));
        assert!(matches!(
            problem("array real general", &format!("2 1\n1\n{value}\n")),
            (
                Problem::Token {
                    expected: "a finite number",
                    ..
                },
                Some((4, 1))
            )
        ));
    }
}

#[test]
fn entries_are_counted() {
    let general = "coordinate real general";
    assert!(matches!(
        problem(general, "2 2 2\n%....\n1 1 1\n"),
        (
            Problem::TooFewEntries {
                expected: 2,
                found: 1
            },
            None
        )
    ));
    assert!(matches!(
        problem(general, "2 2 1\n1 1 1\n\n%\n1 2 1\n"),
        (
            Problem::TooManyEntries {
                expected: 1,
                found: 2
            },
            Some((6, 1))
        )
    ));
    assert!(matches!(
        problem(general, "2 2 1000000000000\n1 1 1\n"),
        (Problem::TooShort { .. }, None)
    ));
}

#[test]
fn absurd_sizes_take_no_memory() {
    let general = "coordinate real general";
    assert!(matches!(
        problem(general, "1000000000000 1 1\n1 1 1\n").0,
        Problem::SizeLine(_)
    ));
    assert!(matches!(
        problem(general, "4000000000 4000000000 1\n1 1 1\n").0,
        Problem::Implausible { entries: 1, .. }
    ));
    assert!(matches!(
        problem("array real general", "4000000000 4000000000\n1\n").0,
        Problem::TooShort { .. }
    ));
}

#[test]
fn one_triangle_is_one_triangle() {
    for (kind, body) in [
        ("coordinate real symmetric", "2 2 1\n1 2 1\n"),
        ("coordinate real skew-symmetric", "2 2 1\n1 1 1\n"),
        ("coordinate complex hermitian", "2 2 1\n1 1 1 1\n"),
    ] {
        assert!(
            matches!(
                problem(kind, body),
                (Problem::Symmetry { .. }, Some((3, 1)))
            ),
            "{kind}"
        );
    }
}

#[test]
fn duplicates_are_refused_or_summed() {
    let body = "2 2 3\n1 2 1\n1 1 5\n1 2 2\n";
    assert!(matches!(
        problem("coordinate real general", body).0,
        Problem::Duplicate { row: 1, column: 2 }
    ));
    let text = format!("%%MatrixMarket matrix coordinate real general\n{body}");
    let file = Temporary::holding(".mtx", text);
    let reader = MatrixReader {
        duplicates: Duplicates::Sum,
    };
    let sum = reader
        .read(&file.0, &Executor::reference(), &mut |_| {})
        .unwrap();
    let AnyMatrix::Real(sum) = sum else {
        panic!("not real")
    };
    assert_eq!(sum.values(), [5.0, 3.0]);
}

#[test]
fn names_decide() {
    let missing = Temporary::new(".mtx");
    for (path, expected) in [
        (missing.0.clone(), "no such file"),
        (PathBuf::from("a.mat"), "unknown file name extension"),
        (PathBuf::from("a.gz"), "unknown file name extension"),
    ] {
        let error = load_matrix(&path, &Executor::reference()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(matches!(
        Format::of(Path::new("A.MTX.GZ")),
        Ok(Format::MatrixMarket(Compression::Gzip))
    ));
}

#[test]
fn errors_read_like_a_compiler_says_them() {
    let file = Temporary::holding(
        ".mtx",
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 3\n",
    );
    let error = load_matrix(&file.0, &Executor::reference()).unwrap_err();
    let expected = format!("{}:3:3: column 2 is outside 1..=1", file.0.display());
    assert_eq!(error.to_string(), expected);
}

/// A matrix with awkward values and unequal rows.
fn awkward(n: usize, symmetric: bool) -> Csr<f64> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        let near = [
            row.wrapping_sub(7),
            row.wrapping_sub(1),
            row,
            row + 1,
            row + 7,
        ];
        for column in near.into_iter().filter(|&column| column < n) {
            let (low, high) = (row.min(column), row.max(column));
            let tilt = if symmetric || row <= column {
                1.0
            } else {
                1.0 + f64::EPSILON
            };
            columns.push(column as u32);
            values.push(
                tilt * ((low * n + high) as f64).sqrt().sin() * 10f64.powi(low as i32 % 600 - 300),
            );
        }
        offsets.push(columns.len());
    }
    let host = Executor::cpu_with_threads(3).unwrap();
    Csr::from_arrays(
        &host,
        Size::square(n),
        offsets,
        columns,
        values,
        Duplicates::Refuse,
    )
    .unwrap()
}

#[test]
fn matrices_return_as_the_same_bits() {
    for extension in [".mtx", ".mtx.gz", ".mtx.xz", ".mtx.zst", ".npz"] {
        for symmetric in [true, false] {
            let file = Temporary::new(extension);
            // Several pieces of text where no compressor makes that slow.
            let a = awkward(if extension == ".mtx" { 40_000 } else { 2_000 }, symmetric);
            write_matrix(&file.0, &a).unwrap();
            for executor in [a.executor().clone(), Executor::reference()] {
                let mut reports = Vec::new();
                let b = read_matrix(&file.0, &executor, &mut |report| reports.push(report));
                let AnyMatrix::Real(b) = b.unwrap() else {
                    panic!("not real")
                };
                assert_eq!(
                    (a.offsets(), a.columns()),
                    (b.offsets(), b.columns()),
                    "{extension}"
                );
                assert!(
                    a.values()
                        .iter()
                        .zip(b.values())
                        .all(|(x, y)| x.to_bits() == y.to_bits())
                );
                let last = reports.last().unwrap();
                assert_eq!(last.bytes, last.total_bytes);
            }
        }
    }
}

#[test]
fn symmetric_matrices_are_written_as_such() {
    let host = Executor::reference();
    let text = |values: [c64; 4]| {
        let a = Csr::from_arrays(
            &host,
            Size::square(2),
            vec![0, 2, 4],
            vec![0, 1, 0, 1],
            values.to_vec(),
            Duplicates::Refuse,
        )
        .unwrap();
        let mut bytes = Vec::new();
        matrix_market::write_matrix(&mut bytes, &a).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let (one, i) = (c64::new(1.0, 0.0), c64::new(0.0, 1.0));
    assert!(text([one, i, i, i]).contains("complex symmetric\n2 2 3\n"));
    assert!(text([one, i, i.conj(), one]).contains("complex hermitian\n2 2 3\n"));
    assert!(text([i, i, i.conj(), one]).contains("complex general\n2 2 4\n"));
}

/// A small matrix of every type, written and read.
fn round_trip<T: Scalar>() {
    let host = Executor::reference();
    let parts = [(0.1, 0.7), (-3.5e-5, 0.0), (1e4, -0.0), (-0.0, 2.0)];
    let values: Vec<T> = parts
        .iter()
        .map(|&(re, im)| T::from_c64(c64::new(re, im)))
        .collect();
    let a = Csr::from_arrays(
        &host,
        Size::new(3, 5),
        vec![0, 2, 2, 4],
        vec![0, 4, 1, 2],
        values.clone(),
        Duplicates::Refuse,
    )
    .unwrap();
    let same = |found: &[c64]| {
        let bits = |value: &c64| (value.re.to_bits(), value.im.to_bits());
        let expected: Vec<c64> = values.iter().map(|value| value.to_c64()).collect();
        assert_eq!(found.len(), expected.len());
        assert!(
            found.iter().map(bits).eq(expected.iter().map(bits)),
            "{:?}",
            T::KIND
        );
    };
    for extension in [".mtx", ".npz"] {
        let file = Temporary::new(extension);
        write_matrix(&file.0, &a).unwrap();
        match load_matrix(&file.0, &host).unwrap() {
            AnyMatrix::Real(b) => same(b.convert::<c64>().unwrap().values()),
            AnyMatrix::Complex(b) => same(b.values()),
        }
    }
    for (extension, cols) in [(".mtx.gz", 2), (".npy", 2), (".mtx", 1), (".npy", 1)] {
        let file = Temporary::new(extension);
        let x = Vector::from_rows(&host, cols, values.clone()).unwrap();
        write_vector(&file.0, &x).unwrap();
        let y = read_vector(&file.0, &host).unwrap();
        assert_eq!(y.size(), x.size());
        match y {
            AnyVector::Real(y) => same(&y.to_vec().iter().map(|&v| v.to_c64()).collect::<Vec<_>>()),
            AnyVector::Complex(y) => same(&y.to_vec()),
        }
    }
}

#[test]
fn every_type_round_trips() {
    round_trip::<f64>();
    round_trip::<f32>();
    round_trip::<f16>();
    round_trip::<bf16>();
    round_trip::<c64>();
    round_trip::<c32>();
}

#[test]
fn vectors_may_be_sparse_or_symmetric() {
    let text = "%%MatrixMarket matrix coordinate real general\n3 1 2\n3 1 5\n1 1 4\n";
    let file = Temporary::holding(".mtx", text);
    let AnyVector::Real(x) = read_vector(&file.0, &Executor::reference()).unwrap() else {
        panic!("not real");
    };
    assert_eq!(x.to_vec(), [4.0, 0.0, 5.0]);
    let text = "%%MatrixMarket matrix coordinate real general\n900000 900000 1\n3 1 5\n";
    let file = Temporary::holding(".mtx", text);
    assert!(read_vector(&file.0, &Executor::reference()).is_err());
}

#[test]
fn what_is_not_finite_is_not_written() {
    let host = Executor::reference();
    let file = Temporary::new(".mtx");
    let a = Csr::diagonal_matrix(&host, vec![1.0, f64::NAN]);
    assert!(matches!(
        write_matrix(&file.0, &a),
        Err(Error::NonFiniteEntry { row: 1, column: 1 })
    ));
    let x = Vector::from_column(&host, vec![f64::INFINITY]);
    assert!(matches!(
        write_vector(&file.0, &x),
        Err(Error::NonFiniteVector { row: 0, .. })
    ));
    assert!(!file.0.exists());
}

#[test]
fn files_that_cannot_be_made_are_told() {
    let folder = Temporary::new("absent");
    let path = folder.0.join("a.mtx");
    let matrix = Csr::<f64>::identity(&Executor::reference(), 2);
    let Err(Error::File(error)) = write_matrix(&path, &matrix) else {
        panic!("there is no such folder");
    };
    assert!(matches!(error.problem, Problem::Unwritable(_)), "{error}");
}

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
    let AnyVector::Real(x) = read_vector(&file.0, &Executor::reference()).unwrap() else {
        panic!("not real");
    };
    assert_eq!(x.to_vec(), [12.0, 3.0]);
}

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

#[test]
fn arrays_of_numpy_are_read_in_both_orders() {
    let header = |order: &str| {
        let dictionary =
            format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': (2, 3), }}\n");
        [
            b"\x93NUMPY\x02\x00".as_slice(),
            &(dictionary.len() as u32).to_le_bytes(),
            dictionary.as_bytes(),
        ]
        .concat()
    };
    let data: Vec<u8> = (0..6_u8)
        .flat_map(|value| f32::from(value).to_le_bytes())
        .collect();
    for (order, expected) in [
        ("False", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ("True", [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]),
    ] {
        let file = Temporary::holding(".npy", [header(order), data.clone()].concat());
        let AnyVector::Real(x) = read_vector(&file.0, &Executor::reference()).unwrap() else {
            panic!("not real")
        };
        assert_eq!(x.to_vec(), expected);
        let AnyMatrix::Real(a) = load_matrix(&file.0, &Executor::reference()).unwrap() else {
            panic!("not real")
        };
        assert_eq!((dense(&a).concat(), a.nonzeros()), (expected.to_vec(), 5));
    }
    let short = Temporary::holding(".npy", [header("True"), data[1..].to_vec()].concat());
    let Err(Error::File(error)) = read_vector(&short.0, &Executor::reference()) else {
        panic!("complete")
    };
    assert!(matches!(error.problem, Problem::Truncated));
}
