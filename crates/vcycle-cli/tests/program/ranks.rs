//! Solves by ranks that are threads; `scripts/mpi-test` has those that are processes.

use std::path::Path;

use crate::common::{ok, scratch, vcycle};
use serde_json::Value;

fn iterations(summary: &Value) -> i64 {
    summary["iterations"].as_i64().unwrap()
}

/// Rows and entries of the levels.
fn levels(summary: &Value) -> Vec<[u64; 2]> {
    let levels = summary["levels"].as_array().unwrap().iter();
    let numbers = |level: &Value| ["rows", "nonzeros"].map(|key| level[key].as_u64().unwrap());
    levels.map(numbers).collect()
}

/// The numbers of a file that a solve has written.
fn numbers(path: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('%'));
    let words = lines.skip(1).flat_map(str::split_whitespace);
    words.map(|word| word.parse().unwrap()).collect()
}

#[test]
fn ranks_solve_as_one_does() {
    let small = "amg:pmis,gather-rows=50";
    for problem in ["poisson7:10", "convdiff7:8,20", "elasticity:6x3x3"] {
        let alone = vcycle(&format!("solve {problem} --precond {small} --json")).json();
        for ranks in [1, 3] {
            let options = format!("solve {problem} --precond {small} --ranks {ranks} --json");
            let found = vcycle(&options).json();
            assert_eq!(found["status"], "converged", "{options}");
            assert_eq!(found["rows"], alone["rows"]);
            assert_eq!(found["ranks"].as_array().unwrap().len(), ranks);
            assert_eq!(levels(&found), levels(&alone), "{options}");
            let apart = iterations(&found) - iterations(&alone);
            assert!(apart.abs() <= 1, "{options}: {apart}");
        }
    }
}

#[test]
fn ranks_share_grids() {
    let structured = "--precond struct-mg:gather-cells=100,coarsest-cells=30";
    for problem in ["poisson27:8x7x12", "aniso5:20x30,0.01"] {
        let solved = |ranks: &str| {
            let summary = vcycle(&format!("solve {problem} {structured} --json {ranks}")).json();
            assert_eq!(summary["status"], "converged", "{problem} {ranks}");
            let rows = levels(&summary).into_iter().map(|[rows, _]| rows);
            (rows.collect::<Vec<_>>(), iterations(&summary))
        };
        let (alone, iterations) = solved("");
        for ranks in ["--ranks 1", "--ranks 3"] {
            let (levels, count) = solved(ranks);
            assert_eq!(levels, alone, "{problem} {ranks}");
            assert!(
                count.abs_diff(iterations) <= 1,
                "{problem} {ranks}: {count}"
            );
        }
    }
}

#[test]
fn other_partitions_have_the_same_levels_on_any_number_of_ranks() {
    let amg = "amg:pmis,gather-rows=50";
    for problem in [
        "poisson7:10 --partition boxes",
        "elasticity:6x3x3 --partition graph",
    ] {
        let solved = |ranks: usize| {
            let path = scratch(&format!("partition-{ranks}.mtx"));
            let output = format!("--rtol 1e-11 --output {}", path.display());
            let options =
                format!("solve {problem} --precond {amg} --ranks {ranks} --json {output}");
            (levels(&vcycle(&options).json()), numbers(&path))
        };
        let (alone, x) = solved(1);
        let (shared, y) = solved(3);
        assert_eq!(alone, shared, "{problem}");
        let path = scratch("natural.mtx");
        let natural = problem.split(' ').next().unwrap();
        vcycle(&format!(
            "solve {natural} --rtol 1e-11 -q --output {}",
            path.display()
        ));
        let expected = numbers(&path);
        let size = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        for found in [x, y] {
            let mut pairs = found.iter().zip(&expected);
            assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-7 * size), "{problem}");
        }
    }
}

#[test]
fn the_solution_is_written_once_and_whole() {
    let path = scratch("ranks.mtx");
    let written = |ranks: &str| {
        let options = format!(
            "solve poisson5:9 --rhs random:3 -q --output {}",
            path.display()
        );
        ok(&format!("{options} {ranks}"));
        numbers(&path)
    };
    let (alone, shared) = (written("--rtol 1e-12"), written("--rtol 1e-12 --ranks 4"));
    assert_eq!(alone.len(), 81);
    assert!(alone.iter().zip(&shared).all(|(a, b)| (a - b).abs() < 1e-9));
}

#[test]
fn ranks_solve_in_every_precision_and_in_complex_numbers() {
    for options in [
        "poisson5:20 --precision sp --solver cg --precond l1-jacobi",
        "poisson5:20 --precision dp/sp --precond amg:mis2,gather-rows=50",
        "magnetic:12,0.05 --solver cg --precond fsai",
        "helmholtz:12,5,0.5 --precision sp --precond amg:pmis,gather-rows=50",
    ] {
        let solved = |ranks: &str| vcycle(&format!("solve {options} --json {ranks}")).json();
        let (alone, found) = (solved(""), solved("--ranks 3"));
        assert_eq!(found["status"], "converged", "{options}");
        let apart = iterations(&found) - iterations(&alone);
        assert!(apart.abs() <= 2, "{options}: {apart}");
    }
    let (matrix, x) = (scratch("ranks-complex.mtx"), scratch("ranks-complex-x.mtx"));
    let text = "%%MatrixMarket matrix coordinate complex hermitian\n3 3 5\n1 1 4 0\n2 1 1 1\n2 2 4 0\n3 2 0 -1\n3 3 4 0\n";
    std::fs::write(&matrix, text).unwrap();
    let written = |ranks: &str| {
        let (matrix, x) = (matrix.display(), x.display());
        ok(&format!(
            "solve {matrix} --rtol 1e-12 -q --output {x} {ranks}"
        ));
        numbers(&scratch("ranks-complex-x.mtx"))
    };
    let (alone, shared) = (written(""), written("--ranks 2"));
    assert_eq!(alone.len(), 6);
    assert!(alone.iter().zip(&shared).all(|(a, b)| (a - b).abs() < 1e-9));
}

#[test]
fn ranks_share_a_device() {
    let found = vcycle_gpu::discover().into_iter();
    let mut devices = found.filter_map(|found| found.devices.ok()).flatten();
    let Some(device) = devices.find(|device| device.is_cpu) else {
        eprintln!("skipped: no OpenCL processor here");
        return;
    };
    let path = scratch("shared-device.mtx");
    let solved = |gathered: usize, options: &str| {
        let amg = format!("amg:pmis,gather-rows={gathered},coarsest-rows=50");
        let given = format!("solve poisson7:10 --precond {amg} --json {options}");
        let found = vcycle(&format!("{given} --output {}", path.display())).json();
        assert_eq!(found["status"], "converged");
        (found, std::fs::read(&path).unwrap())
    };
    let on_device = format!("--device {}", device.name);
    // Rank 0 solves for all, as it does alone.
    let (alone, expected) = solved(10, &on_device);
    let (led, x) = solved(10, &format!("{on_device} --ranks 3 --threads 1"));
    assert!(x == expected && led["iterations"] == alone["iterations"]);
    let messages = led["messages"].to_string();
    assert!(messages.contains("rank 0 solves for all"), "{messages}");
    assert_eq!(led["ranks"].as_array().unwrap().len(), 3);
    // Levels that are shared nevertheless.
    let (here, _) = solved(0, "--ranks 2");
    let (there, _) = solved(0, &format!("{on_device} --ranks 2"));
    assert_eq!(there["iterations"], here["iterations"]);
    let told = there["messages"][1].as_str().unwrap();
    assert!(told.contains("share"), "{told}");
}
