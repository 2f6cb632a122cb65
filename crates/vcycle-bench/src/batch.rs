//! `vcycle-bench batch`: many small systems at once beside a loop of the single solver, LAPACK's banded solver and those of NVIDIA.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use vcycle::batch::{
    BatchCsr, BatchMatrix, BatchMethod, BatchOutcome, BatchPreconditioner, BatchSolver, DeviceBatch,
};
use vcycle::executor::{Buffer, Executor, Workspace};
use vcycle::linop::Size;
use vcycle::matrix::{Csr, Duplicates};
use vcycle::precond::Jacobi;
use vcycle::solver::{Bicgstab, Solver};
use vcycle::stop::Stop;
use vcycle::vector::Vector;

use crate::common::{Result, table};
use crate::install;

const LAPACK: &str = include_str!("../peers/banded.py");

/// Options of `batch`.
#[derive(Clone, Debug, clap::Args)]
pub struct BatchArgs {
    /// Systems of a batch
    #[arg(long, default_value_t = 10_000)]
    systems: usize,
    /// Rows of a system
    #[arg(long, num_args = 1.., default_values_t = [60, 100, 200], value_parser = clap::value_parser!(u32).range(1..))]
    rows: Vec<u32>,
    /// Entries of a row on either side of the diagonal
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    band: u32,
    /// A device that solves them, too, such as cuda:0
    #[arg(long)]
    device: Option<String>,
    /// LAPACK's banded solver beside them, from SciPy, which is installed from PyPI
    #[arg(long)]
    lapack: bool,
    /// Where SciPy is installed
    #[arg(long, default_value = "target/bench-venv")]
    venv: PathBuf,
    /// Batched solvers of NVIDIA beside them: the program that is made of peers/batched.cu
    #[arg(long)]
    nvidia: Option<PathBuf>,
    /// Leave out what the host does
    #[arg(long, requires = "device")]
    device_only: bool,
    /// Runs of which the best is told
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

pub(crate) fn run(arguments: &BatchArgs) -> Result<()> {
    let mut table = table(&[
        "rows",
        "method",
        "converged",
        "iterations",
        "seconds",
        "systems a second",
        "speed to a loop",
    ]);
    for rows in arguments.rows.iter().map(|&rows| rows as usize) {
        let batch = batch(arguments, rows)?;
        let b = vec![1.0; arguments.systems * rows];
        let mut alone = None;
        if !arguments.device_only {
            let found = best(arguments.runs, || one_by_one(&batch, rows, &b))?;
            alone = Some(found.seconds);
            table.add_row(line(rows, "loop: bicgstab jacobi", &found, alone));
            for (name, found) in on_host(arguments, &batch, &b)? {
                table.add_row(line(rows, &name, &found, alone));
            }
        }
        if arguments.lapack {
            let found = lapack(arguments, rows)?;
            table.add_row(line(rows, "LAPACK dgbsv", &found, alone));
        }
        for (name, found) in nvidia(arguments, rows)? {
            table.add_row(line(rows, &name, &found, alone));
        }
        if let Some(device) = &arguments.device {
            for (name, found) in on_device(arguments, device, &batch, &b)? {
                table.add_row(line(rows, &name, &found, alone));
            }
        }
    }
    say!("{table}");
    say!(
        "{} systems of one pattern with bands of {} entries on either side and values of their own; all solutions to a \
         relative residual of 1e-8. Loop: the solver of single systems, set up and run for one after the other.",
        arguments.systems,
        arguments.band
    );
    Ok(())
}

fn on_host(
    arguments: &BatchArgs,
    batch: &BatchCsr<f64>,
    b: &[f64],
) -> Result<Vec<(String, Measured)>> {
    let measured = |(method, preconditioner)| {
        let solver = solver(method, preconditioner);
        let solve = || at_once(&solver, &Executor::cpu(), batch, b);
        Ok((name(method, preconditioner), best(arguments.runs, solve)?))
    };
    methods().into_iter().map(measured).collect()
}

fn methods() -> [(BatchMethod, BatchPreconditioner); 6] {
    use BatchMethod::{Bicgstab, Direct, Gmres};
    use BatchPreconditioner::{BlockJacobi, Ilu0, Isai, Jacobi, None};
    [
        (Bicgstab, Jacobi),
        (Bicgstab, BlockJacobi),
        (Bicgstab, Ilu0),
        (Bicgstab, Isai),
        (Gmres, Jacobi),
        (Direct, None),
    ]
}

fn name(method: BatchMethod, preconditioner: BatchPreconditioner) -> String {
    match method {
        BatchMethod::Direct => "direct".to_owned(),
        _ => format!("{method} {preconditioner}"),
    }
}

fn solver(method: BatchMethod, preconditioner: BatchPreconditioner) -> BatchSolver {
    let mut solver = BatchSolver::default();
    (solver.method, solver.preconditioner) = (method, preconditioner);
    solver
}

/// On a device, with matrices and vectors there, and with the way from the host and back.
fn on_device(
    arguments: &BatchArgs,
    place: &str,
    batch: &BatchCsr<f64>,
    b: &[f64],
) -> Result<Vec<(String, Measured)>> {
    let device = Executor::gpu(place)?;
    let there = DeviceBatch::new(&device, batch)?;
    let sides = Vector::from_column(&device, b.to_vec());
    let mut all = Vec::new();
    for (method, preconditioner) in methods() {
        let solver = solver(method, preconditioner);
        let solve = || solved_there(&solver, &there, &sides, false);
        // The first one compiles.
        let solved = best(arguments.runs + 1, solve)?;
        all.push((name(method, preconditioner), solved));
    }
    let direct = solver(BatchMethod::Direct, BatchPreconditioner::None);
    let left = best(arguments.runs, || {
        solved_there(&direct, &there, &sides, true)
    })?;
    all.push(("direct, outcomes left there".to_owned(), left));
    let side_by_side = Vector::from_rows(&device, batch.systems(), b.to_vec())?;
    let left = best(arguments.runs + 1, || {
        solved_there(&direct, &there, &side_by_side, true)
    })?;
    all.push((
        "direct, vectors side by side, outcomes left there".to_owned(),
        left,
    ));
    let converted = from_values(arguments, &device, batch, &sides)?;
    all.push(("direct, values as CSR".to_owned(), converted));
    let travelling = best(arguments.runs, || {
        at_once(&BatchSolver::default(), &device, batch, b)
    })?;
    all.push((
        "bicgstab jacobi, from the host and back".to_owned(),
        travelling,
    ));
    let named = |(name, measured)| (format!("{place}: {name}"), measured);
    Ok(all.into_iter().map(named).collect())
}

/// Until the outcomes are on the host; where they are left there until the device is done, as peers are measured.
fn solved_there(
    solver: &BatchSolver,
    there: &DeviceBatch<f64>,
    sides: &Vector<f64>,
    are_left: bool,
) -> Result<Measured> {
    let mut x = Vector::zeros_like(sides)?;
    sides.executor().synchronize()?;
    let begin = Instant::now();
    let queued = solver.queue_on_device(there, sides, &mut x)?;
    if !are_left {
        return Ok(Measured::new(begin, &queued.outcomes()?));
    }
    sides.executor().synchronize()?;
    let seconds = begin.elapsed().as_secs_f64();
    let outcomes = queued.outcomes()?;
    Ok(Measured {
        seconds,
        ..Measured::new(begin, &outcomes)
    })
}

/// The direct solve where values are on the device row by row, one matrix after the other: what is made of them is timed, too.
fn from_values(
    arguments: &BatchArgs,
    device: &Executor,
    batch: &BatchCsr<f64>,
    sides: &Vector<f64>,
) -> Result<Measured> {
    let (offsets, columns) = batch.structure();
    let mut values = Vec::with_capacity(batch.systems() * columns.len());
    for system in 0..batch.systems() {
        batch.visit(system, &mut |_, _, value| values.push(value));
    }
    let values = Buffer::from_vec(device, values);
    let direct = solver(BatchMethod::Direct, BatchPreconditioner::None);
    best(arguments.runs + 1, || {
        let mut x = Vector::zeros_like(sides)?;
        device.synchronize()?;
        let begin = Instant::now();
        let there = DeviceBatch::from_values(&offsets, &columns, &values)?;
        let outcomes = direct.solve_on_device(&there, sides, &mut x)?;
        Ok(Measured::new(begin, &outcomes))
    })
}

struct Measured {
    seconds: f64,
    converged: usize,
    iterations: usize,
}

impl Measured {
    fn new(begin: Instant, outcomes: &[BatchOutcome]) -> Self {
        Self {
            seconds: begin.elapsed().as_secs_f64(),
            converged: outcomes.iter().filter(|one| one.converged()).count(),
            iterations: outcomes.iter().map(|one| one.iterations).sum(),
        }
    }
}

fn line(rows: usize, name: &str, found: &Measured, alone: Option<f64>) -> Vec<String> {
    let each = found.iterations as f64 / found.converged.max(1) as f64;
    vec![
        rows.to_string(),
        name.to_owned(),
        found.converged.to_string(),
        format!("{each:.1}"),
        format!("{:.6}", found.seconds),
        format!("{:.0}", found.converged as f64 / found.seconds),
        alone.map_or(String::new(), |alone| {
            format!("{:.1}", alone / found.seconds)
        }),
    ]
}

fn best(runs: usize, mut run: impl FnMut() -> Result<Measured>) -> Result<Measured> {
    let mut least = run()?;
    for _ in 1..runs {
        let next = run()?;
        if next.seconds < least.seconds {
            least = next;
        }
    }
    Ok(least)
}

/// Banded systems, nonsymmetric; the diagonal is larger than the sum of the others in two rows of five.
fn batch(arguments: &BatchArgs, rows: usize) -> Result<BatchCsr<f64>> {
    let band = arguments.band as usize;
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        let last = (row + band).min(rows - 1);
        columns.extend((row.saturating_sub(band)..=last).map(|c| c as u32));
        offsets.push(columns.len());
    }
    let mut values = Vec::with_capacity(arguments.systems * columns.len());
    for system in 0..arguments.systems {
        for row in 0..rows {
            for &column in &columns[offsets[row]..offsets[row + 1]] {
                let wave = ((system * 31 + row * 7 + column as usize * 3) as f64).sin();
                values.push(match column as usize == row {
                    true => 1.1 * band as f64,
                    false => wave - 0.3,
                });
            }
        }
    }
    Ok(BatchCsr::new(rows, offsets, columns, values)?)
}

fn at_once(
    solver: &BatchSolver,
    executor: &Executor,
    batch: &BatchCsr<f64>,
    b: &[f64],
) -> Result<Measured> {
    let mut x = vec![0.0; b.len()];
    let begin = Instant::now();
    let outcomes = solver.solve(executor, batch, b, &mut x)?;
    Ok(Measured::new(begin, &outcomes))
}

/// LAPACK's banded solver on as many threads as ours have, called for one system after the other.
fn lapack(arguments: &BatchArgs, rows: usize) -> Result<Measured> {
    let python = install::python(&arguments.venv, &["scipy", "numpy"])?;
    let threads = Executor::cpu().threads();
    let numbers = [
        arguments.systems,
        rows,
        arguments.band as usize,
        threads,
        arguments.runs,
    ];
    let mut command = Command::new(python);
    command
        .args(["-c", LAPACK])
        .args(numbers.map(|number| number.to_string()));
    let answer: serde_json::Value = serde_json::from_str(&install::output(&mut command)?)?;
    let told = |key: &str| answer[key].as_f64().ok_or(format!("LAPACK gave no {key}"));
    let is_solved = told("residual")? <= 1e-8;
    Ok(Measured {
        seconds: told("seconds")?,
        converged: if is_solved { arguments.systems } else { 0 },
        iterations: arguments.systems,
    })
}

/// Solvers of NVIDIA, by a line each: library, function, seconds, largest residual.
fn nvidia(arguments: &BatchArgs, rows: usize) -> Result<Vec<(String, Measured)>> {
    let Some(program) = &arguments.nvidia else {
        return Ok(Vec::new());
    };
    let numbers = [arguments.systems, rows, arguments.band as usize];
    let mut command = Command::new(program);
    command.args(numbers.map(|number| number.to_string()));
    let said = install::output(&mut command)?;
    said.lines()
        .map(|line| told_by_nvidia(arguments, line))
        .collect()
}

fn told_by_nvidia(arguments: &BatchArgs, line: &str) -> Result<(String, Measured)> {
    let [library, function, seconds, residual] = line.split_whitespace().collect::<Vec<_>>()[..]
    else {
        return Err(format!("not a line of a measurement: {line}").into());
    };
    let is_solved = residual.parse::<f64>()? <= 1e-8;
    let measured = Measured {
        seconds: seconds.parse()?,
        converged: if is_solved { arguments.systems } else { 0 },
        iterations: arguments.systems,
    };
    Ok((format!("{library} {function}"), measured))
}

/// The matrices are made before the clock starts.
fn one_by_one(batch: &BatchCsr<f64>, rows: usize, b: &[f64]) -> Result<Measured> {
    let cpu = Executor::cpu();
    let (offsets, columns) = batch.structure();
    let matrix = |system: usize| {
        let mut values = Vec::with_capacity(columns.len());
        batch.visit(system, &mut |_, _, value| values.push(value));
        let (size, offsets) = (Size::square(rows), offsets.clone());
        Csr::from_arrays(
            &cpu,
            size,
            offsets,
            columns.clone(),
            values,
            Duplicates::Refuse,
        )
    };
    let matrices: vcycle::Result<Vec<Csr<f64>>> = (0..batch.systems()).map(matrix).collect();
    let begin = Instant::now();
    let mut measured = Measured {
        seconds: 0.0,
        converged: 0,
        iterations: 0,
    };
    let ws = Workspace::new();
    let stop = Stop::relative(1e-8);
    for (a, b) in matrices?.into_iter().zip(b.chunks(rows)) {
        let solver = Solver::<f64>::new(Bicgstab::default(), Arc::new(a))?
            .preconditioned_by(&Jacobi::default())?;
        let b = Vector::from_column(&cpu, b.to_vec());
        let mut x = Vector::zeros_like(&b)?;
        let outcome = solver.solve_in(&b, &mut x, &stop, &ws)?;
        measured.converged += usize::from(outcome.converged());
        measured.iterations += outcome.iterations;
    }
    measured.seconds = begin.elapsed().as_secs_f64();
    Ok(measured)
}
