//! What cannot fit is refused before it begins, with what it needs and what there is.

mod common;

use std::process::Command;

use common::{Run, run, scratch};

/// Runs `vcycle` as if so much memory were available.
fn with_memory(memory: &str, arguments: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vcycle"));
    command.args(arguments.split_whitespace());
    run(command.env("VCYCLE_MEMORY", memory))
}

fn refused(run: &Run, words: &[&str]) {
    assert_eq!(run.status, 2, "{}{}", run.stdout, run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
}

#[test]
fn a_problem_that_cannot_fit_is_refused_at_once() {
    let run = with_memory("24G", "solve poisson7:1000");
    let expected = "a solve of `poisson7:1000` needs about 246.9 GB of memory, and 24.0 GB are available on `cpu`";
    refused(&run, &["error: ", expected, "hint: "]);
    // The matrix would fit, multigrid would not; something simpler would.
    let run = with_memory("24G", "solve poisson7:500");
    refused(&run, &["a solve of `poisson7:500` needs about 30."]);
    let run = with_memory("24G", "gen poisson7:1000 -o never.mtx");
    refused(&run, &["the matrix of `poisson7:1000` needs about 91.9 GB"]);
    let run = with_memory("24G", "info poisson7:1000 --no-hierarchy");
    refused(
        &run,
        &["`poisson7:1000` (a solve: about 246.9 GB) needs about 91.9 GB"],
    );
    let run = with_memory("1G", "solve poisson7:10 --json");
    assert_eq!(run.status, 0, "{}", run.stderr);
}

#[test]
fn a_file_that_cannot_fit_is_refused_by_its_header() {
    let path = scratch("memory-large.mtx.gz");
    let small = scratch("memory-small.mtx");
    let text =
        "%%MatrixMarket matrix coordinate real symmetric\n9000000 9000000 60000000\n1 1 1.0\n";
    std::fs::write(&small, text).unwrap();
    let zipped = Command::new("gzip").arg("-c").arg(&small).output();
    let Ok(zipped) = zipped else { return };
    std::fs::write(&path, zipped.stdout).unwrap();
    let run = with_memory("1G", &format!("solve {}", path.display()));
    let numbers = [
        "memory-large.mtx.gz: a solve of",
        "needs about",
        "1.0 GB are available",
    ];
    refused(&run, &numbers);
    let run = with_memory("unlimited", &format!("solve {}", path.display()));
    refused(
        &run,
        &["60000000 entries are announced, but there are only 1"],
    );
}

#[test]
fn a_set_up_that_cannot_fit_is_refused_with_its_name() {
    let path = scratch("memory-poisson.npz");
    let made = with_memory("1G", &format!("gen poisson7:20 -o {}", path.display()));
    assert_eq!(made.status, 0, "{}", made.stderr);
    // Enough for the matrix and for structured multigrid, which may suit it as far as its size tells.
    let solve = format!("solve {}", path.display());
    let run = with_memory("12.4M", &format!("{solve} --precond fsai --solver cg"));
    refused(
        &run,
        &["a solve of", "needs about 15.", "12.4 MB are available"],
    );
    let run = with_memory(
        "20M",
        &format!("{solve} --precond jacobi --solver cg --json"),
    );
    assert_eq!(run.status, 0, "{}", run.stderr);
    let run = with_memory("1.5M", "solve poisson7:20 --solver cg --precond jacobi");
    refused(&run, &["needs about 1"]);
}

#[test]
fn factors_that_cannot_fit_are_refused_before_they_are_made() {
    let run = with_memory("13M", "solve poisson7:8 --solver direct");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let run = with_memory("13M", "solve poisson7:24 --solver direct");
    let words = [
        "the factorisation of solver `direct` needs about",
        "13.0 MB are available",
    ];
    refused(&run, &words);
}

#[test]
fn info_tells_the_memory_of_a_solve() {
    let run = with_memory("24G", "info poisson7:30");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("memory of a solve"), "{}", run.stdout);
    assert!(run.stdout.contains("24.0 GB available"), "{}", run.stdout);
    let object = with_memory("24G", "info poisson7:30 --json").json();
    let memory = &object["memory"];
    let parts = ["matrix", "preconditioner", "vectors", "total"];
    assert!(
        parts.iter().all(|part| memory[part].as_u64().unwrap() > 0),
        "{memory}"
    );
    let run = with_memory("1.2M", "info poisson7:20");
    assert!(
        run.stdout.contains("no multigrid levels: the set-up"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}
