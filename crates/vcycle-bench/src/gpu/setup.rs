//! `vcycle-bench gpu-setup`: set-ups on a GPU beside those of hypre and AmgX, and products of sparse
//! matrices beside cuSPARSE.

mod others;
mod products;

use vcycle::config;
use vcycle::multigrid::{Amg, Report as Levels, StageTime};

use super::{GpuBench, classical, peers};
use crate::options::multigrid;
use crate::prelude::*;
use crate::timing::median;

pub(crate) fn run(args: &Args) -> Result<()> {
    let bench = &GpuBench::new(args)?;
    let report = &mut Report::new(args.path("output"));
    if args.wants("setup", true) {
        setups(bench, &names(bench, "setup"), report)?;
    }
    if args.wants("products", true) {
        products::run(bench, report)?;
    }
    if args.wants("fsai", false) {
        others::fsai(bench, report)?;
    }
    if args.wants("presets", false) {
        others::presets(bench, report)?;
    }
    if args.wants("large", false) {
        setups(bench, &args.listed("large"), report)?;
    }
    Ok(())
}

/// The problems of `--problems`, or those of a part.
fn names<'n>(bench: &'n GpuBench, part: &str) -> Vec<&'n str> {
    let given = bench.args.list("problems");
    let given: Vec<&str> = given.iter().flat_map(|names| names.split(' ')).collect();
    match given.is_empty() {
        true => bench.args.listed(part),
        false => given,
    }
}

/// The hierarchies that are timed. Times of pairs are compared with AmgX, those of the others with hypre.
fn hierarchies(args: &Args) -> Result<Vec<(String, Amg)>> {
    let pairs = "preconditioner=amg:pgm,aggregate-size=2,smoother=l1-jacobi";
    let mut all = vec![
        ("pmis, extended+i(4)".to_owned(), classical()?),
        ("pgm, pairs".to_owned(), multigrid(pairs.parse()?)?),
        ("default".to_owned(), Amg::default()),
    ];
    for text in args.list("options") {
        let config = format!("preconditioner = {{ name = \"amg\", {text} }}");
        all.push((text.to_owned(), multigrid(Config::from_toml(&config)?)?));
    }
    Ok(all)
}

/// A set-up in its row of the table.
struct SetupRow {
    hierarchy: String,
    /// Milliseconds of all set-ups after the first.
    setups: Vec<f64>,
    /// Where a set-up is kept.
    update: Option<f64>,
    solve: f64,
    iterations: usize,
    /// Bytes of the hierarchy, and the most that were in use during the set-up.
    held: usize,
    peak: usize,
    levels: Option<Levels>,
    /// Launches, waits, allocations and kernels, with `--counts`.
    counts: String,
}

fn setups(bench: &GpuBench, names: &[&str], report: &mut Report) -> Result<()> {
    report.add("## Set-up")?;
    for name in names {
        let mut table = bench.args.table("setup");
        let mut details = Vec::new();
        let matrix = bench.problem(name)?.matrix.copy_to(&bench.executor)?;
        let matrix = Arc::new(matrix);
        let mut rows = Vec::new();
        for (hierarchy, amg) in hierarchies(&bench.args)? {
            eprintln!("{name}, {hierarchy}");
            match measure(bench, &matrix, &hierarchy, &amg) {
                Ok(row) => rows.push(row),
                Err(error) => report.add(format!("{name}, {hierarchy}: {error}"))?,
            }
        }
        eprintln!("{name}, automatic");
        rows.push(automatic(bench, &matrix)?);
        for row in &rows {
            table.show_row(row.cells(name));
            let stages = row.levels.as_ref().map(Levels::setup_by_stage);
            let stages = in_words(&stages.unwrap_or_default());
            details.push(format!("{name}, {}: {stages}", row.hierarchy));
            if bench.args.has("counts") {
                details.extend([by_level(row.levels.as_ref()), row.counts.clone()]);
            }
        }
        report.add(table)?;
        details.iter().try_for_each(|words| report.add(words))?;
    }
    report.add(bench.args.note("setup", &[]))
}

fn measure(
    bench: &GpuBench,
    matrix: &Arc<Csr<f64>>,
    hierarchy: &str,
    amg: &Amg,
) -> Result<SetupRow> {
    let ws = Workspace::new();
    let a: Arc<dyn LinOp<f64>> = matrix.clone();
    // The products of the solver bring the matrix to the device as well.
    let b = Vector::filled(&bench.executor, a.size().rows, 1, 1.0)?;
    let mut y = Vector::zeros_like(&b)?;
    a.apply(&b, &mut y, &ws)?;
    drop(amg.hierarchy(&a, &ws)?);
    let before = bench.device.memory_use().0;
    let mut make = || Ok(amg.hierarchy(&a, &ws)?);
    let (setups, made, peak) = bench.repeated(&bench.executor, &mut make)?;
    let after = bench.device.memory_use().0;
    let levels = made.report().clone();
    let counts = counts(bench, &mut make)?;
    let (solve, outcome) = bench.solved(&bench.solver(&a, made)?, &b, 1)?;
    let (kept, first) = amg.setup(&a, &ws)?;
    drop(first);
    let mut update = || Ok(kept.update_values(&a, &ws)?);
    let (updates, ..) = bench.repeated(&bench.executor, &mut update)?;
    Ok(SetupRow {
        hierarchy: hierarchy.to_owned(),
        setups,
        update: Some(median(&updates)),
        solve,
        iterations: outcome.iterations,
        held: after - before,
        peak: peak - before,
        levels: Some(levels),
        counts,
    })
}

/// The automatic choice, analysis included.
fn automatic(bench: &GpuBench, a: &Arc<Csr<f64>>) -> Result<SetupRow> {
    let (ws, config) = (Workspace::new(), Config::default());
    let b = Vector::filled(&bench.executor, a.size().rows, 1, 1.0)?;
    drop(config::solve(&config, a, &b, &ws)?);
    let before = bench.device.memory_use().0;
    let (mut setups, mut solves) = (Vec::new(), Vec::new());
    let mut solve = || {
        let solution = config::solve(&config, a, &b, &ws)?;
        setups.push(solution.setup.as_secs_f64() * 1e3);
        solves.push(solution.solving.as_secs_f64() * 1e3);
        Ok(solution)
    };
    let (_, last, peak) = bench.repeated(&bench.executor, &mut solve)?;
    let counts = counts(bench, &mut || Ok(config::solve(&config, a, &b, &ws)?))?;
    Ok(SetupRow {
        hierarchy: format!("automatic: {}", last.config.preconditioner.name()),
        setups,
        update: None,
        solve: median(&solves),
        iterations: last.outcome.iterations,
        held: last.bytes,
        peak: peak - before,
        levels: last.multigrid,
        counts,
    })
}

/// The same stages on every level.
fn by_level(report: Option<&Levels>) -> String {
    let levels = report.map_or(&[][..], |report| &report.levels);
    let words = levels.iter().enumerate().map(|(number, level)| {
        let (rows, entries) = (level.rows, level.nonzeros);
        let stages = in_words(&level.setup);
        format!("level {number}, {rows} rows, {entries} entries: {stages}")
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Stages with their milliseconds.
fn in_words(stages: &[StageTime]) -> String {
    let stages = stages.iter();
    let stages = stages.map(|stage| format!("{} {:.2}", stage.name, stage.seconds * 1e3));
    stages.collect::<Vec<_>>().join(", ")
}

/// Kernels that are named: the longest ones.
const NAMED: usize = 30;

/// Launches, waits of the host and allocations of the driver for what `make` makes, and its kernels; nothing without `--counts`.
fn counts<M>(bench: &GpuBench, make: &mut dyn FnMut() -> Result<M>) -> Result<String> {
    if !bench.args.has("counts") {
        return Ok(String::new());
    }
    let before = bench.device.counts();
    drop(make()?);
    let done = bench.device.counts() - before;
    let (times, span) = bench.device.kernel_times(|| make().map(drop))?;
    let busy: f64 = times.iter().map(|kernel| kernel.milliseconds).sum();
    let kernels = times.iter().take(NAMED);
    let kernels =
        kernels.map(|one| format!("{} {:.2} ({})", one.name, one.milliseconds, one.launches));
    Ok(format!(
        "{} launches, {} waits, {} allocations; kernels {busy:.2} of {span:.2} ms: {}",
        done.launches + done.replayed,
        done.synchronizations,
        done.allocations,
        kernels.collect::<Vec<_>>().join(", ")
    ))
}

impl SetupRow {
    fn cells(&self, problem: &str) -> Vec<Cell> {
        let (setup, peers) = (median(&self.setups), peers(problem));
        let of_peer = peers.map(|[hypre, amgx]| match self.hierarchy.starts_with("pgm") {
            true => setup / amgx[0],
            false => setup / hypre[0],
        });
        let total = peers.map(|peers| {
            let [hypre, amgx] = peers.map(|[setup, solve]| setup + solve);
            (setup + self.solve) / hypre.min(amgx)
        });
        row![
            problem,
            &self.hierarchy,
            self.levels.as_ref().map_or(0, |made| made.levels.len()),
            setup,
            of_peer,
            self.setups[0],
            self.update,
            self.update.map(|update| update / setup),
            self.solve,
            self.iterations,
            total,
            self.held as f64 / f64::from(1 << 20),
            self.peak as f64 / self.held.max(1) as f64,
        ]
    }
}
