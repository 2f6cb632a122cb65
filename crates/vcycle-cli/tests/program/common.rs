//! Runs the program.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// What one run of the program left behind.
#[derive(Default)]
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

/// Runs `vcycle`, which succeeds.
pub fn ok(arguments: &str) -> Run {
    let run = vcycle(arguments);
    let message = format!("{arguments}: {}{}", run.stdout, run.stderr);
    assert_eq!(run.status, 0, "{message}");
    run
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Run {
    ended(command.output().expect("the program starts"))
}

/// Runs a program with bytes on its standard input.
pub fn fed(command: &mut Command, bytes: &[u8]) -> Run {
    let command = command.stdin(Stdio::piped());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(bytes).expect("the program reads all of it");
    drop(stdin);
    ended(child.wait_with_output().expect("the program ends"))
}

/// What a program that has ended left behind.
pub fn ended(output: Output) -> Run {
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
