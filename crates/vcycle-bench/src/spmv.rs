//! `vcycle-bench spmv`: sparse matrix times vector.

use std::cell::RefCell;
use std::path::Path;

use vcycle::scalar::Kind::{Bf16, F16, F32, F64};

use crate::common::short;
use crate::install;
use crate::mkl::{self, Mkl};
use crate::prelude::*;
use crate::problem::{self, BenchSystem};
use crate::products::{Kinds, kinds, product, ramp};
use crate::timing::{Candidate, race};
use crate::triad::{Triad, pool};

/// Kinds of matrices and vectors beside the triad.
const PRECISIONS: [Kinds; 7] = [
    kinds(F64, F64),
    kinds(F32, F32),
    kinds(F32, F64),
    kinds(F16, F32),
    kinds(F16, F64),
    kinds(Bf16, F32),
    kinds(Bf16, F64),
];
pub(crate) fn run(args: &Args) -> Result<()> {
    let threads = args.threads()?;
    bandwidth(args, threads)?;
    match args.list("peers").is_empty() {
        true => Ok(()),
        false => peers(args, threads),
    }
}

fn bandwidth(args: &Args, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), args.text("matrix"))?;
    let (rows, entries) = (a.size().rows, a.nonzeros());
    print_line!("{}: {rows} rows, {entries} entries", args.text("matrix"));
    let mut table = args.table("bandwidth");
    for threads in [1, threads] {
        let executor = Executor::cpu_with_threads(threads)?;
        let (pool, mut triad) = (pool(threads)?, Triad::new());
        let all = PRECISIONS.map(|kinds| product(&a, kinds, 1, &executor));
        let mut all = all.into_iter().collect::<Result<Vec<_>>>()?;
        let bytes = triad.bytes();
        let mut triad = triad.on(&pool);
        let mut candidates: Vec<&mut dyn Candidate> = vec![&mut triad];
        candidates.extend(
            all.iter_mut()
                .map(|one| &mut one.work as &mut dyn Candidate),
        );
        let best = race(&mut candidates, args.measuring())?;
        let fastest = bytes / best[0];
        let mut row = |name: &str, bytes: f64, seconds: f64, gain: Option<f64>| {
            let speed = bytes / seconds;
            let share = 100.0 * speed / fastest;
            table.row(row![threads, name, seconds * 1e3, speed / 1e9, share, gain]);
        };
        row("triad", bytes, best[0], None);
        for (one, &seconds) in all.iter().zip(&best[1..]) {
            let name = format!("csr {}, vectors {}", one.kinds[0], one.kinds[1]);
            row(&name, one.bytes, seconds, Some(best[1] / seconds));
        }
    }
    print_line!("{table}\n{}\n", args.note("bandwidth", &[]));
    Ok(())
}

/// How MKL multiplies, as its script knows it.
const MODES: [&str; 3] = ["plain", "csr", "copy"];

fn peers(args: &Args, threads: usize) -> Result<()> {
    let python = install::python(Path::new(args.text("venv")), &mkl::PACKAGES)?;
    let mut table = args.table("peers");
    for name in args.list("peers") {
        let a = problem::matrix(&Executor::reference(), name)?;
        let vector = ramp(a.size().cols);
        let system = BenchSystem::plain(a, vector);
        let mut mkl = Mkl::start(&python, &system)?;
        for mode in MODES {
            check(&system, mkl.checksum(mode)?)?;
        }
        let mkl = RefCell::new(mkl);
        for threads in [1, threads] {
            eprintln!("{name}, threads {threads}");
            let executor = Executor::cpu_with_threads(threads)?;
            let mut ours = product(&system.matrix, kinds(F64, F64), 1, &executor)?;
            let mut theirs = MODES.map(|mode| Mkl::on(&mkl, mode, threads));
            let theirs = theirs.iter_mut().map(|one| one as &mut dyn Candidate);
            let ours: &mut dyn Candidate = &mut ours.work;
            let mut candidates: Vec<_> = [ours].into_iter().chain(theirs).collect();
            let best = race(&mut candidates, args.measuring())?;
            let who = ["vcycle", "sparse-dot-mkl", "MKL csr", "MKL copy"];
            for (who, time) in who.into_iter().zip(&best) {
                let ratio = time / best[0];
                table.row(row![short(name), threads, who, time * 1e3, ratio]);
            }
        }
    }
    print_line!("{table}\n{}", args.note("peers", &[]));
    Ok(())
}

/// Fails unless a peer's product adds up to ours.
fn check(system: &BenchSystem, theirs: f64) -> Result<()> {
    let a = &system.matrix;
    let x = Vector::from_column(a.executor(), system.rhs.clone());
    let mut y = Vector::<f64>::zeros(a.executor(), a.size().rows, 1)?;
    a.apply(&x, &mut y, &Workspace::new())?;
    let values = y.to_vec();
    let (ours, scale): (f64, f64) = (values.iter().sum(), values.iter().map(|v| v.abs()).sum());
    match (ours - theirs).abs() <= 1e-10 * scale {
        true => Ok(()),
        false => Err(format!("the peer's product adds up to {theirs}, ours to {ours}").into()),
    }
}
