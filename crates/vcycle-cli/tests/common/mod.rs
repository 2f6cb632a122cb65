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
