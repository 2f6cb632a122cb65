//! Runs the program.

#![allow(dead_code)]

use std::path::PathBuf;
use std::process::{Command, Output};

/// What one run of the program left behind.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The program ended with this status, and said so on stderr.
    pub fn check(&self, status: i32, message: &str) {
        let told = format!("{message}: {}{}", self.stdout, self.stderr);
        assert_eq!(self.status, status, "{told}");
        assert!(self.stderr.contains(message), "{told}");
    }

    /// The one JSON object on stdout.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("stdout is not one JSON object: {error}\n{}", self.stdout)
        })
    }
}

/// Runs `vcycle` with arguments separated by spaces.
pub fn vcycle(arguments: &str) -> Run {
    run(Command::new(env!("CARGO_BIN_EXE_vcycle")).args(arguments.split_whitespace()))
}

/// Runs `vcycle`, which succeeds.
pub fn ok(arguments: &str) -> Run {
    let run = vcycle(arguments);
    let told = format!("{arguments}: {}{}", run.stdout, run.stderr);
    assert_eq!(run.status, 0, "{told}");
    run
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Run {
    let output: Output = command.output().expect("the program starts");
    Run {
        status: output.status.code().expect("the program exits by itself"),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// A path for a file of one test.
pub fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder.join(name)
}

/// The rows of a table of cases: a line each, with bars between the columns.
pub fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        columns.try_into().expect("as many columns as are named")
    })
}
