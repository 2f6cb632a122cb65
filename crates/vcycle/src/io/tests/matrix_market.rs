//! Matrix Market files.

use super::super::*;
use super::{Temporary, dense, load_columns};

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

/// Banner, lines of the file, and the end of the error: place and problem.
const PROBLEMS: &str = "
    coordinate real general      | 2 2 2; 1 1 1.0; 2  2 abc  | :4:6: expected a number, found `abc`
    coordinate real general      | 2 2 1; 1 x 1              | :3:3: expected an index, found `x`
    coordinate real general      | 2 2 1; 1 1                | :3:4: expected a number, found `end of line`
    coordinate real general      | 2 2 1; 1 1 1 1            | :3:7: expected the end of the line, found `1`
    coordinate real general      | 2 2 1; 1 1 \u{e9}        | :3:5: expected a number, found `\\xc3\\xa9`
    coordinate integer general   | 1 1 1; 1 1 1.5            | :3:5: expected an integer, found `1.5`
    coordinate real general      | 2 3 1; 0 1 1              | :3:1: row 0 is outside 1..=2
    coordinate real general      | 2 3 1; 1 4 1              | :3:3: column 4 is outside 1..=3
    coordinate real general      | 9 9 1; 2 3 nan            | :3:1: the entry at row 2, column 3 is not finite
    coordinate real general      | 9 9 1; 2 3 -Inf           | :3:1: the entry at row 2, column 3 is not finite
    coordinate real general      | 9 9 1; 2 3 1e999          | :3:1: the entry at row 2, column 3 is not finite
    array real general           | 2 1; 1; nan               | :4:1: expected a finite number, found `nan`
    array real general           | 2 1; 1; -Inf              | :4:1: expected a finite number, found `-Inf`
    array real general           | 2 1; 1; 1e999             | :4:1: expected a finite number, found `1e999`
    coordinate real general      | 2 2 2; %....; 1 1 1       | .mtx: 2 entries are announced, but there are only 1
    coordinate real general      | 2 2 1; 1 1 1; ; %; 1 2 1  | :6:1: only 1 entries are announced, but there are more: 2 so far
    coordinate real general      | 2 2 1000000000000; 1 1 1  | .mtx: 1000000000000 entries are announced, but a file of this length holds 11 at most
    coordinate real general      | 1000000000000 1 1; 1 1 1  | :2:1: bad size line: more rows or columns than 32-bit indices can number
    coordinate real general      | 4000000000 4000000000 1; 1 1 1 | .mtx: a size of 4000000000 x 4000000000 with 1 entries is not plausible
    array real general           | 4000000000 4000000000; 1  | .mtx: 16000000000000000000 entries are announced, but a file of this length holds 33 at most
    coordinate real symmetric    | 2 2 1; 1 2 1              | :3:1: the entry at row 1, column 2 of a symmetric matrix is above the diagonal
    coordinate real skew-symmetric | 2 2 1; 1 1 1            | :3:1: the entry at row 1, column 1 of a skew-symmetric matrix is on the diagonal
    coordinate complex hermitian | 2 2 1; 1 1 1 1            | :3:1: the entry at row 1, column 1 of a hermitian matrix is on the diagonal and not real
    coordinate real general      | 2 2 3; 1 2 1; 1 1 5; 1 2 2 | .mtx: the entry at row 1, column 2 is given more than once; ask for duplicates to be summed";

#[test]
fn problems_are_named_with_their_place() {
    for row in PROBLEMS.lines().skip(1) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let &[kind, body, expected] = columns.as_slice() else {
            panic!("{row}");
        };
        let error = read(kind, &(body.replace("; ", "\n") + "\n")).unwrap_err();
        assert!(matches!(error, Error::File(_)), "{row}");
        assert!(error.to_string().ends_with(expected), "{row}: {error}");
    }
}

#[test]
fn duplicates_are_summed_where_that_is_asked_for() {
    let body = "2 2 3\n1 2 1\n1 1 5\n1 2 2\n";
    let text = format!("%%MatrixMarket matrix coordinate real general\n{body}");
    let file = Temporary::holding(".mtx", text);
    let reader = MatrixReader {
        duplicates: Duplicates::Sum,
        ..MatrixReader::default()
    };
    let sum = reader.read(&file.0, &Executor::reference(), &mut |_| {});
    let Ok(AnyMatrix::Real(sum)) = sum else {
        panic!("not a real matrix");
    };
    assert_eq!(sum.values(), [5.0, 3.0]);
}

#[test]
fn symmetric_matrices_are_written_as_such() {
    let host = Executor::reference();
    let text = |values: [c64; 4]| {
        let (size, offsets, columns) = (Size::square(2), vec![0, 2, 4], vec![0, 1, 0, 1]);
        let (values, refuse) = (values.to_vec(), Duplicates::Refuse);
        let a = Csr::from_arrays(&host, size, offsets, columns, values, refuse);
        let mut bytes = Vec::new();
        matrix_market::write_matrix(&mut bytes, &a.unwrap()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let (one, i) = (c64::new(1.0, 0.0), c64::new(0.0, 1.0));
    assert!(text([one, i, i, i]).contains("complex symmetric\n2 2 3\n"));
    assert!(text([one, i, i.conj(), one]).contains("complex hermitian\n2 2 3\n"));
    assert!(text([i, i, i.conj(), one]).contains("complex general\n2 2 4\n"));
}

#[test]
fn vectors_may_be_sparse_or_symmetric() {
    let text = "%%MatrixMarket matrix coordinate real general\n3 1 2\n3 1 5\n1 1 4\n";
    let file = Temporary::holding(".mtx", text);
    assert_eq!(load_columns(&file).to_vec(), [4.0, 0.0, 5.0]);
    let text = "%%MatrixMarket matrix coordinate real general\n900000 900000 1\n3 1 5\n";
    let file = Temporary::holding(".mtx", text);
    assert!(read_vector(&file.0, &Executor::reference()).is_err());
}
