//! A GPU, its problems, and what others were measured with on an H200.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Executor;
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, Hierarchy};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::{Outcome, Stop};
use vcycle::vector::Vector;
use vcycle_gpu::{Device, discover};

use crate::asked::Asked;
use crate::common::Result;
use crate::problem::{self, BenchSystem};
use crate::timing::shortest;

/// Rounds that are timed at least, after one that is not.
pub(super) const ROUNDS: usize = 3;
/// Set-ups go on for so long, in milliseconds, and their median counts.
const LONG_ENOUGH: f64 = 250.0;

/// What all parts need.
pub(super) struct GpuBench {
    pub asked: Asked,
    pub device: Arc<Device>,
    pub executor: Executor,
    pub small: bool,
    /// Folder of matrices that are no problems of the gallery.
    folder: Option<PathBuf>,
    /// Systems in the memory of the host: those that several parts use are made once.
    made: RefCell<HashMap<String, Rc<BenchSystem>>>,
}

impl GpuBench {
    /// The device that is asked for, or the first one found.
    pub fn new(asked: &Asked, folder: Option<PathBuf>) -> Result<Self> {
        let name = match asked.maybe("device") {
            Some(name) => name.to_owned(),
            None => first_device()?,
        };
        Ok(Self {
            asked: asked.clone(),
            // First: what it refuses is bad input.
            executor: Executor::gpu(&name)?,
            device: Device::open(&name)?,
            small: asked.has("small"),
            folder,
            made: RefCell::default(),
        })
    }

    /// The problems or numbers of a part, of full size or small.
    pub fn of_size<'p, T>(&self, full: &'p [T], small: &'p [T]) -> &'p [T] {
        if self.small { small } else { full }
    }

    /// The milliseconds until everything that `make` queues is done, at least three times and
    /// for a quarter of a second; and what the last one made.
    pub fn repeated<M>(&self, make: &mut dyn FnMut() -> Result<M>) -> Result<(Vec<f64>, M)> {
        let mut times: Vec<f64> = Vec::new();
        loop {
            self.device.synchronize()?;
            self.device.forget_peak();
            let begin = Instant::now();
            let made = make()?;
            self.device.synchronize()?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            if times.len() >= ROUNDS && times.iter().sum::<f64>() >= LONG_ENOUGH {
                return Ok((times, made));
            }
        }
    }

    /// Conjugate gradients to 1e-8 with what multigrid has made.
    pub fn solver(&self, a: &Arc<dyn LinOp<f64>>, made: Hierarchy<f64>) -> Result<Solver<f64>> {
        let solver = Solver::<f64>::new(Cg::default(), Arc::clone(a))?;
        let solver = solver.with_preconditioner(Arc::new(made))?;
        Ok(solver.stopping(Stop::relative(1e-8)))
    }

    /// Solves so often after one that is not timed: the milliseconds of the best, and the first outcome.
    pub fn solved(
        &self,
        solver: &Solver<f64>,
        b: &Vector<f64>,
        rounds: usize,
    ) -> Result<(f64, Outcome)> {
        let mut solve = || Ok(solver.solve(b, &mut Vector::zeros_like(b)?)?);
        let outcome = solve()?;
        let (seconds, _) = shortest(&self.executor, rounds, &mut solve)?;
        Ok((seconds * 1e3, outcome))
    }

    /// A problem of the gallery, or a matrix of the folder.
    pub fn problem(&self, name: &str) -> Result<Rc<BenchSystem>> {
        if let Some(made) = self.made.borrow().get(name) {
            return Ok(Rc::clone(made));
        }
        let source = match name.contains(':') {
            true => name.to_owned(),
            false => file(self.folder.as_ref(), name)?,
        };
        let system = Rc::new(problem::system(&Executor::cpu(), &source)?);
        let mut made = self.made.borrow_mut();
        made.insert(name.to_owned(), Rc::clone(&system));
        Ok(system)
    }
}

/// Multigrid as the peers have it: PMIS, extended+i with four entries a row, l1-Jacobi.
pub(super) fn classical() -> Result<Amg> {
    let mut amg = Amg::default();
    amg.coarsening = "pmis".parse()?;
    amg.interpolation = "extended+i".parse()?;
    amg.smoother = "l1-jacobi".parse()?;
    Ok(amg)
}

fn file(folder: Option<&PathBuf>, name: &str) -> Result<String> {
    let Some(folder) = folder else {
        return Err(format!("no folder with {name} was given (--matrices)").into());
    };
    let files = ["mtx", "mtx.xz", "mtx.gz"].map(|ending| folder.join(format!("{name}.{ending}")));
    let found = files.iter().find(|file| file.exists());
    let found = found.ok_or_else(|| format!("{} has no {name}.mtx", folder.display()))?;
    Ok(found.display().to_string())
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
const TABLE: &str = include_str!("../../published/gpu-peers.tsv");

/// What a library takes for a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PublishedPeer {
    /// Milliseconds of a set-up, the second one of a process.
    pub setup: f64,
    /// Milliseconds of a solve phase.
    pub solve: f64,
}

/// What hypre and AmgX take for a problem.
pub(super) fn peers(problem: &str) -> Option<[PublishedPeer; 2]> {
    let of = |library: &str| {
        let mut lines = TABLE.lines().map(|line| line.split('\t').collect());
        let line: Vec<&str> = lines.find(|line: &Vec<&str>| line[..2] == [problem, library])?;
        let number = |place: usize| line[place].parse().expect("a published time is a number");
        Some(PublishedPeer {
            setup: number(2),
            solve: number(3),
        })
    };
    Some([of("hypre")?, of("AmgX")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_is_no_problem_needs_its_folder() {
        let missing = file(None, "G2_circuit").unwrap_err().to_string();
        assert!(missing.contains("--matrices"), "{missing}");
    }

    #[test]
    fn the_first_hierarchy_is_that_of_the_peers() {
        assert_eq!(classical().unwrap().truncation.max_elements, 4);
    }

    #[test]
    fn rows_are_found_by_their_names_and_say_where_they_come_from() {
        let [hypre, amgx] = peers("poisson7:256").unwrap();
        assert_eq!((hypre.setup, hypre.solve), (264.0, 163.0));
        assert_eq!(amgx.setup + amgx.solve, 583.0);
        assert!(peers("poisson7:20").is_none());
        let count = TABLE.lines().next().unwrap().split('\t').count();
        for line in TABLE.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), count, "{line}");
            assert!(fields.iter().all(|field| !field.is_empty()), "{line}");
        }
    }
}
