//! `vcycle-bench batch`: many small systems at once beside a loop of the single solver and the solvers of NVIDIA.

use std::process::Command;
use std::time::Instant;

use vcycle::batch::{
    BatchCsr, BatchMatrix, BatchMethod, BatchOutcome, BatchPreconditioner, BatchSolver, DeviceBatch,
};
use vcycle::executor::Buffer;
use vcycle::linop::Size;
use vcycle::matrix::Duplicates;
use vcycle::precond::Jacobi;
use vcycle::solver::{Bicgstab, Solver};
use vcycle::stop::Stop;

use crate::install;
use crate::prelude::*;

pub(crate) fn run(args: &Args) -> Result<()> {
    let (systems, runs) = (args.count("systems"), args.count("runs"));
    if args.count("band") == 0 || args.counts("rows").contains(&0) {
        return Err("rows and bands are at least 1".into());
    }
    let mut table = args.table("solves");
    for rows in args.counts("rows") {
        let batch = batch(args, rows)?;
        let b = vec![1.0; systems * rows];
        let mut all = Vec::new();
        if !args.has("device-only") {
            let found = best(runs, || one_by_one(&batch, rows, &b))?;
            all.push(("loop: bicgstab jacobi".to_owned(), found));
            for (name, solver) in solvers() {
                let solve = || at_once(&solver, &Executor::cpu(), &batch, &b);
                all.push((name, best(runs, solve)?));
            }
        }
        let alone = all.first().map(|(_, found)| found.seconds);
        all.extend(nvidia(args, rows)?);
        if let Some(device) = args.maybe("device") {
            all.extend(on_device(runs + 1, device, &batch, &b)?);
        }
        for (name, found) in all {
            let (seconds, converged) = (found.seconds, found.converged);
            table.row(row![
                rows,
                name,
                converged,
                found.iterations as f64 / converged.max(1) as f64,
                seconds,
                converged as f64 / seconds,
                alone.map(|alone| alone / seconds),
            ]);
        }
    }
    print_line!("{table}\n{}", args.note("end", &[]));
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

/// On a device, with matrices and vectors there, and with transfers from the host and back.
fn on_device(
    runs: usize,
    place: &str,
    batch: &BatchCsr<f64>,
    b: &[f64],
) -> Result<Vec<(String, Measured)>> {
    // The first run compiles.
    let device = Executor::gpu(place)?;
    let matrices = DeviceBatch::new(&device, batch)?;
    let one_by_one = Vector::from_column(&device, b.to_vec());
    let side_by_side = Vector::from_rows(&device, batch.systems(), b.to_vec())?;
    let mut all = Vec::new();
    let mut push = |name: &str, found: Measured| all.push((format!("{place}: {name}"), found));
    // Until the outcomes are on the host, or until the device is done, as peers are measured.
    let timed = |solver: &BatchSolver, sides: &Vector<f64>, is_left_there: bool| {
        best(runs, || {
            let mut x = Vector::zeros_like(sides)?;
            device.synchronize()?;
            let begin = Instant::now();
            let queued = solver.queue_on_device(&matrices, sides, &mut x)?;
            if !is_left_there {
                return Ok(Measured::new(begin, &queued.outcomes()?));
            }
            device.synchronize()?;
            let seconds = begin.elapsed().as_secs_f64();
            let found = Measured::new(begin, &queued.outcomes()?);
            Ok(Measured { seconds, ..found })
        })
    };
    let solvers = solvers();
    for (name, solver) in &solvers {
        push(name, timed(solver, &one_by_one, false)?);
    }
    let direct = &solvers[solvers.len() - 1].1;
    let left = timed(direct, &one_by_one, true)?;
    push("direct, outcomes left there", left);
    let left = timed(direct, &side_by_side, true)?;
    push("direct, vectors side by side, outcomes left there", left);
    // Values as CSR has them: their conversion is timed, too.
    let values = Buffer::from_vec(&device, all_values(batch));
    let (offsets, columns) = batch.structure();
    let converted = best(runs, || {
        let mut x = Vector::zeros_like(&one_by_one)?;
        device.synchronize()?;
        let begin = Instant::now();
        let matrices = DeviceBatch::from_values(&offsets, &columns, &values)?;
        let outcomes = direct.solve_on_device(&matrices, &one_by_one, &mut x)?;
        Ok(Measured::new(begin, &outcomes))
    })?;
    push("direct, values as CSR", converted);
    let transferred = best(runs, || at_once(&solvers[0].1, &device, batch, b))?;
    push("bicgstab jacobi, from the host and back", transferred);
    Ok(all)
}

/// The values of all matrices, row by row, one after the other.
fn all_values(batch: &BatchCsr<f64>) -> Vec<f64> {
    let mut values = Vec::new();
    for system in 0..batch.systems() {
        batch.visit(system, &mut |_, _, value| values.push(value));
    }
    values
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
fn batch(args: &Args, rows: usize) -> Result<BatchCsr<f64>> {
    let (band, systems) = (args.count("band"), args.count("systems"));
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

/// Solvers of NVIDIA, by a line each: library, function, seconds, largest residual.
fn nvidia(args: &Args, rows: usize) -> Result<Vec<(String, Measured)>> {
    let Some(program) = args.path("nvidia") else {
        return Ok(Vec::new());
    };
    let systems = args.count("systems");
    let numbers = [systems, rows, args.count("band")];
    let mut command = Command::new(program);
    command.args(numbers.map(|number| number.to_string()));
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [library, function, seconds, residual] = fields[..] else {
            return Err(format!("not a line of a measurement: {line}").into());
        };
        let is_solved = residual.parse::<f64>()? <= 1e-8;
        let found = Measured {
            seconds: seconds.parse()?,
            converged: if is_solved { systems } else { 0 },
            iterations: systems,
        };
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
