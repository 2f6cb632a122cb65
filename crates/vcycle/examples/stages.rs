//! A coarsening, an interpolation, a stopping criterion and an observer written by the user.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::{Factory, LinOp, Size};
use vcycle::log::{Counts, IterationEvent, Log, Observer};
use vcycle::matrix::{Csr, Duplicates};
use vcycle::multigrid::coarsen::{CoarseUnknowns, Graph, NONE, Splitting};
use vcycle::multigrid::interpolate::CoarseLevel;
use vcycle::multigrid::{Amg, Coarsen, Interpolate};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::Stop;
use vcycle::vector::Vector;

/// Takes every second unknown of the numbering.
#[derive(Debug)]
struct EverySecond;

impl Coarsen for EverySecond {
    fn name(&self) -> &'static str {
        "every-second"
    }

    fn groups(&self) -> bool {
        false
    }

    fn coarsen(&self, graph: &Graph<'_>) -> vcycle::Result<CoarseUnknowns> {
        let rows = graph.a.size().rows;
        let number = |row: usize| {
            if row.is_multiple_of(2) {
                row as u32 / 2
            } else {
                NONE
            }
        };
        Ok(CoarseUnknowns::Chosen(Splitting {
            coarse_index: (0..rows).map(number).collect(),
            coarse_count: rows.div_ceil(2),
        }))
    }
}

/// A fine unknown has the mean of the coarse ones that are strongly coupled to it.
#[derive(Debug)]
struct Mean;

impl Interpolate for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn takes_groups(&self) -> bool {
        false
    }

    fn interpolate(&self, level: &CoarseLevel<'_>) -> vcycle::Result<Csr<f64>> {
        let CoarseUnknowns::Chosen(splitting) = level.coarse else {
            unreachable!("it goes with choices alone");
        };
        let rows = level.a.size().rows;
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows {
            let strong = &level.strength.columns()[level.strength.range(row)];
            let numbers = strong
                .iter()
                .map(|&other| splitting.coarse_index[other as usize]);
            let coarse: Vec<u32> = match splitting.coarse_index[row] {
                NONE => numbers.filter(|number| *number != NONE).collect(),
                own => vec![own],
            };
            values.extend(coarse.iter().map(|_| 1.0 / coarse.len() as f64));
            columns.extend(coarse);
            offsets.push(columns.len());
        }
        let size = Size::new(rows, splitting.coarse_count);
        let place = level.a.executor();
        Csr::from_arrays(place, size, offsets, columns, values, Duplicates::Refuse)
    }
}

/// Prints a dot for every iteration.
struct Dots;

impl Observer for Dots {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        print!("{}", if event.iteration == 0 { "" } else { "." });
    }
}

/// Solves a Poisson problem with all of them.
pub fn main() -> vcycle::Result<()> {
    let cpu = Executor::cpu();
    let a: Arc<dyn LinOp<f64>> = Arc::new(gallery::build("poisson5:31x32", &cpu)?.matrix);
    let amg = Amg::default()
        .with_coarsening(&EverySecond)
        .with_interpolation(&Mean);

    let counts = Rc::new(RefCell::new(Counts::default()));
    let ws = Workspace::with_log(Log::new().with(Dots).with(Rc::clone(&counts)));
    let cycle = amg.generate(&a, &ws)?;
    let solver = Solver::new(Cg::default(), a)?.with_preconditioner(cycle)?;

    // Ends when the residual is small, or when the last three iterations gained less than a digit.
    let seen = std::sync::Mutex::new(Vec::new());
    let stop = Stop::relative(1e-8).or(move |progress| {
        let mut seen = seen.lock().expect("nobody failed");
        seen.push(progress.residuals[0]);
        seen.len() > 3 && seen[seen.len() - 1] > 0.1 * seen[seen.len() - 4]
    });
    let b = Vector::filled(&cpu, 31 * 32, 1, 1.0)?;
    let mut x = Vector::zeros_like(&b)?;
    let outcome = solver.solve_in(&b, &mut x, &stop, &ws)?;
    println!(" {outcome}");
    assert!(outcome.converged() && outcome.iterations < 60);
    assert!(counts.borrow().allocations["cpu"].bytes > 0);
    assert!(counts.borrow().operations["solve"].times == 1);
    Ok(())
}
