//! Whether components do what they say of themselves.

use std::sync::Arc;

use super::testing;
use crate::communicator::threads;
use crate::config::{System, solve_system};
use crate::configuration::{Config, PreconditionerConfig, SolverConfig};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::linop::{LinOp, Transpose};
use crate::matrix::{Csr, Distributed, Partition};
use crate::registration::Ranks;
use crate::scalar::{Mixes, c64};
use crate::vector::Vector;
use vcycle_core::operations::HostStages;

const PROBLEM: &str = "poisson7:6";

/// Those that can be set up for a matrix without zeros on its diagonal.
fn preconditioners() -> Vec<PreconditionerConfig> {
    let mut all = PreconditionerConfig::all();
    all.retain(|one| !["auto", "none", "saddle"].contains(&one.name()));
    all.push("gmres:4".parse().unwrap());
    all
}

fn made<T: Mixes<T, T>>(one: &PreconditionerConfig, a: Csr<T>) -> Result<Arc<dyn LinOp<T>>> {
    let factory = one.factory::<T>()?.expect("there is one");
    factory.generate(&(Arc::new(a) as Arc<dyn LinOp<T>>), &Workspace::new())
}

fn matrix(executor: &Executor) -> Csr<f64> {
    testing::matrix(PROBLEM).copy_to(executor).unwrap()
}

fn solve_over_ranks(solver: &SolverConfig, preconditioner: &PreconditionerConfig) -> Result<()> {
    let whole = matrix(&Executor::cpu_with_threads(1).unwrap());
    let config = Config {
        solver: solver.clone(),
        preconditioner: preconditioner.clone(),
        ..Config::default()
    };
    let solved = threads::run(2, |team| {
        let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let rows = Partition::even(whole.size().rows as u64, 1, 2);
        let system = System::new(Arc::new(Distributed::part_of(&rank, &whole, rows)?));
        let b = Vector::filled(&rank, system.matrix.rows(), 1, 1.0)?;
        solve_system(&config, &system, &b, &Workspace::new()).map(drop)
    });
    solved.map(drop)
}

#[test]
fn what_takes_rows_of_several_ranks_does_and_the_rest_says_what_does() {
    let none = PreconditionerConfig::None(Default::default());
    let fgmres: SolverConfig = "fgmres".parse().unwrap();
    // Rank 0 factorises for all: only as a preconditioner the direct solver is one of the rows of a rank.
    let mut solvers = SolverConfig::all();
    solvers.retain(|one| one.name() != "direct");
    let solvers = solvers.into_iter().map(|one| {
        let solved = solve_over_ranks(&one, &none);
        (one.registration(), solved)
    });
    let with = preconditioners().into_iter().map(|one| {
        let solved = solve_over_ranks(&fgmres, &one);
        (one.registration(), solved)
    });
    for (known, solved) in solvers.chain(with) {
        let name = known.name;
        match (known.support.ranks, solved) {
            (Ranks::Shared, solved) => solved.unwrap_or_else(|error| panic!("{name}: {error}")),
            (Ranks::Own, Ok(())) => panic!("{name} takes rows of several ranks"),
            (Ranks::Own, Err(refused)) => {
                let refused = refused.to_string();
                assert!(refused.contains(&format!("schwarz:{name}")), "{refused}");
            }
        }
    }
}

#[test]
fn what_can_be_transposed_is() {
    for one in preconditioners() {
        let m = made(&one, matrix(&Executor::cpu())).unwrap();
        let x = Vector::filled(&Executor::cpu(), m.size().rows, 1, 1.0).unwrap();
        let (mut y, ws) = (x.clone(), Workspace::new());
        let applied = m.apply_transposed(Transpose::Plain, &x, &mut y, &ws);
        let declared = one.registration().support.transposed;
        // What is made of another one can be what that can.
        assert!(
            applied.is_ok() == declared || one.name() == "schwarz",
            "{one}"
        );
    }
}

#[test]
fn what_takes_complex_matrices_does() {
    let problem = gallery::build_complex("magnetic:10,0.05", &Executor::cpu()).unwrap();
    for one in preconditioners() {
        let made = made::<c64>(&one, problem.matrix.clone());
        assert_eq!(made.is_ok(), one.registration().support.complex, "{one}");
    }
}

#[test]
fn devices_leave_to_the_host_what_is_declared() {
    let Some(device) = testing::device() else {
        return;
    };
    for one in preconditioners() {
        let watch = HostStages::watch();
        made(&one, matrix(&device)).unwrap();
        let mut inner = &one;
        if let PreconditionerConfig::Schwarz(schwarz) = &one {
            inner = &schwarz.inner;
        }
        let declared = inner.registration().support.host_stages;
        for message in watch.report(Workspace::new().log()) {
            let is_declared = declared.iter().any(|stage| message.contains(stage.name));
            assert!(is_declared, "{one}: {message}");
        }
    }
}

#[test]
fn every_component_says_what_memory_it_takes() {
    let of = crate::registration::MemoryOf {
        symmetric: true,
        nodes: false,
        on_device: false,
    };
    for one in preconditioners() {
        let memory = one.memory(of);
        let is_known = memory.entry + memory.row + memory.vectors > 0;
        // The factors of these are compared once they are ordered.
        assert!(is_known || one.name() == "block-direct", "{one}");
    }
    for one in SolverConfig::all().iter().filter(|one| !one.is_auto()) {
        assert!(one.memory(of).vectors > 0, "{one}");
    }
}
