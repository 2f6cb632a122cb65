//! `vcycle-bench gpu`: a GPU beside its own memory, beside cuSPARSE and beside published times.

mod columns;
pub(crate) mod cusparse;
mod latency;
mod products;
pub(crate) mod setup;
mod solve;

use vcycle::multigrid::{Amg, Hierarchy};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::{Outcome, Stop};
use vcycle_gpu::{Device, discover};

use crate::options::multigrid;
use crate::prelude::*;
use crate::problem::{self, BenchSystem};
use crate::solves::precisions;
use crate::timing::{repeated, warm};

pub(crate) fn run(args: &Args) -> Result<()> {
    let bench = &GpuBench::new(args)?;
    // `latency` starts this in processes of their own.
    if args.wants("kernels", false) {
        return latency::use_kernels(bench);
    }
    let precisions_or = |default: &[&'static str]| -> Vec<String> {
        let given = args.list("precisions");
        let chosen = if given.is_empty() { default } else { &given };
        chosen.iter().map(|name| (*name).to_owned()).collect()
    };
    let report = &mut Report::new(args.path("output"));
    let bandwidth = latency::facts(bench, report)?;
    if args.wants("latency", true) {
        latency::run(bench, report)?;
    }
    if args.wants("spmv", true) {
        products::run(bench, bandwidth, report)?;
    }
    if args.wants("columns", true) {
        columns::run(bench, &precisions_or(&["sp"]), report)?;
    }
    if args.wants("formats", true) {
        columns::formats(bench, report)?;
    }
    if args.wants("solve", true) {
        solve::run(bench, &precisions_or(&["dp", "sp", "dp-sp"]), report)?;
    }
    if args.wants("precision", true) {
        report.add("## Mixed precision beside the papers")?;
        let line = format!("precision --device {}", bench.device.properties().name);
        for problem in args.listed("precision") {
            report.add(precisions(&Args::parse(&line), problem)?)?;
        }
    }
    Ok(())
}

/// What all parts need.
struct GpuBench {
    args: Args,
    device: Arc<Device>,
    executor: Executor,
}

/// Rounds that are timed at least, after one that is not.
const ROUNDS: usize = 3;
/// Set-ups are repeated for so many milliseconds, and their median counts.
const LONG_ENOUGH: f64 = 250.0;

impl GpuBench {
    /// The device of `--device`, or the first one found.
    fn new(args: &Args) -> Result<Self> {
        let name = match args.maybe("device") {
            Some(name) => name.to_owned(),
            None => first_device()?,
        };
        Ok(Self {
            args: args.clone(),
            // First, since its errors are bad input.
            executor: Executor::gpu(&name)?,
            device: Device::open(&name)?,
        })
    }

    /// Milliseconds of repetitions, at least three and for a quarter of a second, the last result, and the peak of the device's memory.
    fn repeated<M>(
        &self,
        on: &Executor,
        make: &mut dyn FnMut() -> Result<M>,
    ) -> Result<(Vec<f64>, M, usize)> {
        let goes_on = |times: &[f64]| {
            let is_short = times.len() < ROUNDS || times.iter().sum::<f64>() < LONG_ENOUGH;
            if is_short {
                self.device.forget_peak();
            }
            is_short
        };
        goes_on(&[]);
        let (times, made) = repeated(on, goes_on, make)?;
        Ok((times, made, self.device.memory_use().1))
    }

    /// Conjugate gradients to 1e-8 with a hierarchy.
    fn solver(&self, a: &Arc<dyn LinOp<f64>>, made: Hierarchy<f64>) -> Result<Solver<f64>> {
        let solver = Solver::<f64>::new(Cg::default(), Arc::clone(a))?;
        let solver = solver.with_preconditioner(Arc::new(made))?;
        Ok(solver.stopping(Stop::relative(1e-8)))
    }

    /// The milliseconds of the best of some solves after one that is not timed, and the last outcome.
    fn solved(
        &self,
        solver: &Solver<f64>,
        b: &Vector<f64>,
        rounds: usize,
    ) -> Result<(f64, Outcome)> {
        let mut solve = || Ok(solver.solve(b, &mut Vector::zeros_like(b)?)?);
        warm(&self.executor, rounds, &mut solve)
    }

    /// A problem of the gallery, or a matrix of the folder of `--matrices`.
    fn problem(&self, name: &str) -> Result<BenchSystem> {
        if name.contains(':') {
            return problem::system(&Executor::cpu(), name);
        }
        let folder = self.args.path("matrices");
        let folder =
            folder.ok_or_else(|| format!("no folder with {name} was given (--matrices)"))?;
        let files =
            ["mtx", "mtx.xz", "mtx.gz"].map(|ending| folder.join(format!("{name}.{ending}")));
        let found = files.iter().find(|file| file.exists());
        let found = found.ok_or_else(|| format!("{} has no {name}.mtx", folder.display()))?;
        problem::system(&Executor::cpu(), &found.display().to_string())
    }
}

/// Multigrid as the peers have it: PMIS, extended+i with four entries a row, l1-Jacobi.
fn classical() -> Result<Amg> {
    let text = "preconditioner=amg coarsening=pmis interpolation=extended+i smoother=l1-jacobi";
    multigrid(text.parse()?)
}

/// The vendors' own drivers come before OpenCL.
fn first_device() -> Result<String> {
    let mut reasons = Vec::new();
    for found in discover() {
        match found.devices.map(|devices| devices.into_iter().next()) {
            Ok(Some(device)) => return Ok(device.name),
            Ok(None) => {}
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(format!("there is no GPU: {}", reasons.join("; ")).into())
}

/// A line for every problem and library, with version, options, date and source of each.
const PEERS: &str = include_str!("../../published/gpu-peers.tsv");

/// Milliseconds of a set-up, the second one of a process, and of a solve phase of hypre and of AmgX.
fn peers(problem: &str) -> Option<[[f64; 2]; 2]> {
    let of = |library: &str| {
        let mut lines = PEERS.lines().map(|line| line.split('\t').collect());
        let line: Vec<&str> = lines.find(|line: &Vec<&str>| line[..2] == [problem, library])?;
        Some([2, 3].map(|place| line[place].parse().expect("a published time is a number")))
    };
    Some([of("hypre")?, of("AmgX")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_times_are_found_by_problem_and_the_first_hierarchy_is_that_of_the_peers() {
        assert_eq!(classical().unwrap().truncation.max_elements, 4);
        let [hypre, amgx] = peers("poisson7:256").unwrap();
        assert_eq!((hypre, amgx.iter().sum()), ([264.0, 163.0], 583.0));
        assert!(peers("poisson7:20").is_none());
        let count = PEERS.lines().next().unwrap().split('\t').count();
        for line in PEERS.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), count, "{line}");
            assert!(fields.iter().all(|field| !field.is_empty()), "{line}");
        }
    }
}
