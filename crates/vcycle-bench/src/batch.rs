//! `vcycle-bench batch`: many small systems at once beside a loop of the single solver, LAPACK's banded solver and those of NVIDIA.

use std::path::Path;
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

use crate::asked::Asked;
use crate::common::Result;
use crate::install;
use crate::table::row;

const LAPACK: &str = include_str!("../peers/banded.py");

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let (systems, runs) = (asked.count("systems"), asked.count("runs"));
    if asked.count("band") == 0 || asked.counts("rows").contains(&0) {
        return Err("rows and bands are at least 1".into());
    }
    let mut table = asked.table("solves");
    for rows in asked.counts("rows") {
        let batch = batch(asked, rows)?;
        let b = vec![1.0; systems * rows];
        let mut all = Vec::new();
        if !asked.has("device-only") {
            let found = best(runs, || one_by_one(&batch, rows, &b))?;
            all.push(("loop: bicgstab jacobi".to_owned(), found));
            for (name, solver) in solvers() {
                let solve = || at_once(&solver, &Executor::cpu(), &batch, &b);
                all.push((name, best(runs, solve)?));
            }
        }
        let alone = all.first().map(|(_, found)| found.seconds);
        if asked.has("lapack") {
            all.push(("LAPACK dgbsv".to_owned(), lapack(asked, rows)?));
        }
        all.extend(nvidia(asked, rows)?);
        if let Some(device) = asked.maybe("device") {
            all.extend(on_device(runs + 1, device, &batch, &b)?);
        }
        for (name, found) in all {
            let Measured {
                seconds,
                converged,
                iterations,
            } = found;
            table.row(row![
                rows,
                name,
                converged,
                iterations as f64 / converged.max(1) as f64,
                seconds,
                converged as f64 / seconds,
                alone.map(|alone| alone / seconds),
            ]);
        }
    }
    say!("{table}\n{}", asked.note("end", &[]));
    Ok(())
}

/// All methods that are measured, by name; the last is direct.
fn solvers() -> Vec<(String, BatchSolver)> {
    use BatchMethod::{Bicgstab, Direct, Gmres};
    use BatchPreconditioner::{BlockJacobi, Ilu0, Isai, Jacobi, None};
    let methods = [
        (Bicgstab, Jacobi),
        (Bicgstab, BlockJacobi),
        (Bicgstab, Ilu0),
        (Bicgstab, Isai),
        (Gmres, Jacobi),
        (Direct, None),
    ];
    let solver = |(method, preconditioner)| {
        let mut solver = BatchSolver::default();
        (solver.method, solver.preconditioner) = (method, preconditioner);
        let name = format!("{method} {preconditioner}");
        (name.trim_end_matches(" none").to_owned(), solver)
    };
    methods.map(solver).into()
}

/// On a device, with matrices and vectors there, and with the way from the host and back.
fn on_device(
    runs: usize,
    place: &str,
    batch: &BatchCsr<f64>,
    b: &[f64],
) -> Result<Vec<(String, Measured)>> {
    // The first run compiles.
    let device = Executor::gpu(place)?;
    let there = DeviceBatch::new(&device, batch)?;
    let sides = Vector::from_column(&device, b.to_vec());
    let mut all = Vec::new();
    let mut push = |name: &str, found: Measured| all.push((format!("{place}: {name}"), found));
    let solvers = solvers();
    for (name, solver) in &solvers {
        let solve = || solved_there(solver, &there, &sides, false);
        push(name, best(runs, solve)?);
    }
    let direct = &solvers[solvers.len() - 1].1;
    let left = best(runs, || solved_there(direct, &there, &sides, true))?;
    push("direct, outcomes left there", left);
    let aside = Vector::from_rows(&device, batch.systems(), b.to_vec())?;
    let left = best(runs, || solved_there(direct, &there, &aside, true))?;
    push("direct, vectors side by side, outcomes left there", left);
    let values = Buffer::from_vec(&device, all_values(batch));
    let converted = best(runs, || from_values(direct, batch, &values, &sides))?;
    push("direct, values as CSR", converted);
    let travelling = best(runs, || at_once(&solvers[0].1, &device, batch, b))?;
    push("bicgstab jacobi, from the host and back", travelling);
    Ok(all)
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

/// The values of all matrices, row by row, one after the other.
fn all_values(batch: &BatchCsr<f64>) -> Vec<f64> {
    let mut values = Vec::new();
    for system in 0..batch.systems() {
        batch.visit(system, &mut |_, _, value| values.push(value));
    }
    values
}

/// The direct solve where values are on the device as CSR has them: what is made of them is timed, too.
fn from_values(
    direct: &BatchSolver,
    batch: &BatchCsr<f64>,
    values: &Buffer<f64>,
    sides: &Vector<f64>,
) -> Result<Measured> {
    let (offsets, columns) = batch.structure();
    let mut x = Vector::zeros_like(sides)?;
    sides.executor().synchronize()?;
    let begin = Instant::now();
    let there = DeviceBatch::from_values(&offsets, &columns, values)?;
    let outcomes = direct.solve_on_device(&there, sides, &mut x)?;
    Ok(Measured::new(begin, &outcomes))
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
fn batch(asked: &Asked, rows: usize) -> Result<BatchCsr<f64>> {
    let (band, systems) = (asked.count("band"), asked.count("systems"));
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        let last = (row + band).min(rows - 1);
        columns.extend((row.saturating_sub(band)..=last).map(|c| c as u32));
        offsets.push(columns.len());
    }
    let mut values = Vec::with_capacity(systems * columns.len());
    for system in 0..systems {
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

/// What a direct solver of others takes for all systems.
fn by_others(systems: usize, seconds: f64, residual: f64) -> Measured {
    let is_solved = residual <= 1e-8;
    Measured {
        seconds,
        converged: if is_solved { systems } else { 0 },
        iterations: systems,
    }
}

/// LAPACK's banded solver on as many threads as ours have, called for one system after the other.
fn lapack(asked: &Asked, rows: usize) -> Result<Measured> {
    let python = install::python(Path::new(asked.text("venv")), &["scipy", "numpy"])?;
    let [systems, band, runs] = ["systems", "band", "runs"].map(|name| asked.count(name));
    let numbers = [systems, rows, band, Executor::cpu().threads(), runs];
    let mut command = Command::new(python);
    command
        .args(["-c", LAPACK])
        .args(numbers.map(|number| number.to_string()));
    let answer: serde_json::Value = serde_json::from_str(&install::output(&mut command)?)?;
    let number = |key: &str| answer[key].as_f64().ok_or(format!("LAPACK gave no {key}"));
    Ok(by_others(systems, number("seconds")?, number("residual")?))
}

/// Solvers of NVIDIA, by a line each: library, function, seconds, largest residual.
fn nvidia(asked: &Asked, rows: usize) -> Result<Vec<(String, Measured)>> {
    let Some(program) = asked.path("nvidia") else {
        return Ok(Vec::new());
    };
    let systems = asked.count("systems");
    let numbers = [systems, rows, asked.count("band")];
    let mut command = Command::new(program);
    command.args(numbers.map(|number| number.to_string()));
    let line = |line: &str| {
        let [library, function, seconds, residual] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            return Err(format!("not a line of a measurement: {line}").into());
        };
        let found = by_others(systems, seconds.parse()?, residual.parse()?);
        Ok((format!("{library} {function}"), found))
    };
    install::output(&mut command)?.lines().map(line).collect()
}

/// The matrices are made before the clock starts.
fn one_by_one(batch: &BatchCsr<f64>, rows: usize, b: &[f64]) -> Result<Measured> {
    let cpu = Executor::cpu();
    let (offsets, columns) = batch.structure();
    let mut matrices = Vec::new();
    for values in all_values(batch).chunks(columns.len()) {
        let (size, values) = (Size::square(rows), values.to_vec());
        let (offsets, columns) = (offsets.clone(), columns.clone());
        let a = Csr::from_arrays(&cpu, size, offsets, columns, values, Duplicates::Refuse)?;
        matrices.push(a);
    }
    let begin = Instant::now();
    let (mut converged, mut iterations) = (0, 0);
    let ws = Workspace::new();
    let stop = Stop::relative(1e-8);
    for (a, b) in matrices.into_iter().zip(b.chunks(rows)) {
        let solver = Solver::<f64>::new(Bicgstab::default(), Arc::new(a))?
            .preconditioned_by(&Jacobi::default())?;
        let b = Vector::from_column(&cpu, b.to_vec());
        let mut x = Vector::zeros_like(&b)?;
        let outcome = solver.solve_in(&b, &mut x, &stop, &ws)?;
        converged += usize::from(outcome.converged());
        iterations += outcome.iterations;
    }
    Ok(Measured {
        seconds: begin.elapsed().as_secs_f64(),
        converged,
        iterations,
    })
}
