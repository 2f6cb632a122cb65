//! `vcycle-bench gpu-setup`: set-ups on a GPU beside those of hypre and AmgX, and products of sparse
//! matrices beside cuSPARSE.

mod counts;
mod others;
mod products;

use std::sync::Arc;

use vcycle::config::{self, Config};
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::multigrid::coarsen::Coarsening;
use vcycle::multigrid::{Amg, Report as Levels, StageTime};
use vcycle::vector::Vector;

use super::bench::{GpuBench, classical, peers};
use crate::asked::Asked;
use crate::common::Result;
use crate::options::multigrid;
use crate::table::{Cell, Report, row};
use crate::timing::median;

const FULL: [&str; 6] = [
    "poisson7:128",
    "poisson7:256",
    "poisson27:128",
    "poisson27:200",
    "jump7:128,1e6",
    "aniso7:128,0.01",
];
const SMALL: [&str; 2] = ["poisson7:30", "poisson27:20"];
const LARGE: &str = "poisson7:400";

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let bench = &GpuBench::new(asked, None)?;
    let report = &mut Report::new(asked.path("output"));
    if asked.wants("setup", true) {
        setups(bench, &names(bench, &FULL, &SMALL), report)?;
    }
    if asked.wants("products", true) {
        products::run(bench, report)?;
    }
    if asked.wants("fsai", false) {
        others::fsai(bench, report)?;
    }
    if asked.wants("presets", false) {
        others::presets(bench, report)?;
    }
    if asked.wants("large", false) {
        setups(bench, &[LARGE], report)?;
    }
    Ok(())
}

/// The problems that were asked for, or the usual ones, of full size or `small`.
fn names<'n>(bench: &'n GpuBench, full: &'n [&'n str], small: &'n [&'n str]) -> Vec<&'n str> {
    let asked = bench.asked.list("problems");
    let asked: Vec<&str> = asked.iter().flat_map(|names| names.split(' ')).collect();
    match asked.is_empty() {
        true => bench.of_size(full, small).to_vec(),
        false => asked,
    }
}

/// The hierarchies that are timed, and whose time a peer's is compared with.
fn hierarchies(asked: &Asked) -> Result<Vec<(String, Amg)>> {
    let mut pairs = Amg::default();
    pairs.coarsening = "pgm".parse()?;
    pairs.aggregate_size = 2;
    pairs.smoother = "l1-jacobi".parse()?;
    let mut all = vec![
        ("pmis, extended+i(4)".to_owned(), classical()?),
        ("pgm, pairs".to_owned(), pairs),
        ("default".to_owned(), Amg::default()),
    ];
    for name in asked.list("coarsenings") {
        let amg = Amg::default().with_coarsening(name.parse::<Coarsening>()?);
        all.push((name.to_owned(), amg));
    }
    for text in asked.list("options") {
        let config = format!("preconditioner = {{ name = \"amg\", {text} }}");
        all.push((text.to_owned(), multigrid(Config::from_toml(&config)?)?));
    }
    Ok(all)
}

/// A set-up in its row of the table.
struct SetupRow {
    problem: String,
    hierarchy: String,
    setup: f64,
    /// The second one in the process.
    second: f64,
    /// Where a set-up is kept.
    update: Option<f64>,
    solve: f64,
    iterations: usize,
    levels: usize,
    /// Bytes of the hierarchy, and the most that were in use on the way.
    held: usize,
    peak: usize,
    stages: String,
    /// The same on every level.
    by_level: String,
    /// Launches, waits and allocations, where they are asked for.
    counts: String,
}

fn setups(bench: &GpuBench, names: &[&str], report: &mut Report) -> Result<()> {
    report.add("## Set-up")?;
    for name in names {
        let mut rows = Vec::new();
        let system = bench.problem(name)?;
        for (hierarchy, mut amg) in hierarchies(&bench.asked)? {
            amg.host_rows = bench
                .asked
                .maybe_count("host-rows")
                .unwrap_or(amg.host_rows);
            eprintln!("{name}, {hierarchy}");
            match measure(bench, name, &system.matrix, &hierarchy, &amg) {
                Ok(row) => {
                    // At once: what comes later may be cut off.
                    let SetupRow { setup, solve, .. } = row;
                    eprintln!("{setup:.2} + {solve:.2} ms: {}", row.stages);
                    rows.push(row);
                }
                Err(error) => report.add(format!("{name}, {hierarchy}: {error}"))?,
            }
        }
        eprintln!("{name}, automatic");
        rows.push(automatic(bench, name, &system.matrix)?);
        let mut table = bench.asked.table("setup");
        rows.iter().for_each(|row| table.row(row.cells()));
        report.add(table)?;
        for row in rows {
            report.add(format!(
                "{}, {}: {}",
                row.problem, row.hierarchy, row.stages
            ))?;
            if bench.asked.has("counts") {
                report.add(row.by_level)?;
                report.add(format!("Launches, waits, allocations: {}", row.counts))?;
            }
        }
    }
    report.add(bench.asked.note("setup", &[]))
}

fn measure(
    bench: &GpuBench,
    problem: &str,
    matrix: &Csr<f64>,
    hierarchy: &str,
    amg: &Amg,
) -> Result<SetupRow> {
    let ws = Workspace::new();
    let a: Arc<dyn LinOp<f64>> = Arc::new(matrix.copy_to(&bench.executor)?);
    // The products of the solver bring the matrix to the device as well.
    let b = Vector::filled(&bench.executor, a.size().rows, 1, 1.0)?;
    let mut y = Vector::zeros_like(&b)?;
    a.apply(&b, &mut y, &ws)?;
    drop(amg.hierarchy(&a, &ws)?);
    let before = bench.device.memory_use().0;
    let (setups, made) = bench.repeated(&mut || Ok(amg.hierarchy(&a, &ws)?))?;
    let (after, peak) = bench.device.memory_use();
    let by_level = by_level(Some(made.report()));
    let stages = stages(Some(made.report()));
    let levels = made.report().levels.len();
    let counts = counted(bench, &mut |ws| Ok(amg.hierarchy(&a, ws)?))?;
    let (solve, outcome) = bench.solved(&bench.solver(&a, made)?, &b, 1)?;
    let (kept, first) = amg.setup(&a, &ws)?;
    drop(first);
    let (updates, renewed) = bench.repeated(&mut || Ok(kept.update_values(&a, &ws)?))?;
    drop(renewed);
    Ok(SetupRow {
        problem: problem.to_owned(),
        hierarchy: hierarchy.to_owned(),
        second: setups[0],
        setup: median(setups),
        update: Some(median(updates)),
        solve,
        iterations: outcome.iterations,
        levels,
        held: after - before,
        peak: peak - before,
        stages,
        by_level,
        counts,
    })
}

/// What is asked of the device to make something, if that is of interest.
fn counted<M>(bench: &GpuBench, make: &mut dyn FnMut(&Workspace) -> Result<M>) -> Result<String> {
    if !bench.asked.has("counts") {
        return Ok(String::new());
    }
    let stages = counts::by_stage(&bench.device, make)?;
    let kernels = counts::kernels(&bench.device, make)?;
    Ok(format!("{stages}; {kernels}"))
}

/// What is chosen where nothing is said, analysis included.
fn automatic(bench: &GpuBench, problem: &str, matrix: &Csr<f64>) -> Result<SetupRow> {
    let (ws, config) = (Workspace::new(), Config::default());
    let a = Arc::new(matrix.copy_to(&bench.executor)?);
    let b = Vector::filled(&bench.executor, a.size().rows, 1, 1.0)?;
    drop(config::solve(&config, &a, &b, &ws)?);
    let before = bench.device.memory_use().0;
    let (mut setups, mut solves) = (Vec::new(), Vec::new());
    let (_, last) = bench.repeated(&mut || {
        let solution = config::solve(&config, &a, &b, &ws)?;
        setups.push(solution.setup.as_secs_f64() * 1e3);
        solves.push(solution.solving.as_secs_f64() * 1e3);
        Ok(solution)
    })?;
    let chosen = last.config.preconditioner.name();
    Ok(SetupRow {
        problem: problem.to_owned(),
        hierarchy: format!("automatic: {chosen}"),
        second: setups[0],
        setup: median(setups),
        update: None,
        solve: median(solves),
        iterations: last.outcome.iterations,
        levels: last.multigrid.as_ref().map_or(0, |made| made.levels.len()),
        held: last.bytes,
        peak: bench.device.memory_use().1 - before,
        stages: stages(last.multigrid.as_ref()),
        by_level: by_level(last.multigrid.as_ref()),
        counts: counted(bench, &mut |ws| Ok(config::solve(&config, &a, &b, ws)?))?,
    })
}

/// The milliseconds of every stage of a set-up.
fn stages(report: Option<&Levels>) -> String {
    in_words(&report.map(Levels::setup_by_stage).unwrap_or_default())
}

/// The same on every level.
fn by_level(report: Option<&Levels>) -> String {
    let levels = report.map_or(&[][..], |report| &report.levels);
    let words = levels.iter().enumerate().map(|(number, level)| {
        let (rows, entries) = (level.rows, level.nonzeros);
        let stages = in_words(&level.setup);
        format!("level {number}, {rows} rows, {entries} entries: {stages}")
    });
    words.collect::<Vec<_>>().join("; ")
}

fn in_words(stages: &[StageTime]) -> String {
    let stages = stages.iter();
    let stages = stages.map(|stage| format!("{} {:.2}", stage.name, stage.seconds * 1e3));
    stages.collect::<Vec<_>>().join(", ")
}

impl SetupRow {
    fn cells(&self) -> Vec<Cell> {
        let peers = peers(&self.problem);
        let of_peer = peers.map(|[hypre, amgx]| match self.hierarchy.starts_with("pgm") {
            true => self.setup / amgx.setup,
            false => self.setup / hypre.setup,
        });
        let total = peers.map(|peers| {
            let [hypre, amgx] = peers.map(|peer| peer.setup + peer.solve);
            (self.setup + self.solve) / hypre.min(amgx)
        });
        row![
            &self.problem,
            &self.hierarchy,
            self.levels,
            self.setup,
            of_peer,
            self.second,
            self.update,
            self.update.map(|update| update / self.setup),
            self.solve,
            self.iterations,
            total,
            self.held as f64 / f64::from(1 << 20),
            self.peak as f64 / self.held.max(1) as f64,
        ]
    }
}
