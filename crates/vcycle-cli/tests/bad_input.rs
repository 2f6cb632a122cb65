//! What a user can get wrong, from the command line to the message: the exit status is 2, or 1
//! where the solve itself fails, and the place is named.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Run, rows, run, scratch, vcycle};

const GENERAL: &str = "%%MatrixMarket matrix coordinate real general\n";
const ARRAY: &str = "%%MatrixMarket matrix array real general\n";

/// A file of this test with the given contents.
fn file(name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch(&format!("bad-{name}"));
    std::fs::write(&path, contents).unwrap();
    path
}

fn general(name: &str, body: &str) -> PathBuf {
    file(name, format!("{GENERAL}{body}"))
}

/// The diagonal matrix of these two entries.
fn diagonal(name: &str, entries: [&str; 2]) -> PathBuf {
    let [first, second] = entries;
    general(name, &format!("2 2 2\n1 1 {first}\n2 2 {second}\n"))
}

fn solve(path: &Path, options: &str) -> Run {
    vcycle(&format!("solve {} {options}", path.display()))
}

/// The input is refused with `message`, for people and as JSON.
fn refused(path: &Path, options: &str, message: &str) {
    let run = solve(path, options);
    run.check(2, message);
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    assert_eq!(run.stdout, "", "{message}");
    let run = solve(path, &format!("{options} --json"));
    assert_eq!(run.status, 2, "{message}");
    assert_eq!(run.json()["status"], "error", "{message}");
    let told = run.json()["error"].as_str().unwrap().to_owned();
    assert!(told.contains(message), "{message}: {told}");
}

/// Each row has options, and the message that refuses them.
fn all_refused(path: &Path, table: &str) {
    for [options, message] in rows(table) {
        refused(path, options, message);
    }
}

/// The solve fails as it should: status 1 and the word for it.
fn fails(path: &Path, options: &str, status: &str) {
    let run = solve(path, &format!("{options} --json"));
    assert_eq!(run.status, 1, "{}", run.stdout);
    assert_eq!(run.json()["status"], status);
    let run = solve(path, &format!("{options} --quiet"));
    assert_eq!(run.status, 1);
    assert!(run.stdout.starts_with(status), "{}", run.stdout);
}

#[test]
fn entries_of_a_file() {
    let table = "
        cut    | 2 2 2; 1 1 1.0                | bad-cut.mtx: 2 entries are announced, but there are only 1
        word   | 2 2 2; 1 1 1.0; 2 2 abc       | :4:5: expected a number, found `abc`
        zero   | 2 2 2; 1 1 1.0; 0 2 1         | :4:1: row 0 is outside 1..=2
        beyond | 2 2 2; 1 1 1.0; 2 3 1         | :4:3: column 3 is outside 1..=2
        nan    | 2 2 2; 1 1 1.0; 2 1 nan       | :4:1: the entry at row 2, column 1 is not finite
        inf    | 2 2 2; 1 2 -inf; 2 1 1        | :3:1: the entry at row 1, column 2 is not finite
        huge   | 9 9 1000000000000; 1 1 1.0    | 1000000000000 entries are announced
        twice  | 2 2 2; 1 1 1.0; 1 1 2.0       | the entry at row 1, column 1 is given more than once";
    for [name, body, message] in rows(table) {
        let body = body.replace("; ", "\n") + "\n";
        refused(&general(&format!("{name}.mtx"), &body), "", message);
    }
    let archive = file("cut.mtx.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x53]);
    refused(&archive, "", "bad-cut.mtx.gz: the file is cut short");
}

#[test]
fn files_that_are_no_matrix() {
    let empty = "bad-empty.mtx:1:1: not a Matrix Market banner: the file is empty";
    refused(&file("empty.mtx", ""), "", empty);
    refused(&file("prose.mtx", "hello\n"), "", "found `hello`");
    let unknown = "unknown file name extension";
    refused(&file("prose.txt", "hello\n"), "", unknown);
    refused(Path::new("absent/a.mtx"), "", "absent/a.mtx: no such file");
    let folder = scratch("bad-folder.mtx");
    std::fs::create_dir_all(&folder).unwrap();
    refused(&folder, "", "bad-folder.mtx: ");
}

#[test]
fn a_matrix_of_no_rows_is_solved() {
    let path = general("none.mtx", "0 0 0\n");
    for options in [
        "",
        "--solver cg --precond jacobi",
        "--solver gmres --precond ilu0",
    ] {
        let run = solve(&path, &format!("{options} --json"));
        assert_eq!(run.status, 0, "{options}: {}", run.stderr);
        assert_eq!(run.json()["rows"], 0);
    }
    assert_eq!(vcycle(&format!("info {}", path.display())).status, 0);
}

#[test]
fn matrices_that_no_solver_takes() {
    let wide = general("wide.mtx", "2 3 2\n1 1 1.0\n2 2 1\n");
    refused(&wide, "", "needs a square matrix, this one is 2 x 3");
    let gmres = "--solver gmres --precond none";
    refused(&wide, gmres, "gmres needs a square matrix");
    let zeros = diagonal("zeros.mtx", ["0.0", "0.0"]);
    let table = "
        --solver cg --precond amg    | amg: the matrix is singular: all entries are zero
        --solver cg --precond jacobi | the diagonal entry of row 0 is zero";
    all_refused(&zeros, table);
    let full = diagonal("full.mtx", ["1.0", "2.0"]);
    let config = file("nullspace.toml", "nullspace = \"constant\"");
    let option = format!("--config {}", config.display());
    let message = "nullspace: `constant`, but the matrix has no connected part";
    refused(&full, &option, message);
}

#[test]
fn right_hand_sides_that_do_not_fit() {
    let matrix = diagonal("fine.mtx", ["1.0", "2.0"]);
    let rhs = |path: PathBuf| format!("--rhs {}", path.display());
    let long = file("long.mtx", format!("{ARRAY}3 1\n1\n2\n3\n"));
    refused(&matrix, &rhs(long), "has 3 rows, the matrix has 2");
    let nan = file("nan-rhs.mtx", format!("{ARRAY}2 1\n1\nnan\n"));
    let message = "bad-nan-rhs.mtx:4:1: expected a finite number";
    refused(&matrix, &rhs(nan), message);
    let complex = "%%MatrixMarket matrix array complex general\n2 1\n1 1\n1 0\n";
    let complex = file("complex.mtx", complex);
    refused(&matrix, &rhs(complex), "is complex, the matrix is real");
    let table = "
        --rhs absent.mtx | absent.mtx: no such file
        --rhs onse       | --rhs: `onse` is neither a file nor `ones`";
    all_refused(&matrix, table);
}

#[test]
fn names_and_options_that_do_not_exist() {
    let matrix = diagonal("names.mtx", ["1.0", "2.0"]);
    let table = "
        --solver gmers                | unknown solver `gmers`; did you mean `gmres`?
        --precond jacboi              | did you mean `jacobi`?
        --toleranse 1                 | unexpected argument '--toleranse'
        --max-iter 3                  | --max-iters
        --device cuda:99              | cuda
        --device gpu                  | unknown device `gpu`
        --threads 0                   | threads: must be at least 1
        --threads x                   | invalid value 'x' for '--threads
        --rtol nan                    | `rtol` cannot be NaN
        --rtol -1e-8                  | `rtol` cannot be -0.00000001
        --rtol small                  | invalid value 'small' for '--rtol
        --time-limit -1               | `time-limit` cannot be -1
        --precond amg:format=nonsense | unknown format `nonsense`; known are auto, csr, mbsr
        --config absent.toml          | cannot read absent.toml
        --output /nowhere/x.mtx       | /nowhere/x.mtx: cannot be written
        --output x.unknown            | x.unknown: unknown file name extension
        --report /nowhere/r.html      | /nowhere/r.html: cannot be written
        --trace /nowhere/t.json       | /nowhere/t.json: cannot be written";
    all_refused(&matrix, table);
    let unknown = "unknown problem `poison7` (did you mean `poisson7`?)";
    refused(Path::new("poison7:8"), "", unknown);
    refused(Path::new("poisson7:0"), "", "problem `poisson7:0`");
    let written = vcycle("gen poisson5:3 -o /nowhere/a.mtx");
    written.check(2, "/nowhere/a.mtx: cannot be written");
}

#[test]
fn instructions_that_do_not_exist() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vcycle"));
    let run = run(command.arg("devices").env("VCYCLE_SIMD", "bogus"));
    let told =
        "error: VCYCLE_SIMD: `bogus` is no set of instructions; known are portable, avx2, avx512";
    run.check(2, told);
}

#[test]
fn configurations_that_are_wrong() {
    let matrix = diagonal("configured.mtx", ["1.0", "2.0"]);
    let table = r#"
        key.toml    | solvr = "cg"               | unknown key `solvr` in the configuration; did you mean `solver`?
        inner.toml  | stop.rtoll = 1             | unknown key `rtoll` in stop; did you mean `rtol`?
        syntax.toml | solver = "cg               | bad-syntax.toml: TOML parse error at line 1
        value.json  | {"stop": {"rtol": "small"}} | rtol"#;
    for [name, text, message] in rows(table) {
        let path = file(name, text);
        refused(&matrix, &format!("--config {}", path.display()), message);
    }
}

#[test]
fn a_zero_on_the_diagonal_is_named() {
    let path = general("hole.mtx", "3 3 3\n1 1 1.0\n2 3 2\n3 2 1\n");
    let message = "jacobi: the diagonal entry of row 1 is zero or missing";
    let without = "--precond jacobi --match none";
    let symmetric = "--solver cg --precond jacobi";
    refused(&path, without, message);
    refused(&path, symmetric, message);
    let hint = "`--match mc64` moves";
    assert!(solve(&path, without).stderr.contains(hint));
    assert!(!solve(&path, symmetric).stderr.contains(hint));
    let matched = solve(&path, "--precond jacobi");
    assert_eq!(matched.status, 0, "{}", matched.stdout);
}

#[test]
fn matrices_that_are_not_positive_definite() {
    let negative = diagonal("negative.mtx", ["-1.0", "-2.0"]);
    let indefinite = diagonal("indefinite.mtx", ["1.0", "-2.0"]);
    fails(&negative, "--solver cg --precond none", "indefinite");
    fails(&negative, "--solver cg --precond jacobi", "indefinite");
    fails(&indefinite, "--solver cg --precond none", "indefinite");
    let turning = general("turning.mtx", "2 2 4\n1 1 1\n1 2 50\n2 1 -50\n2 2 2\n");
    let options = "--solver cg --precond none --rhs ones --max-iters 30";
    let run = solve(&turning, options);
    assert_eq!(run.status, 1, "{}", run.stdout);
    let told = "cg needs a symmetric matrix, this one is not";
    assert!(run.stdout.contains(told), "{}", run.stdout);
}

/// The nodes 0 to `count` on a line, `columns` numbers each.
fn columns(name: &str, count: usize, columns: usize) -> PathBuf {
    let values: String = (0..count * columns).map(|v| format!("{v}\n")).collect();
    file(name, format!("{ARRAY}{count} {columns}\n{values}"))
}

#[test]
fn what_is_told_of_a_matrix_has_to_fit_it() {
    let body = Path::new("elasticity:3x2x2");
    let told = |option: &str, file: PathBuf, message: &str| {
        let options = format!("--solver cg --precond amg --{option} {}", file.display());
        refused(body, &options, message);
    };
    let short = columns("short.mtx", 80, 2);
    let message = "near-nullspace: expected 81 x 1, found 80 x 1";
    told("near-nullspace", short, message);
    let few = columns("few.mtx", 26, 3);
    let message = "near-nullspace: expected 81 x 1, found 78 x 1";
    told("coordinates", few, message);
    let wide = columns("wide.mtx", 27, 4);
    let message = "has 4 columns; a node has 2 or 3 coordinates";
    told("coordinates", wide, message);
    let other = columns("other.mtx", 27, 3);
    let message = "a node with 3 coordinates has 3 unknowns";
    told("block-size 2 --coordinates", other, message);
    told("near-nullspace", "absent.mtx".into(), "absent.mtx");
    let message = "block-size: 81 rows are not made of nodes with 2";
    told("block-size", "2".into(), message);
}
