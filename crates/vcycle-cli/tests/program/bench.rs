//! `vcycle bench` starts `vcycle-bench`; a shell stands in for it here.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{run, scratch};

/// A folder of its own for one test.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    // There is none when the test runs for the first time.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("the folder can be made");
    folder
}

/// `vcycle` in a folder where cargo has put nothing beside it, run with nothing on `PATH` but another folder.
fn vcycle_in(folder: &Path, path: &Path) -> Command {
    let program = folder.join("vcycle");
    std::fs::hard_link(env!("CARGO_BIN_EXE_vcycle"), &program).expect("the program can be linked");
    let mut command = Command::new(program);
    command.env("PATH", path);
    command
}

fn put_stand_in(folder: &Path) {
    symlink("/bin/sh", folder.join("vcycle-bench")).expect("a link can be made");
}

/// Prints the arguments after its own name, one a line, and ends with a status that only it has.
const STAND_IN: [&str; 3] = ["-c", r#"printf '%s\n' "$@"; exit 7"#, "stand-in"];

#[test]
fn arguments_and_status_are_passed_on_and_signals_are_failures() {
    let home = folder("bench-beside");
    put_stand_in(&home);
    let mut command = vcycle_in(&home, Path::new(""));
    command.args(["bench"]).args(STAND_IN);
    let ended = run(command.args(["spmv", "--help", "two words", "--", "-h"]));
    assert_eq!(ended.stdout, "spmv\n--help\ntwo words\n--\n-h\n");
    assert_eq!(ended.status, 7);
    let mut command = Command::new(home.join("vcycle"));
    let command = command.env("PATH", "").args(["bench", "-c", "kill -9 $$"]);
    assert_eq!(run(command).status, 1);
}

#[test]
fn the_program_is_found_on_the_path() {
    let (home, path) = (folder("bench-home"), folder("bench-path"));
    put_stand_in(&path);
    let mut command = vcycle_in(&home, &path);
    let run = run(command.args(["bench"]).args(STAND_IN).arg("found"));
    assert_eq!((run.stdout.as_str(), run.status), ("found\n", 7));
}

#[test]
fn reproduce_is_a_benchmark_with_a_name_of_its_own() {
    let home = folder("bench-reproduce");
    let program = home.join("vcycle-bench");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").expect("a file can be written");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, all).expect("it can be made a program");
    let run = run(vcycle_in(&home, Path::new("")).args(["reproduce", "zong", "--quick"]));
    assert_eq!(
        (run.stdout.as_str(), run.status),
        ("reproduce\nzong\n--quick\n", 0)
    );
}

#[test]
fn without_the_program_it_is_said_how_to_get_it() {
    for (name, arguments) in [("bench-none", "spmv"), ("bench-none-help", "--help")] {
        let home = folder(name);
        let run = run(vcycle_in(&home, &home).args(["bench", arguments]));
        assert_eq!(run.status, 2);
        let expected = ["`vcycle-bench`", "cargo build --release -p vcycle-bench"];
        let all = expected.iter().all(|words| run.stderr.contains(words));
        assert!(all, "{}", run.stderr);
    }
}
