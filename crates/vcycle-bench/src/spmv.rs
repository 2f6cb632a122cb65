//! `vcycle-bench spmv`: sparse matrix times vector.

use std::cell::RefCell;
use std::path::Path;

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::scalar::Kind::{Bf16, F16, F32, F64};
use vcycle::vector::Vector;

use crate::asked::Asked;
use crate::common::{Result, short, threads};
use crate::install;
use crate::mkl::{self, Mkl};
use crate::problem::{self, BenchSystem};
use crate::products::{Kinds, Product, kinds, product, ramp};
use crate::table::row;
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
/// The same for several columns.
const OF_COLUMNS: [Kinds; 6] = [
    kinds(F64, F64),
    kinds(F32, F32),
    kinds(Bf16, F32),
    kinds(Bf16, Bf16),
    kinds(F16, F32),
    kinds(F16, F16),
];

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let threads = threads(asked.maybe_count("threads"))?;
    if !asked.counts("columns").is_empty() {
        return several_columns(asked, threads);
    }
    bandwidth(asked, threads)?;
    match asked.list("peers").is_empty() {
        true => Ok(()),
        false => peers(asked, threads),
    }
}

fn name(one: &Product) -> String {
    format!("csr {}, vectors {}", one.kinds[0], one.kinds[1])
}

fn candidate(one: &mut Product) -> &mut dyn Candidate {
    &mut one.work
}

fn bandwidth(asked: &Asked, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), asked.text("matrix"))?;
    let (rows, entries) = (a.size().rows, a.nonzeros());
    say!("{}: {rows} rows, {entries} entries", asked.text("matrix"));
    let mut table = asked.table("bandwidth");
    for threads in [1, threads] {
        let executor = Executor::cpu_with_threads(threads)?;
        let (pool, mut triad) = (pool(threads)?, Triad::new());
        let all = PRECISIONS.map(|kinds| product(&a, kinds, (1, 1), &executor));
        let mut all = all.into_iter().collect::<Result<Vec<_>>>()?;
        let bytes = triad.bytes();
        let mut triad = triad.on(&pool);
        let mut candidates: Vec<&mut dyn Candidate> = vec![&mut triad];
        candidates.extend(all.iter_mut().map(candidate));
        let best = race(&mut candidates, asked.measuring())?;
        let fastest = bytes / best[0];
        let mut row = |name: &str, bytes: f64, seconds: f64, gain: Option<f64>| {
            let speed = bytes / seconds;
            let share = 100.0 * speed / fastest;
            table.row(row![threads, name, seconds * 1e3, speed / 1e9, share, gain]);
        };
        row("triad", bytes, best[0], None);
        for (one, &seconds) in all.iter().zip(&best[1..]) {
            row(&name(one), one.bytes, seconds, Some(best[1] / seconds));
        }
    }
    say!("{table}\n{}\n", asked.note("bandwidth", &[]));
    Ok(())
}

/// Products with several columns at once; `VCYCLE_SIMD` limits the instructions that are used.
fn several_columns(asked: &Asked, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), asked.text("matrix"))?;
    let executor = Executor::cpu_with_threads(threads)?;
    let mut table = asked.table("columns");
    for columns in asked.counts("columns") {
        let all = OF_COLUMNS.map(|kinds| product(&a, kinds, (columns, 1), &executor));
        let mut all = all.into_iter().collect::<Result<Vec<_>>>()?;
        let mut candidates: Vec<_> = all.iter_mut().map(candidate).collect();
        let best = race(&mut candidates, asked.measuring())?;
        for (one, seconds) in all.iter().zip(&best) {
            table.row(row![columns, name(one), seconds * 1e3, best[0] / seconds]);
        }
    }
    say!("{}, threads {threads}\n{table}", asked.text("matrix"));
    Ok(())
}

fn peers(asked: &Asked, threads: usize) -> Result<()> {
    let python = install::python(Path::new(asked.text("venv")), &mkl::PACKAGES)?;
    let mut table = asked.table("peers");
    for name in asked.list("peers") {
        let a = problem::matrix(&Executor::reference(), name)?;
        let vector = ramp(a.size().cols);
        let system = BenchSystem::plain(a, vector);
        let mut mkl = Mkl::start(&python, &system)?;
        for mode in ["plain", "csr", "copy"] {
            check(&system, mkl.checksum(mode)?)?;
        }
        let mkl = RefCell::new(mkl);
        for threads in [1, threads] {
            eprintln!("{name}, threads {threads}");
            let executor = Executor::cpu_with_threads(threads)?;
            let mut ours = product(&system.matrix, kinds(F64, F64), (1, 1), &executor)?;
            let candidates: &mut [&mut dyn Candidate] = &mut [
                &mut ours.work,
                &mut Mkl::on(&mkl, "plain", threads),
                &mut Mkl::on(&mkl, "csr", threads),
                &mut Mkl::on(&mkl, "copy", threads),
            ];
            let best = race(candidates, asked.measuring())?;
            let who = ["vcycle", "sparse-dot-mkl", "MKL csr", "MKL copy"];
            for (who, seconds) in who.iter().zip(&best) {
                table.row(row![
                    short(name),
                    threads,
                    *who,
                    seconds * 1e3,
                    seconds / best[0]
                ]);
            }
        }
    }
    say!("{table}\n{}", asked.note("peers", &[]));
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
