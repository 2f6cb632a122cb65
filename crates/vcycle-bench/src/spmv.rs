//! `vcycle-bench spmv`: sparse matrix times vector.

use std::cell::RefCell;
use std::path::PathBuf;

use comfy_table::Table;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, f16};
use vcycle::vector::Vector;

use crate::common::{Result, table, threads};
use crate::problem::BenchSystem;
use crate::timing::{Candidate, race};
use crate::triad::{Triad, pool};
use crate::{install, mkl, problem};

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
    if arguments.peers.is_empty() {
        return Ok(());
    }
    peers(arguments, threads)
}

/// What matrices are multiplied with.
fn ramp(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| 1.0 + (i % 7) as f64 / 8.0).collect()
}

/// A matrix with vectors of its executor, ready to be multiplied.
struct Operation<M, V> {
    a: Csr<M>,
    x: Vector<V>,
    y: Vector<V>,
    ws: Workspace,
}

impl<M: Mixes<V, V>, V: Scalar> Operation<M, V> {
    fn new(a: &Csr<f64>, executor: &Executor) -> Result<Self> {
        Self::of_columns(a, 1, executor)
    }

    fn of_columns(a: &Csr<f64>, cols: usize, executor: &Executor) -> Result<Self> {
        let ramp = Vector::from_rows(executor, cols, ramp(a.size().cols * cols))?;
        let mut x = Vector::zeros(executor, a.size().cols, cols)?;
        x.copy_from(&ramp)?;
        Ok(Self {
            a: a.copy_to(executor)?.convert()?,
            y: Vector::zeros(executor, a.size().rows, cols)?,
            x,
            ws: Workspace::new(),
        })
    }

    /// Bytes of one product, everything counted once.
    fn bytes(&self) -> f64 {
        (self.a.bytes() + self.x.bytes() + self.y.bytes()) as f64
    }

    fn product(&mut self) -> impl Candidate + '_ {
        || Ok(self.a.apply(&self.x, &mut self.y, &self.ws)?)
    }
}

fn bandwidth(arguments: &SpmvArgs, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), &arguments.matrix)?;
    say!(
        "{}: {} rows, {} entries",
        arguments.matrix,
        a.size().rows,
        a.nonzeros()
    );
    let mut table = table(&["threads", "operation", "ms", "GB/s", "% of triad", "x f64"]);
    for threads in [1, threads] {
        rows(arguments, &a, threads, &mut table)?;
    }
    say!("{table}");
    say!(
        "GB/s: all CSR arrays, x and y, each counted once. More than the triad is possible where \
         rows repeat each other moved by a column: their columns are not read.\n"
    );
    Ok(())
}

/// Products with several columns at once; `VCYCLE_SIMD` limits the instructions that are used.
fn several_columns(arguments: &SpmvArgs, threads: usize) -> Result<()> {
    let a = problem::matrix(&Executor::reference(), &arguments.matrix)?;
    let executor = Executor::cpu_with_threads(threads)?;
    let mut table = table(&["columns", "operation", "ms", "x f64"]);
    for &cols in &arguments.columns {
        let mut double = Operation::<f64, f64>::of_columns(&a, cols, &executor)?;
        let mut single = Operation::<f32, f32>::of_columns(&a, cols, &executor)?;
        let mut brain_single = Operation::<bf16, f32>::of_columns(&a, cols, &executor)?;
        let mut brain = Operation::<bf16, bf16>::of_columns(&a, cols, &executor)?;
        let mut half_single = Operation::<f16, f32>::of_columns(&a, cols, &executor)?;
        let mut half = Operation::<f16, f16>::of_columns(&a, cols, &executor)?;
        let names = [
            "csr f64, vectors f64",
            "csr f32, vectors f32",
            "csr bf16, vectors f32",
            "csr bf16, vectors bf16",
            "csr f16, vectors f32",
            "csr f16, vectors f16",
        ];
        let best = race(
            [
                &mut double.product(),
                &mut single.product(),
                &mut brain_single.product(),
                &mut brain.product(),
                &mut half_single.product(),
                &mut half.product(),
            ],
            arguments.rounds,
            arguments.seconds,
        )?;
        for (name, seconds) in names.into_iter().zip(best) {
            table.add_row([
                cols.to_string(),
                name.to_owned(),
                format!("{:.3}", seconds * 1e3),
                format!("{:.2}", best[0] / seconds),
            ]);
        }
    }
    say!("{}, threads {threads}\n{table}", arguments.matrix);
    Ok(())
}

fn rows(arguments: &SpmvArgs, a: &Csr<f64>, threads: usize, table: &mut Table) -> Result<()> {
    let executor = Executor::cpu_with_threads(threads)?;
    let pool = pool(threads)?;
    let mut triad = Triad::new();
    let mut double = Operation::<f64, f64>::new(a, &executor)?;
    let mut single = Operation::<f32, f32>::new(a, &executor)?;
    let mut single_double = Operation::<f32, f64>::new(a, &executor)?;
    let mut half = Operation::<f16, f32>::new(a, &executor)?;
    let mut half_double = Operation::<f16, f64>::new(a, &executor)?;
    let mut brain = Operation::<bf16, f32>::new(a, &executor)?;
    let mut brain_double = Operation::<bf16, f64>::new(a, &executor)?;
    let bytes = [
        triad.bytes(),
        double.bytes(),
        single.bytes(),
        single_double.bytes(),
        half.bytes(),
        half_double.bytes(),
        brain.bytes(),
        brain_double.bytes(),
    ];
    let names = [
        "triad",
        "csr f64, vectors f64",
        "csr f32, vectors f32",
        "csr f32, vectors f64",
        "csr f16, vectors f32",
        "csr f16, vectors f64",
        "csr bf16, vectors f32",
        "csr bf16, vectors f64",
    ];
    let best = race(
        [
            &mut triad.on(&pool),
            &mut double.product(),
            &mut single.product(),
            &mut single_double.product(),
            &mut half.product(),
            &mut half_double.product(),
            &mut brain.product(),
            &mut brain_double.product(),
        ],
        arguments.rounds,
        arguments.seconds,
    )?;
    let speed = |index: usize| bytes[index] / best[index];
    for index in 0..best.len() {
        table.add_row([
            threads.to_string(),
            names[index].to_owned(),
            format!("{:.2}", best[index] * 1e3),
            format!("{:.2}", speed(index) / 1e9),
            format!("{:.0}", 100.0 * speed(index) / speed(0)),
            match index {
                0 => String::new(),
                _ => format!("{:.2}", best[1] / best[index]),
            },
        ]);
    }
    Ok(())
}

fn peers(arguments: &SpmvArgs, threads: usize) -> Result<()> {
    let python = install::python(&arguments.venv, &mkl::PACKAGES)?;
    let mut table = table(&["matrix", "threads", "who", "ms", "vcycle is faster by"]);
    for name in &arguments.peers {
        let a = problem::matrix(&Executor::reference(), name)?;
        let vector = ramp(a.size().cols);
        let system = BenchSystem::plain(a, vector);
        let mut mkl = mkl::Mkl::start(&python, &system)?;
        for mode in ["plain", "csr", "copy"] {
            check(&system.matrix, mkl.checksum(mode)?)?;
        }
        let mkl = RefCell::new(mkl);
        for threads in [1, threads] {
            eprintln!("{name}, threads {threads}");
            let executor = Executor::cpu_with_threads(threads)?;
            let mut ours = Operation::<f64, f64>::new(&system.matrix, &executor)?;
            let candidates: [&mut dyn Candidate; 4] = [
                &mut ours.product(),
                &mut mkl::Mkl::on(&mkl, "plain", threads),
                &mut mkl::Mkl::on(&mkl, "csr", threads),
                &mut mkl::Mkl::on(&mkl, "copy", threads),
            ];
            let best = race(candidates, arguments.rounds, arguments.seconds)?;
            let who = ["vcycle", "sparse-dot-mkl", "MKL csr", "MKL copy"];
            for (who, seconds) in who.into_iter().zip(best) {
                table.add_row([
                    name.rsplit('/').next().unwrap_or(name).to_owned(),
                    threads.to_string(),
                    who.to_owned(),
                    format!("{:.3}", seconds * 1e3),
                    format!("{:.2}", seconds / best[0]),
                ]);
            }
        }
    }
    say!("{table}");
    say!(
        "sparse-dot-mkl: its product, a plain CSR handle of MKL made for every call; MKL csr: \
         optimised for products, kept to the arrays it was given, as vcycle is; MKL copy: with a \
         second copy of the matrix in a format of its own."
    );
    Ok(())
}

/// Fails unless a peer's product adds up to ours.
fn check(a: &Csr<f64>, theirs: f64) -> Result<()> {
    let mut operation = Operation::<f64, f64>::new(a, &Executor::cpu())?;
    operation
        .a
        .apply(&operation.x, &mut operation.y, &operation.ws)?;
    let values = operation.y.to_vec();
    let (ours, scale): (f64, f64) = (values.iter().sum(), values.iter().map(|v| v.abs()).sum());
    if (ours - theirs).abs() <= 1e-10 * scale {
        return Ok(());
    }
    Err(format!("the peer's product adds up to {theirs}, ours to {ours}").into())
}
