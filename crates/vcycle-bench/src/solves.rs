//! Solves of one method beside another: GMRES with its vectors in fewer bits, multigrid in mixed precision, spaces and set-ups
//! that are kept.

use std::sync::Arc;

use vcycle::config::{Config, Sequence, Solution, System, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::Csr;
use vcycle::vector::{Storage, Vector};

use crate::asked::Asked;
use crate::common::{Result, executor, iterations, threads};
use crate::options::{self, Options};
use crate::problem::{BenchSystem, Ready, matrix, system};
use crate::published::mixed_precision;
use crate::table::row;

/// `vcycle-bench basis`: GMRES with its vectors in fewer bits, and pipelined, beside GMRES.
pub(crate) fn basis(asked: &Asked) -> Result<()> {
    let executor = executor(asked.text("device"))?;
    let (restart, rtol) = (asked.count("restart"), asked.number("rtol"));
    let stored =
        Storage::ALL.map(|basis| (basis.name(), format!("gmres:{restart},{}", basis.name())));
    let pipelined = ("working, pipelined", format!("pipegmres:{restart}"));
    let methods: Vec<(&str, String)> = stored.into_iter().chain([pipelined]).collect();
    let config = |(_, solver): &(&str, String)| -> Result<Config> {
        let text = format!("solver={solver} preconditioner=jacobi rtol={rtol} max-iterations=5000");
        Ok(text.parse()?)
    };
    let configs = methods.iter().map(config).collect::<Result<Vec<_>>>()?;
    let mut table = asked.table("solves");
    for name in asked.list("PROBLEM") {
        let ready = Ready::new(name, &executor)?;
        // One more turn than is asked for: the first compiles kernels.
        let solved = ready.race(&configs, asked.count("rounds") + 1).into_iter();
        let solved = solved.collect::<std::result::Result<Vec<_>, _>>()?;
        let ms = |one: &Solution<f64>| one.solving.as_secs_f64() * 1e3;
        let count = |one: &Solution<f64>| one.outcome.iterations as f64;
        for ((basis, _), one) in methods.iter().zip(&solved) {
            table.row(row![
                name,
                ready.rhs().rows(),
                *basis,
                iterations(&one.outcome),
                one.outcome.relative_residual,
                ms(one),
                ms(&solved[0]) / ms(one),
                count(one) / count(&solved[0]),
            ]);
        }
    }
    say!("{table}\n{}", asked.note("end", &[]));
    Ok(())
}

/// Precisions as the tables have them, without remedies.
const PLAIN: &str = "dp dp-sp dp-sp-hp dp-hp dp-sp-bf dp-bf dp/sp dp/hp dp/dp-sp-hp dp-sp/sp dp-sp/hp dp-sp/dp-sp-hp";
/// With the remedies this library applies by itself.
const CURED: &str = "dp-sp-hp dp-hp dp/hp dp-sp/hp dp-sp/dp-sp-hp";

/// Options of a row, as the command line has them, and its precision where the papers have it.
fn rows() -> Vec<(String, Option<&'static str>)> {
    let plain = PLAIN.split(' ');
    let plain = plain.map(|name| (format!("--precision {name} --scaling none"), Some(name)));
    let halved = "--precision dp-sp-hp --scaling none --restriction-scaling 0.5".to_owned();
    let cured = CURED
        .split(' ')
        .map(|name| (format!("--precision {name}"), None));
    plain.chain([(halved, None)]).chain(cured).collect()
}

/// The method of the papers with options of a row.
fn of_papers(row: &str) -> Result<Config> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let mut amg = Options::new();
    for pair in words.chunks(2) {
        let key = pair[0].trim_start_matches('-').to_owned();
        let number = pair[1].parse::<f64>().map(Into::into);
        amg.insert(key, number.unwrap_or_else(|_| pair[1].into()));
    }
    let preset = [("preset".to_owned(), "paper-pgm".into())];
    let amg = [("preconditioner".to_owned(), amg.into())];
    options::config(&[&preset.into_iter().collect(), &amg.into_iter().collect()])
}

/// `vcycle-bench precision`: mixed-precision multigrid beside the papers.
pub(crate) fn precision(asked: &Asked) -> Result<()> {
    let executor = executor(asked.text("device"))?;
    for problem in asked.list("PROBLEM") {
        say!("{}\n", precisions(problem, &executor)?);
    }
    Ok(())
}

/// A table of every precision on one problem.
pub(crate) fn precisions(problem: &str, executor: &Executor) -> Result<String> {
    let asked = Asked::plain("precision");
    let mut table = asked.table("solves");
    let (ready, mut double) = (Ready::new(problem, executor)?, None);
    for (row, precision) in rows() {
        eprintln!("{problem} {row}");
        let tried = ready.race(&[of_papers(&row)?], 3).remove(0);
        let published = precision.and_then(|precision| mixed_precision(problem, precision));
        let paper = published.as_ref().map_or("", |(_, iterations)| iterations);
        let solution = match tried {
            Ok(solution) => solution,
            Err(why) => {
                table.row(row![row, paper, "", why]);
                continue;
            }
        };
        let (outcome, time) = (&solution.outcome, solution.solving.as_secs_f64() * 1e3);
        let theirs = published.as_ref().map(|(time, _)| *time);
        table.row(row![
            row,
            paper,
            outcome.iterations,
            outcome.status.to_string(),
            outcome.recurrence_residual,
            outcome.relative_residual,
            time,
            *double.get_or_insert(time) / time,
            theirs,
            theirs.map(|theirs| time / theirs),
        ]);
    }
    let note = asked.note("end", &[]);
    Ok(format!(
        "{problem}, --preset paper-pgm\n\n{table}\n\n{note}"
    ))
}

/// `vcycle-bench reuse`: a set-up from the beginning beside one that is reused for new values.
pub(crate) fn reuse(asked: &Asked) -> Result<()> {
    let executor = Executor::cpu_with_threads(threads(asked.maybe_count("threads"))?)?;
    let config = format!("preconditioner=amg:{}", asked.text("coarsening")).parse()?;
    let mut table = asked.table("solves");
    for name in asked.list("PROBLEM") {
        let system = system(&executor, name)?;
        let ([setup, kept, update], [before, after]) =
            reused(&config, &system, asked.count("rounds"))?;
        table.told(row![
            name,
            setup,
            kept,
            update,
            update / setup,
            before,
            after
        ]);
    }
    say!("{} threads\n{table}", executor.threads());
    Ok(())
}

/// The least milliseconds of a set-up, of one that is kept, and of its update; iterations of a solve with the first and the last.
fn reused(config: &Config, system: &BenchSystem, rounds: usize) -> Result<([f64; 3], [usize; 2])> {
    let b = Vector::from_column(system.matrix.executor(), system.rhs.clone());
    let next = system.known(system.matrix.scale(2.0)?);
    let first = system.known(system.matrix.clone());
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
pub(crate) fn recycle(asked: &Asked) -> Result<()> {
    let executor = executor(asked.text("device"))?;
    let [mut sequences, mut blocks] = ["sequences", "blocks"].map(|name| asked.table(name));
    for problem in asked.list("PROBLEM") {
        let a = matrix(&executor, problem)?;
        let rows = a.size().rows;
        for solver in ["gmres:50", "gcro-dr:40,10"] {
            let shifts = (0..asked.count("systems")).map(|step| shifted(&a, step));
            let systems = shifts.collect::<Result<Vec<_>>>()?;
            let (counts, ms) = recycled(asked, systems, 1, solver)?;
            sequences.row(row![problem, rows, solver, counts, ms]);
        }
        let solvers = ["cg", "block-cg", "gmres:50", "block-gmres:50"];
        for solver in &solvers[if a.facts().symmetric { 0 } else { 2 }..] {
            let (counts, ms) = recycled(asked, vec![a.clone()], asked.count("columns"), solver)?;
            blocks.row(row![problem, rows, *solver, counts, ms]);
        }
    }
    say!("{}\n{sequences}", asked.note("sequences", &[]));
    say!("{}\n{blocks}", asked.note("blocks", &[]));
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
    asked: &Asked,
    systems: Vec<Csr<f64>>,
    columns: usize,
    solver: &str,
) -> Result<(String, f64)> {
    let (precond, rtol) = (asked.text("precond"), asked.number("rtol"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_options_of_the_method_and_papers_have_iterations_for_their_own_problems_alone() {
        let all: Vec<String> = rows().into_iter().map(|(row, _)| row).collect();
        assert_eq!(all.len(), 18);
        assert!(all.iter().all(|row| of_papers(row).is_ok()), "{all:?}");
        let amg = options::multigrid(of_papers(&all[12]).unwrap()).unwrap();
        assert_eq!(amg.restriction_scaling, 0.5);
        let problems = ["beam:o3,l3", "lshape:o3,l7", "beam:o3,l1", "poisson5:8"];
        let told = problems.map(|name| mixed_precision(name, "dp").map(|(_, count)| count));
        assert_eq!(
            told,
            [Some("44".to_owned()), Some("160".to_owned()), None, None]
        );
    }
}
