//! `vcycle-bench gpu-setup`: set-ups on a GPU beside those of hypre and AmgX, and products of sparse
//! matrices beside cuSPARSE.

mod args;
mod bench;
mod counts;
mod others;
mod products;

use std::sync::Arc;
use std::time::Instant;

use vcycle::config::{self, Config};
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::multigrid::coarsen::Coarsening;
use vcycle::multigrid::{Amg, Hierarchy, Report, StageTime};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::Stop;
use vcycle::vector::Vector;

pub(crate) use self::args::GpuSetupArgs;
use self::args::SetupPart;
use self::bench::SetupBench;
use super::bench::{GpuBench, peers};
use super::report::MarkdownReport;
use crate::common::{Result, Table, cell};
use crate::options::multigrid;
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

pub(crate) fn run(arguments: &GpuSetupArgs) -> Result<()> {
    let bench = SetupBench {
        gpu: GpuBench::new(arguments.device.as_ref(), arguments.small, None)?,
        asked: arguments.clone(),
    };
    let report = &mut MarkdownReport::new(arguments.output.clone());
    let wanted = |part| match arguments.only.is_empty() {
        true => matches!(part, SetupPart::Setup | SetupPart::Products),
        false => arguments.only.contains(&part),
    };
    if wanted(SetupPart::Setup) {
        bench.setups(&bench.names(&FULL, &SMALL), report)?;
    }
    if wanted(SetupPart::Products) {
        products::run(&bench, report)?;
    }
    if wanted(SetupPart::Fsai) {
        others::fsai(&bench, report)?;
    }
    if wanted(SetupPart::Presets) {
        others::presets(&bench, report)?;
    }
    if wanted(SetupPart::Large) {
        bench.setups(&[LARGE], report)?;
    }
    Ok(())
}

/// The hierarchies that are timed, and whose time a peer's is compared with.
fn hierarchies(further: &[String], options: &[String]) -> Result<Vec<(String, Amg)>> {
    let mut classical = Amg::default();
    classical.coarsening = "pmis".parse()?;
    classical.interpolation = "extended+i".parse()?;
    classical.smoother = "l1-jacobi".parse()?;
    let mut pairs = Amg::default();
    pairs.coarsening = "pgm".parse()?;
    pairs.aggregate_size = 2;
    pairs.smoother = "l1-jacobi".parse()?;
    let mut all = vec![
        ("pmis, extended+i(4)".to_owned(), classical),
        ("pgm, pairs".to_owned(), pairs),
        ("default".to_owned(), Amg::default()),
    ];
    for name in further {
        let amg = Amg::default().with_coarsening(name.parse::<Coarsening>()?);
        all.push((name.clone(), amg));
    }
    for text in options {
        let config = format!("preconditioner = {{ name = \"amg\", {text} }}");
        all.push((text.clone(), multigrid(Config::from_toml(&config)?)?));
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

impl SetupBench {
    fn setups(&self, names: &[&str], report: &mut MarkdownReport) -> Result<()> {
        report.add("## Set-up")?;
        for name in names {
            let mut rows = Vec::new();
            let system = self.gpu.problem(name)?;
            for (hierarchy, mut amg) in hierarchies(&self.asked.coarsenings, &self.asked.options)? {
                amg.host_rows = self.asked.host_rows.unwrap_or(amg.host_rows);
                eprintln!("{name}, {hierarchy}");
                match self.measure(name, &system.matrix, &hierarchy, &amg) {
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
            rows.push(self.automatic(name, &system.matrix)?);
            let mut table = Table::new(
                "problem | hierarchy | levels | set-up | of peer | second | update | of set-up | solve | iterations | both of better peer | MiB | peak",
            );
            rows.iter().for_each(|row| table.row(row.cells()));
            report.add(table)?;
            for row in rows {
                let SetupRow {
                    problem,
                    hierarchy,
                    stages,
                    by_level,
                    counts,
                    ..
                } = row;
                report.add(format!("{problem}, {hierarchy}: {stages}"))?;
                if self.asked.counts {
                    report.add(by_level)?;
                    report.add(format!("Launches, waits, allocations: {counts}"))?;
                }
            }
        }
        report.add(
            "Milliseconds of wall clock. Set-up: the matrix is on the device, the median over a \
             quarter of a second, at least 3, after one that is not timed, layouts of all products \
             included; PMIS and pairs smooth by l1-Jacobi. Second: the second one in the process. \
             Update: other values for a pattern that was set up. Solve: conjugate gradients to 1e-8, \
             b = ones, one that is not timed before. Peers: hypre 3.1 for PMIS, \
             AmgX 2.5 for pairs, the better total of set-up and solve for the default. Automatic: what is chosen \
             where nothing is said, whole solves, all that is found out of the matrix part of the set-up. Memory: MiB \
             of the finished hierarchy beside the caller's matrix, and the most in use during the \
             set-up over that; of the automatic choice with the matrix, and the most of a whole solve.",
        )
    }

    fn measure(
        &self,
        problem: &str,
        matrix: &Csr<f64>,
        hierarchy: &str,
        amg: &Amg,
    ) -> Result<SetupRow> {
        let ws = Workspace::new();
        let a: Arc<dyn LinOp<f64>> = Arc::new(matrix.copy_to(&self.gpu.executor)?);
        // The products of the solver bring the matrix to the device as well.
        let b = Vector::filled(&self.gpu.executor, a.size().rows, 1, 1.0)?;
        let mut y = Vector::zeros_like(&b)?;
        a.apply(&b, &mut y, &ws)?;
        drop(amg.hierarchy(&a, &ws)?);
        let before = self.gpu.device.memory_use().0;
        let (setups, made) = self.repeated(&mut || Ok(amg.hierarchy(&a, &ws)?))?;
        let (after, peak) = self.gpu.device.memory_use();
        let by_level = by_level(Some(made.report()));
        let stages = stages(Some(made.report()));
        let levels = made.report().levels.len();
        let counts = self.counted(&mut |ws| Ok(amg.hierarchy(&a, ws)?))?;
        let (solve, iterations) = self.solve(&a, &b, made)?;
        let (kept, first) = amg.setup(&a, &ws)?;
        drop(first);
        let (updates, renewed) = self.repeated(&mut || Ok(kept.update_values(&a, &ws)?))?;
        drop(renewed);
        Ok(SetupRow {
            problem: problem.to_owned(),
            hierarchy: hierarchy.to_owned(),
            second: setups[0],
            setup: median(setups),
            update: Some(median(updates)),
            solve,
            iterations,
            levels,
            held: after - before,
            peak: peak - before,
            stages,
            by_level,
            counts,
        })
    }

    /// What is asked of the device to make something, if that is of interest.
    fn counted<M>(&self, make: &mut dyn FnMut(&Workspace) -> Result<M>) -> Result<String> {
        if !self.asked.counts {
            return Ok(String::new());
        }
        let stages = counts::by_stage(&self.gpu.device, make)?;
        let kernels = counts::kernels(&self.gpu.device, make)?;
        Ok(format!("{stages}; {kernels}"))
    }

    /// What is chosen where nothing is said, analysis included.
    fn automatic(&self, problem: &str, matrix: &Csr<f64>) -> Result<SetupRow> {
        let (ws, config) = (Workspace::new(), Config::default());
        let a = Arc::new(matrix.copy_to(&self.gpu.executor)?);
        let b = Vector::filled(&self.gpu.executor, a.size().rows, 1, 1.0)?;
        drop(config::solve(&config, &a, &b, &ws)?);
        let before = self.gpu.device.memory_use().0;
        let (mut setups, mut solves) = (Vec::new(), Vec::new());
        let (_, last) = self.repeated(&mut || {
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
            peak: self.gpu.device.memory_use().1 - before,
            stages: stages(last.multigrid.as_ref()),
            by_level: by_level(last.multigrid.as_ref()),
            counts: self.counted(&mut |ws| Ok(config::solve(&config, &a, &b, ws)?))?,
        })
    }

    fn solve(
        &self,
        a: &Arc<dyn LinOp<f64>>,
        b: &Vector<f64>,
        made: Hierarchy<f64>,
    ) -> Result<(f64, usize)> {
        let solver = Solver::<f64>::new(Cg::default(), Arc::clone(a))?
            .with_preconditioner(Arc::new(made))?
            .stopping(Stop::relative(1e-8));
        let mut found = (0.0, 0);
        for _ in 0..2 {
            let mut x = Vector::zeros_like(b)?;
            self.gpu.device.synchronize()?;
            let begin = Instant::now();
            let outcome = solver.solve(b, &mut x)?;
            found = (begin.elapsed().as_secs_f64() * 1e3, outcome.iterations);
        }
        Ok(found)
    }
}

/// The milliseconds of every stage of a set-up.
fn stages(report: Option<&Report>) -> String {
    in_words(&report.map(Report::setup_by_stage).unwrap_or_default())
}

/// The same on every level.
fn by_level(report: Option<&Report>) -> String {
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
    fn cells(&self) -> String {
        let peers = peers(&self.problem);
        let of_peer = peers.map(|[hypre, amgx]| match self.hierarchy.starts_with("pgm") {
            true => self.setup / amgx.setup,
            false => self.setup / hypre.setup,
        });
        let total = peers.map(|peers| {
            let [hypre, amgx] = peers.map(|peer| peer.setup + peer.solve);
            (self.setup + self.solve) / hypre.min(amgx)
        });
        format!(
            "{} | {} | {} | {:.2} | {} | {:.2} | {} | {} | {:.2} | {} | {} | {:.0} | {:.2}",
            self.problem,
            self.hierarchy,
            self.levels,
            self.setup,
            cell(of_peer, 2),
            self.second,
            cell(self.update, 2),
            cell(self.update.map(|update| update / self.setup), 2),
            self.solve,
            self.iterations,
            cell(total, 2),
            self.held as f64 / f64::from(1 << 20),
            self.peak as f64 / self.held.max(1) as f64
        )
    }
}
