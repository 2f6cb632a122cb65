//! Peers: other libraries, installed into a virtual environment and asked to do the same work.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use vcycle::matrix::Csr;

use crate::Result;
use crate::folder::Folder;
use crate::timing::Candidate;

const MKL: &str = include_str!("../peers/mkl_spmv.py");
/// The threads of a peer may spin this long after their work; nothing else is timed meanwhile.
const SPIN: std::time::Duration = std::time::Duration::from_millis(250);

/// Makes the virtual environment unless it is there; returns its interpreter.
pub(crate) fn install(venv: &Path, packages: &[&str]) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    if !python.exists() {
        done(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    }
    done(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet"])
            .args(packages),
    )?;
    Ok(python)
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{command:?} ended with {status}").into())
}

/// Intel MKL in a process of its own, holding one matrix.
pub(crate) struct Mkl {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _folder: Folder,
}

impl Mkl {
    /// Hands the matrix over and prepares products with it for both numbers of threads.
    pub(crate) fn start(python: &Path, a: &Csr<f64>) -> Result<Self> {
        let folder = Folder::new()?;
        write(
            folder.path(),
            "offsets",
            a.offsets().iter().map(|&o| (o as u64).to_le_bytes()),
        )?;
        write(
            folder.path(),
            "columns",
            a.columns().iter().map(|c| c.to_le_bytes()),
        )?;
        write(
            folder.path(),
            "values",
            a.values().iter().map(|v| v.to_le_bytes()),
        )?;
        let mut process = Command::new(python)
            .args(["-c", MKL])
            .arg(folder.path())
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

    /// The sum of the product with the vector of the benchmark, to see that both do the same.
    pub(crate) fn checksum(&mut self) -> Result<f64> {
        self.ask("checksum")
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

fn write<const N: usize>(
    folder: &Path,
    name: &str,
    values: impl Iterator<Item = [u8; N]>,
) -> Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(name))?);
    for value in values {
        file.write_all(&value)?;
    }
    Ok(file.flush()?)
}
