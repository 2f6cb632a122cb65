//! Sequences of systems: set-ups and spaces that are kept.

use vcycle::config::{Sequence, Solution, System, solve_system};

use crate::common::iterations;
use crate::prelude::*;
use crate::problem::{BenchSystem, matrix, system};

/// `vcycle-bench reuse`: a new set-up beside one that is reused for new values.
pub(crate) fn reuse(args: &Args) -> Result<()> {
    let executor = Executor::cpu_with_threads(args.threads()?)?;
    let config = format!("preconditioner=amg:{}", args.text("coarsening")).parse()?;
    let mut table = args.table("solves");
    for name in args.list("PROBLEM") {
        let system = system(&executor, name)?;
        let ([new, kept, update], [before, after]) =
            reused(&config, &system, args.count("rounds"))?;
        let ratio = update / new;
        table.show_row(row![name, new, kept, update, ratio, before, after]);
    }
    print_line!("{} threads\n{table}", executor.threads());
    Ok(())
}

/// The least milliseconds of a set-up, of one that is kept, and of its update; iterations of a solve with the first and the last.
fn reused(config: &Config, system: &BenchSystem, rounds: usize) -> Result<([f64; 3], [usize; 2])> {
    let b = Vector::from_column(system.matrix.executor(), system.rhs.clone());
    let next = system.with_matrix(system.matrix.scale(2.0)?);
    let first = system.with_matrix(system.matrix.clone());
    let ws = Workspace::new();
    let (mut least, mut iterations) = ([f64::INFINITY; 3], [0; 2]);
    for _ in 0..rounds.max(1) {
        let alone = solve_system(config, &next, &b, &ws)?;
        let mut steps = Sequence::new(config.clone());
        let kept = steps.solve(&first, &b, &ws)?;
        let updated = steps.solve(&next, &b, &ws)?;
        iterations = [&alone, &updated].map(|one: &Solution<f64>| one.outcome.iterations);
        for (least, one) in least.iter_mut().zip([alone, kept, updated]) {
            *least = least.min(1e3 * one.setup.as_secs_f64());
        }
    }
    Ok((least, iterations))
}

/// `vcycle-bench recycle`: a sequence of systems with a space that is kept, and right-hand sides that share one.
pub(crate) fn recycle(args: &Args) -> Result<()> {
    let executor = args.executor()?;
    let [mut sequences, mut blocks] = ["sequences", "blocks"].map(|name| args.table(name));
    for problem in args.list("PROBLEM") {
        let a = matrix(&executor, problem)?;
        let rows = a.size().rows;
        for solver in ["gmres:50", "gcro-dr:40,10"] {
            let shifts = (0..args.count("systems")).map(|step| shifted(&a, step));
            let systems = shifts.collect::<Result<Vec<_>>>()?;
            let (counts, ms) = recycled(args, systems, 1, solver)?;
            sequences.row(row![problem, rows, solver, counts, ms]);
        }
        let solvers = ["cg", "block-cg", "gmres:50", "block-gmres:50"];
        for solver in &solvers[if a.facts().symmetric { 0 } else { 2 }..] {
            let (counts, ms) = recycled(args, vec![a.clone()], args.count("columns"), solver)?;
            blocks.row(row![problem, rows, *solver, counts, ms]);
        }
    }
    print_line!("{}\n{sequences}", args.note("sequences", &[]));
    print_line!("{}\n{blocks}", args.note("blocks", &[]));
    Ok(())
}

fn shifted(a: &Csr<f64>, step: usize) -> Result<Csr<f64>> {
    let diagonal = a.diagonal();
    let diagonal = diagonal.iter().map(|d| d * 1e-3 * step as f64);
    let shift = Csr::diagonal_matrix(a.executor(), diagonal.collect());
    Ok(a.add(1.0, 1.0, &shift)?)
}

/// Random right-hand sides.
fn sides(executor: &Executor, rows: usize, columns: usize, seed: u64) -> Result<Vector<f64>> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let values = (0..rows * columns).map(|_| next()).collect();
    Ok(Vector::from_rows(executor, columns, values)?)
}

/// Solves one system after the other; iterations of each, and the milliseconds of all without set-ups.
fn recycled(
    args: &Args,
    systems: Vec<Csr<f64>>,
    columns: usize,
    solver: &str,
) -> Result<(String, f64)> {
    let (precond, rtol) = (args.text("precond"), args.number("rtol"));
    let text = format!("solver={solver} preconditioner={precond} rtol={rtol} max-iterations=5000");
    let mut steps = Sequence::new(text.parse::<Config>()?);
    let (mut counts, mut seconds) = (Vec::new(), 0.0);
    for (seed, a) in (1..).zip(systems) {
        let b = sides(a.executor(), a.size().rows, columns, seed)?;
        let solution = steps.solve(&System::new(Arc::new(a)), &b, &Workspace::new())?;
        counts.push(iterations(&solution.outcome));
        seconds += solution.solving.as_secs_f64();
    }
    Ok((counts.join(" "), seconds * 1e3))
}
