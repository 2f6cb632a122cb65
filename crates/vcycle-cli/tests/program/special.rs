//! What is no command with its output: terminals, zipped headers, devices, commands that `info` prints.

use std::process::{Command, Stdio};

use crate::common::{ended, ok, run, scratch, vcycle};

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
    let ended = run(command.stdin(Stdio::null()));
    assert_eq!(ended.status, 2);
    assert!(
        ended.stdout.contains("it is a terminal"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_folder_is_no_matrix() {
    let folder = scratch("folder.mtx");
    std::fs::create_dir_all(&folder).unwrap();
    let run = vcycle(&format!("solve {}", folder.display()));
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("folder.mtx: "), "{}", run.stderr);
}

#[test]
fn a_file_that_cannot_fit_is_refused_by_its_header() {
    let (small, large) = (scratch("large.mtx"), scratch("large.mtx.gz"));
    let text =
        "%%MatrixMarket matrix coordinate real symmetric\n9000000 9000000 60000000\n1 1 1.0\n";
    std::fs::write(&small, text).unwrap();
    let Ok(zipped) = Command::new("gzip").arg("-c").arg(&small).output() else {
        return;
    };
    std::fs::write(&large, zipped.stdout).unwrap();
    let too_large = "large.mtx.gz: a solve of|needs about|1.0 GB are available";
    let too_few = "60000000 entries are announced, but there are only 1";
    for (memory, words) in [("1G", too_large), ("unlimited", too_few)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vcycle"));
        let command = command.arg("solve").arg(&large);
        let run = run(command.env("VCYCLE_MEMORY", memory));
        let has_all = words.split('|').all(|word| run.stderr.contains(word));
        assert!(run.status == 2 && has_all, "{}", run.stderr);
    }
}

#[test]
fn every_driver_has_devices_or_a_reason() {
    let listing = vcycle("devices --json").json();
    let list = |key: &str| listing[key].as_array().unwrap().clone();
    for driver in ["cuda", "hip", "opencl"] {
        let of_driver = |name: &str| name.starts_with(&format!("{driver}:"));
        let mut devices = list("devices").into_iter();
        let there = devices.find(|device| of_driver(device["name"].as_str().unwrap()));
        let mut missing = list("missing").into_iter();
        let reason = missing.find(|none| none["driver"] == driver);
        match (there, reason) {
            (Some(device), None) => {
                let has_speed = device["copy_gigabytes_per_second"].is_number();
                assert!(device["memory_bytes"].as_u64().unwrap() > 0);
                assert!(has_speed != device["problem"].is_string());
            }
            (None, Some(none)) => assert!(!none["reason"].as_str().unwrap().contains('\n')),
            both => panic!("{driver}: {both:?}"),
        }
    }
}

#[test]
fn what_info_advises_works() {
    for problem in ["poisson5:60", "convdiff7:8,5"] {
        let advice = vcycle(&format!("info {problem} --json")).json()["advice"].clone();
        let advice = advice.as_array().unwrap();
        assert!(advice.len() > 2, "{problem}");
        for entry in advice {
            let command = entry["command"].as_str().unwrap();
            let arguments = command.strip_prefix("vcycle ").unwrap();
            let report = scratch("advised.html").display().to_string();
            ok(&arguments.replace("report.html", &report));
        }
    }
}

/// What is lost on its way out is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let lost = "standard output: cannot be written: No space left";
    for arguments in [
        "solve poisson5:8 --json",
        "info poisson5:8",
        "config",
        "problems",
        "--help",
        "completions bash",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vcycle"));
        let command = command
            .args(arguments.split(' '))
            .stdout(full())
            .stderr(Stdio::piped());
        let run = ended(command.spawn().unwrap().wait_with_output().unwrap());
        assert!(
            run.status == 2 && run.stderr.contains(lost),
            "{arguments}: {}",
            run.stderr
        );
    }
    for option in ["--trace", "--report", "--precond amg --plot-coarsening"] {
        let run = vcycle(&format!("solve poisson5:40 -q {option} /dev/full"));
        assert!(
            run.status == 2 && run.stderr.contains("/dev/full: cannot be written"),
            "{option}: {}",
            run.stderr
        );
    }
}

/// Beyond the size that files may have here, the old one stays.
#[cfg(unix)]
#[test]
fn a_file_that_grows_too_large_leaves_the_old_one() {
    let path = scratch("limited.mtx");
    std::fs::write(&path, "old").unwrap();
    let program = env!("CARGO_BIN_EXE_vcycle");
    let script = format!(
        "ulimit -f 1; {program} gen poisson5:60 -o {}",
        path.display()
    );
    let run = run(Command::new("sh").args(["-c", &script]));
    assert!(
        run.status == 2 && run.stderr.contains("File too large"),
        "{}",
        run.stderr
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

/// Whether a process handles SIGINT, which vcycle does once iterations have begun.
#[cfg(target_os = "linux")]
fn handles_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & 2 != 0
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_solve_writes_its_best_iterate() {
    let path = scratch("interrupted.mtx");
    let trace = scratch("interrupted.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vcycle"));
    let options =
        "solve poisson5:200 --solver cg --precond none --rtol 0 --max-iters 1000000 --json -o";
    command
        .args(options.split(' '))
        .arg(&path)
        .arg("--trace")
        .arg(&trace);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !handles_interrupts(child.id()) {
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    let run = ended(child.wait_with_output().unwrap());
    assert_eq!(
        (run.status, run.json()["status"].as_str()),
        (1, Some("interrupted")),
        "{}",
        run.stderr
    );
    assert!(path.exists() && trace.exists());
}

/// What the program itself takes is left out on both sides: an unoptimised one takes more.
#[cfg(target_os = "linux")]
#[test]
fn estimates_of_memory_are_near_what_is_held() {
    let memory = |options: &str| {
        let found = vcycle(&format!("solve {options} --rtol 0 --max-iters 60 --json")).json();
        ["estimated", "peak"].map(|what| found[format!("{what}_memory_bytes")].as_f64().unwrap())
    };
    let nothing = memory("poisson5:2 --solver cg --precond none");
    for options in [
        "poisson7:60 --solver cg --precond struct-mg",
        "poisson5:300 --solver cg --precond amg:pmis",
        "poisson7:40 --solver gmres:50 --precond ilu0",
    ] {
        let [estimated, held] = memory(options);
        let ratio = (estimated - nothing[0]) / (held - nothing[1]);
        assert!((0.7..1.3).contains(&ratio), "{options}: {ratio}");
    }
}
