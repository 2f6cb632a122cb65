//! Products by Intel MKL.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::Folder;
use crate::prelude::*;
use crate::problem::BenchSystem;
use crate::system_file;
use crate::timing::Candidate;

/// What is installed from PyPI.
pub(crate) const PACKAGES: [&str; 4] = ["mkl", "sparse-dot-mkl", "numpy", "scipy"];
const SCRIPT: &str = concat!(
    include_str!("../peers/system.py"),
    include_str!("../peers/mkl_spmv.py")
);
/// The threads of a peer may spin this long after their work; nothing else is timed meanwhile.
const SPIN: std::time::Duration = std::time::Duration::from_millis(250);

/// Intel MKL in a process of its own, holding one matrix.
pub(crate) struct Mkl {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _folder: Folder,
}

impl Mkl {
    /// Hands the system over; its right-hand side is what the matrix is multiplied with.
    pub(crate) fn start(python: &Path, system: &BenchSystem) -> Result<Self> {
        let folder = Folder::new()?;
        let file = folder.path().join("system");
        system_file::write(&file, system)?;
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self {
            questions: process.stdin.take().ok_or("no pipe to the peer")?,
            answers: BufReader::new(process.stdout.take().ok_or("no pipe from the peer")?),
            process,
            _folder: folder,
        })
    }

    fn ask(&mut self, question: &str) -> Result<f64> {
        writeln!(self.questions, "{question}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let parsed = answer.trim().parse();
        parsed.map_err(|_| format!("the peer answered `{}` to `{question}`", answer.trim()).into())
    }

    /// The sum of the product, to see that both do the same.
    pub(crate) fn checksum(&mut self, mode: &str) -> Result<f64> {
        self.ask(&format!("checksum {mode}"))
    }

    /// Products on some threads; `mode` is one the script knows.
    pub(crate) fn on<'m>(
        mkl: &'m RefCell<Self>,
        mode: &'static str,
        threads: usize,
    ) -> MklProduct<'m> {
        MklProduct { mkl, mode, threads }
    }
}

impl Drop for Mkl {
    fn drop(&mut self) {
        // It may have ended by itself, on an error of its own.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) struct MklProduct<'m> {
    mkl: &'m RefCell<Mkl>,
    mode: &'static str,
    threads: usize,
}

impl Candidate for MklProduct<'_> {
    fn best_within(&mut self, seconds: f64) -> Result<f64> {
        let question = format!("time {} {} {seconds}", self.mode, self.threads);
        let best = self.mkl.borrow_mut().ask(&question);
        std::thread::sleep(SPIN);
        best
    }
}
