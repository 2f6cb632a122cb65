//! `vcycle solve`: standard input, initial guesses and tolerances.

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Run, ok, run, scratch, vcycle};

/// Runs `vcycle` with bytes on its standard input.
fn piped(arguments: &str, bytes: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_vcycle"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(bytes).expect("the program reads all of it");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    Run {
        status: output.status.code().expect("the program exits by itself"),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// The bytes of a problem in a file of that name.
fn generated(name: &str) -> Vec<u8> {
    let path = scratch(&format!("input-{name}"));
    ok(&format!("gen poisson5:9 -o {}", path.display()));
    std::fs::read(path).expect("the file was written")
}

/// A column of these numbers, one or more a row.
fn columns(name: &str, rows: usize, of: &[&str]) -> PathBuf {
    let path = scratch(&format!("input-{name}"));
    let mut text = format!(
        "%%MatrixMarket matrix array real general\n{rows} {}\n",
        of.len()
    );
    for value in of {
        text.push_str(&format!("{value}\n").repeat(rows));
    }
    std::fs::write(&path, text).expect("the file can be written");
    path
}

fn solve(options: &str) -> Run {
    vcycle(&format!(
        "solve poisson5:9 --solver cg --precond none --json {options}"
    ))
}

fn refused(run: &Run, message: &str) {
    run.check(2, message);
}

#[test]
fn standard_input_is_a_matrix_in_any_format() {
    for name in ["a.mtx", "a.mtx.gz", "a.mtx.xz", "a.mtx.zst", "a.npz"] {
        let bytes = generated(name);
        let solved = piped("solve - --json", &bytes);
        assert_eq!(solved.status, 0, "{name}: {}", solved.stderr);
        assert_eq!(solved.json()["rows"], 81);
        assert_eq!(solved.json()["problem"], "standard input");
        let told = piped("info - --json", &bytes);
        assert_eq!(told.json()["facts"]["rows"], 81, "{name}: {}", told.stderr);
    }
}

#[test]
fn what_is_wrong_with_standard_input_is_named() {
    refused(&piped("solve -", b""), "standard input: it is empty");
    refused(&piped("info -", b""), "standard input: it is empty");
    let word = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 abc\n";
    let expected = "standard input:4:5: expected a number, found `abc`";
    refused(&piped("solve -", word.as_bytes()), expected);
    let cut = &generated("cut.npz")[..200];
    refused(&piped("solve -", cut), "standard input: ");
    let cut = &generated("cut.mtx.gz")[..100];
    refused(
        &piped("solve -", cut),
        "standard input: the file is cut short",
    );
}

/// `script` gives its command a terminal; without it there is nothing to test.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_has_no_matrix() {
    let program = env!("CARGO_BIN_EXE_vcycle");
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{program} solve -"), "/dev/null"]);
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let told = run(command.stdin(Stdio::null()));
    assert_eq!(told.status, 2);
    assert!(told.stdout.contains("it is a terminal"), "{}", told.stdout);
}

#[test]
fn iterations_start_from_a_guess() {
    let x = scratch("input-x.mtx");
    let first = solve(&format!("--rtol 1e-10 --output {}", x.display()));
    assert_eq!(first.status, 0, "{}", first.stderr);
    let again = solve(&format!("--x0 {}", x.display()));
    assert_eq!(again.json()["iterations"], 0);
    // Of two right-hand sides the guess solves the first.
    let b = columns("b.mtx", 81, &["1", "2"]);
    let both = solve(&format!("--rhs {} --x0 {}", b.display(), x.display()));
    assert_eq!(both.status, 0, "{}", both.stderr);
    assert!(both.json()["iterations"].as_u64().unwrap() > 0);
    let each = columns("guesses.mtx", 81, &["0.5", "1"]);
    let each = solve(&format!("--rhs {} --x0 {}", b.display(), each.display()));
    assert_eq!(each.status, 0, "{}", each.stderr);
}

#[test]
fn guesses_that_do_not_fit_are_named() {
    let guess = |path: &Path| solve(&format!("--x0 {}", path.display()));
    let short = columns("short.mtx", 3, &["1"]);
    refused(
        &guess(&short),
        "input-short.mtx` has 3 rows, the matrix has 81",
    );
    let wide = columns("wide.mtx", 81, &["1", "2"]);
    refused(
        &guess(&wide),
        "input-wide.mtx` has 2 columns; 1 or 1 are needed",
    );
    let infinite = columns("infinite.mtx", 81, &["inf"]);
    refused(&guess(&infinite), "input-infinite.mtx:3:1: ");
    refused(&guess(Path::new("none.mtx")), "none.mtx: no such file");
}

#[test]
fn any_tolerance_ends_the_solve() {
    let residual = |options: &str| {
        let run = solve(options);
        assert_eq!(run.status, 0, "{options}: {}", run.stderr);
        run.json()["relative_residual"].as_f64().unwrap()
    };
    // The right-hand side of ones has the norm 9.
    let absolute = residual("--rtol 0 --atol 0.09");
    assert!(absolute <= 1e-2 && absolute > 1e-8, "{absolute}");
    let reduced = residual("--rtol 0 --reduction 1e-3");
    assert!(reduced <= 1e-3 && reduced > 1e-8, "{reduced}");
    let first = residual("--rtol 1e-2 --atol 1e-12 --reduction 1e-12");
    assert!(first <= 1e-2 && first > 1e-8, "{first}");
    assert!(residual("--atol 1e-12") <= 1e-8);
    let guess = columns("far.mtx", 81, &["1000"]);
    let far = residual(&format!(
        "--rtol 0 --reduction 1e-2 --x0 {}",
        guess.display()
    ));
    assert!(far > 1e-2, "{far}");
    let config = solve("--rtol 0 --atol 0.5 --reduction 0.25").json()["config"]["stop"].clone();
    assert_eq!(
        (config["atol"].as_f64(), config["reduction"].as_f64()),
        (Some(0.5), Some(0.25))
    );
    refused(&solve("--atol -1"), "`atol` cannot be -1");
    refused(&solve("--reduction nan"), "`reduction` cannot be NaN");
}
