//! `vcycle-bench read`: reading Matrix Market files, beside SciPy.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use vcycle::io::{load_matrix, write_matrix};

use crate::common::Folder;
use crate::prelude::*;
use crate::{install, problem};

const SCIPY: &str = include_str!("../peers/read_mtx.py");

pub(crate) fn run(args: &Args) -> Result<()> {
    let python = install::python(Path::new(args.text("venv")), &["scipy", "numpy"])?;
    let folder = Folder::new()?;
    let mut table = args.table("files");
    for name in args.list("problems") {
        let file = folder.path().join("matrix.mtx");
        let executor = Executor::cpu();
        write_matrix(&file, &problem::matrix(&executor, name)?)?;
        let [ours, coo, csr] = race(&python, &file, &executor, args.count("rounds"))?;
        let megabytes = std::fs::metadata(&file)?.len() as f64 / 1e6;
        let [to_coo, to_csr] = [coo / ours, csr / ours];
        table.row(row![name, megabytes, ours, coo, to_coo, csr, to_csr]);
    }
    print_line!("{table}");
    Ok(())
}

/// The best times of all readers, taking turns: ours, SciPy to coordinates, SciPy to rows.
fn race(python: &Path, file: &Path, executor: &Executor, rounds: usize) -> Result<[f64; 3]> {
    let mut best = [f64::INFINITY; 3];
    for _ in 0..rounds {
        let start = Instant::now();
        let matrix = load_matrix(file, executor)?;
        let ours = start.elapsed().as_secs_f64();
        drop(matrix);
        let [coo, csr] = scipy(python, file, executor.threads())?;
        for (best, new) in best.iter_mut().zip([ours, coo, csr]) {
            *best = best.min(new);
        }
    }
    Ok(best)
}

fn scipy(python: &Path, file: &Path, threads: usize) -> Result<[f64; 2]> {
    let threads = threads.to_string();
    let options = ["--repeat", "1", "--threads", &threads];
    let mut command = Command::new(python);
    let output = install::output(command.args(["-c", SCIPY]).arg(file).args(options))?;
    let answer: serde_json::Value = serde_json::from_str(&output)?;
    let seconds = |key: &str| answer[key].as_f64().ok_or(format!("SciPy gave no {key}"));
    Ok([seconds("read_seconds")?, seconds("csr_seconds")?])
}
