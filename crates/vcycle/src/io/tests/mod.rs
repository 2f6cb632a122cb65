//! Files written and read: what all formats have in common.

mod matrix_market;
mod npz;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// A file with real numbers.
fn load(file: &Temporary) -> Csr<f64> {
    match load_matrix(&file.0, &Executor::reference()).unwrap() {
        AnyMatrix::Real(a) => a,
        AnyMatrix::Complex(_) => panic!("not real"),
    }
}

fn load_columns(file: &Temporary) -> Vector<f64> {
    match read_vector(&file.0, &Executor::reference()).unwrap() {
        AnyVector::Real(x) => x,
        AnyVector::Complex(_) => panic!("not real"),
    }
}

fn dense(matrix: &Csr<f64>) -> Vec<Vec<f64>> {
    let Size { rows, cols } = matrix.size();
    let value = |row, col| matrix.entry(row, col).unwrap_or_default();
    let row = |row| (0..cols).map(|col| value(row, col)).collect();
    (0..rows).map(row).collect()
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
        FileFormat::of(Path::new("A.MTX.GZ")),
        Ok(FileFormat::MatrixMarket(Compression::Gzip))
    ));
}

/// A matrix with awkward values, and unequal and empty rows.
fn awkward(n: usize, symmetric: bool) -> Csr<f64> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        let near = [-7, -1, 0, 1, 7].map(|step| row.wrapping_add_signed(step));
        // Some rows and columns are empty.
        let is_there = |column: &usize| *column < n && row % 29 != 5 && *column % 29 != 5;
        for column in near.into_iter().filter(is_there) {
            let (low, high) = (row.min(column), row.max(column));
            let tilt = match symmetric || row <= column {
                true => 1.0,
                false => 1.0 + f64::EPSILON,
            };
            // The smallest are subnormal.
            let size = 10f64.powi(low as i32 % 620 - 320);
            columns.push(column as u32);
            values.push(tilt * ((low * n + high) as f64).sqrt().sin() * size);
        }
        offsets.push(columns.len());
    }
    let (host, size) = (Executor::cpu_with_threads(3).unwrap(), Size::square(n));
    Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse).unwrap()
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
                let (left, right) = ((a.offsets(), a.columns()), (b.offsets(), b.columns()));
                assert_eq!(left, right, "{extension}");
                let mut pairs = a.values().iter().zip(b.values());
                assert!(pairs.all(|(x, y)| x.to_bits() == y.to_bits()));
                let last = reports.last().unwrap();
                assert_eq!(last.bytes, last.total_bytes);
            }
        }
    }
}

/// A small matrix of every type, written and read.
fn round_trip<T: Scalar>() {
    let host = Executor::reference();
    let parts = [(0.1, 0.7), (-3.5e-5, 0.0), (1e4, -0.0), (-0.0, 2.0)];
    let values: Vec<T> = parts
        .iter()
        .map(|&(re, im)| T::from_c64(c64::new(re, im)))
        .collect();
    let (size, offsets, columns) = (Size::new(3, 5), vec![0, 2, 2, 4], vec![0, 4, 1, 2]);
    let refuse = Duplicates::Refuse;
    let a = Csr::from_arrays(&host, size, offsets, columns, values.clone(), refuse).unwrap();
    let same = |found: &[c64]| {
        let bits = |value: c64| (value.re.to_bits(), value.im.to_bits());
        let found = found.iter().map(|&value| bits(value));
        let expected = values.iter().map(|value| bits(value.to_c64()));
        assert!(found.eq(expected), "{:?}", T::KIND);
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
fn files_that_cannot_be_made_are_reported() {
    let folder = Temporary::new("absent");
    let path = folder.0.join("a.mtx");
    let matrix = Csr::<f64>::identity(&Executor::reference(), 2);
    let Err(Error::File(error)) = write_matrix(&path, &matrix) else {
        panic!("there is no such folder");
    };
    assert!(matches!(error.problem, Problem::Unwritable(_)), "{error}");
}

#[test]
fn streams_cut_short_are_reported() {
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

#[cfg(feature = "gzip")]
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
        assert_eq!(load_columns(&file).to_vec(), expected);
        let a = load(&file);
        assert_eq!((dense(&a).concat(), a.nonzeros()), (expected.to_vec(), 5));
    }
    let short = Temporary::holding(".npy", [header("True"), data[1..].to_vec()].concat());
    let Err(Error::File(error)) = read_vector(&short.0, &Executor::reference()) else {
        panic!("complete")
    };
    assert!(matches!(error.problem, Problem::Truncated));
}
