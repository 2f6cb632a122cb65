//! The exit status: 2 for bad input, 1 for a benchmark that fails.

use std::process::Command;

/// What one run of the program left behind.
struct Run {
    status: i32,
    stderr: String,
}

/// Runs `vcycle-bench` with arguments separated by spaces.
fn bench(arguments: &str) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_vcycle-bench"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the program starts");
    Run {
        status: output.status.code().expect("the program exits by itself"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

#[test]
fn a_benchmark_names_the_file_it_cannot_write() {
    let run = bench("struct poisson7:3 --ablation no/such/folder/curves.svg");
    assert_eq!(run.status, 1);
    assert!(run.stderr.contains("curves.svg"), "{}", run.stderr);
}

#[test]
fn a_benchmark_needs_its_device() {
    for name in ["gpu", "gpu-setup"] {
        let run = bench(&format!("{name} --device opencl:99 --small"));
        assert_eq!(run.status, 2);
        assert!(run.stderr.contains("opencl"), "{}", run.stderr);
    }
    let folder = std::env::temp_dir().join(format!("vcycle-papers-{}", std::process::id()));
    let run = bench(&format!(
        "reproduce amgt --device opencl:99 -o {}",
        folder.display()
    ));
    assert_eq!(run.status, 2);
    let records = std::fs::read_dir(&folder).unwrap().count();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(records, 0);
    // Without a device it is that which is missed first.
    let run = bench("gpu-setup --device opencl:0 --only setup --problems nonsense:3");
    assert_eq!(run.status, 2);
    let missed = ["nonsense", "opencl"].map(|word| run.stderr.contains(word));
    assert!(missed.contains(&true), "{}", run.stderr);
    let run = bench("gpu --only everything");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("spmv"), "{}", run.stderr);
}
