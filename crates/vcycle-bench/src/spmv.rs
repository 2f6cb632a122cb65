//! `vcycle-bench spmv`: sparse matrix times vector.

use std::cell::RefCell;
use std::path::PathBuf;

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, f16};
use vcycle::vector::Vector;

use crate::common::{Result, Table, threads};
use crate::install;
use crate::mkl::{self, Mkl};
use crate::problem::{self, BenchSystem};
use crate::timing::{Candidate, Work, race};
use crate::triad::{Triad, pool};

/// Options of `spmv`.
#[derive(Clone, Debug, clap::Args)]
pub struct SpmvArgs {
    /// Matrix for bandwidth and storage precisions
    #[arg(long, default_value = "poisson27:128")]
    matrix: String,
    /// Matrices for the comparison with Intel MKL
    #[arg(long, num_args = 0.., default_values = [
        "poisson7:128", "poisson27:96", "../shared/matrices/G2_circuit.mtx.xz",
    ])]
    peers: Vec<String>,
    /// Columns of vectors that the matrix is multiplied with, in place of one vector and of peers
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS,...")]
    columns: Vec<usize>,
    /// Threads; all cores unless given
    #[arg(long)]
    threads: Option<usize>,
    /// Turns each candidate takes
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// Seconds of one turn
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Where the peers are installed
    #[arg(long, default_value = "target/bench-venv")]
    venv: PathBuf,
}

pub(crate) fn run(arguments: &SpmvArgs) -> Result<()> {
    let threads = threads(arguments.threads)?;
    if !arguments.columns.is_empty() {
        return several_columns(arguments, threads);
    }
    bandwidth(arguments, threads)?;
    match arguments.peers.is_empty() {
        true => Ok(()),
        false => peers(arguments, threads),
    }
}

/// What matrices are multiplied with.
fn ramp(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| 1.0 + (i % 7) as f64 / 8.0).collect()
}

/// A product that is ready to be timed.
struct Product {
    name: String,
    /// Everything counted once.
    bytes: f64,
    work: Work<'static>,
}

/// A matrix of `M` with some columns of vectors of `V`.
fn product<M: Mixes<V, V>, V: Scalar>(
    a: &Csr<f64>,
    cols: usize,
    executor: &Executor,
) -> Result<Product> {
    let ramp = Vector::from_rows(executor, cols, ramp(a.size().cols * cols))?;
    let mut x = Vector::<V>::zeros(executor, a.size().cols, cols)?;
    x.copy_from(&ramp)?;
    let mut y = Vector::<V>::zeros(executor, a.size().rows, cols)?;
    let (a, ws): (Csr<M>, _) = (a.copy_to(executor)?.convert()?, Workspace::new());
    Ok(Product {
        name: format!("csr {}, vectors {}", M::KIND, V::KIND),
        bytes: (a.bytes() + x.bytes() + y.bytes()) as f64,
        work: Box::new(move || Ok(a.apply(&x, &mut y, &ws)?)),
    })
}

fn bandwidth(arguments: &SpmvArgs, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), &arguments.matrix)?;
    let (rows, entries) = (a.size().rows, a.nonzeros());
    say!("{}: {rows} rows, {entries} entries", arguments.matrix);
    let mut table = Table::new("threads | operation | ms | GB/s | % of triad | x f64");
    for threads in [1, threads] {
        let executor = Executor::cpu_with_threads(threads)?;
        let (pool, mut triad) = (pool(threads)?, Triad::new());
        let mut all = [
            product::<f64, f64>(&a, 1, &executor)?,
            product::<f32, f32>(&a, 1, &executor)?,
            product::<f32, f64>(&a, 1, &executor)?,
            product::<f16, f32>(&a, 1, &executor)?,
            product::<f16, f64>(&a, 1, &executor)?,
            product::<bf16, f32>(&a, 1, &executor)?,
            product::<bf16, f64>(&a, 1, &executor)?,
        ];
        let bytes = triad.bytes();
        let mut triad = triad.on(&pool);
        let mut candidates: Vec<&mut dyn Candidate> = vec![&mut triad];
        candidates.extend(
            all.iter_mut()
                .map(|one| &mut one.work as &mut dyn Candidate),
        );
        let best = race(&mut candidates, arguments.rounds, arguments.seconds)?;
        let (fastest, double) = (bytes / best[0], best[1]);
        let mut row = |name: &str, bytes: f64, seconds: f64, gain: String| {
            let (ms, speed) = (seconds * 1e3, bytes / seconds);
            let share = 100.0 * speed / fastest;
            table.row(format!(
                "{threads} | {name} | {ms:.2} | {:.2} | {share:.0} | {gain}",
                speed / 1e9
            ));
        };
        row("triad", bytes, best[0], String::new());
        for (one, &seconds) in all.iter().zip(&best[1..]) {
            row(
                &one.name,
                one.bytes,
                seconds,
                format!("{:.2}", double / seconds),
            );
        }
    }
    say!(
        "{table}\nGB/s: all CSR arrays, x and y, each counted once. More than the triad is possible where \
         rows repeat each other moved by a column: their columns are not read.\n"
    );
    Ok(())
}

/// Products with several columns at once; `VCYCLE_SIMD` limits the instructions that are used.
fn several_columns(arguments: &SpmvArgs, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), &arguments.matrix)?;
    let executor = Executor::cpu_with_threads(threads)?;
    let mut table = Table::new("columns | operation | ms | x f64");
    for &cols in &arguments.columns {
        let mut all = [
            product::<f64, f64>(&a, cols, &executor)?,
            product::<f32, f32>(&a, cols, &executor)?,
            product::<bf16, f32>(&a, cols, &executor)?,
            product::<bf16, bf16>(&a, cols, &executor)?,
            product::<f16, f32>(&a, cols, &executor)?,
            product::<f16, f16>(&a, cols, &executor)?,
        ];
        let candidates = all
            .iter_mut()
            .map(|one| &mut one.work as &mut dyn Candidate);
        let mut candidates: Vec<_> = candidates.collect();
        let best = race(&mut candidates, arguments.rounds, arguments.seconds)?;
        for (one, seconds) in all.iter().zip(&best) {
            let (name, ms, gain) = (&one.name, seconds * 1e3, best[0] / seconds);
            table.row(format!("{cols} | {name} | {ms:.3} | {gain:.2}"));
        }
    }
    say!("{}, threads {threads}\n{table}", arguments.matrix);
    Ok(())
}

fn peers(arguments: &SpmvArgs, threads: usize) -> Result<()> {
    let python = install::python(&arguments.venv, &mkl::PACKAGES)?;
    let mut table = Table::new("matrix | threads | who | ms | vcycle is faster by");
    for name in &arguments.peers {
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
            let mut ours = product::<f64, f64>(&system.matrix, 1, &executor)?;
            let candidates: &mut [&mut dyn Candidate] = &mut [
                &mut ours.work,
                &mut Mkl::on(&mkl, "plain", threads),
                &mut Mkl::on(&mkl, "csr", threads),
                &mut Mkl::on(&mkl, "copy", threads),
            ];
            let best = race(candidates, arguments.rounds, arguments.seconds)?;
            let file = name.rsplit('/').next().unwrap_or(name);
            let who = ["vcycle", "sparse-dot-mkl", "MKL csr", "MKL copy"];
            for (who, seconds) in who.iter().zip(&best) {
                let (ms, faster) = (seconds * 1e3, seconds / best[0]);
                table.row(format!(
                    "{file} | {threads} | {who} | {ms:.3} | {faster:.2}"
                ));
            }
        }
    }
    say!(
        "{table}\nsparse-dot-mkl: its product, a plain CSR handle of MKL made for every call; MKL csr: \
         optimised for products, kept to the arrays it was given, as vcycle is; MKL copy: with a \
         second copy of the matrix in a format of its own."
    );
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
