//! Matrix Market files.

use super::super::*;
use super::{Temporary, dense};

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
        ..MatrixReader::default()
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
fn errors_read_like_a_compiler_says_them() {
    let file = Temporary::holding(
        ".mtx",
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 3\n",
    );
    let error = load_matrix(&file.0, &Executor::reference()).unwrap_err();
    let expected = format!("{}:3:3: column 2 is outside 1..=1", file.0.display());
    assert_eq!(error.to_string(), expected);
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
