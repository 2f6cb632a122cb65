//! What programs that run for months do again and again: solves, distributed set-ups, devices that are opened and closed. The memory of
//! the process does not grow.
//!
//! A few rounds run as a test. `VCYCLE_SOAK` multiplies them, in an optimised build; where MPI has started the test, its processes are
//! the ranks:
//!
//! ```sh
//! VCYCLE_SOAK=1000 cargo test --release -p vcycle-capi --test soak -- --test-threads=1 --nocapture
//! ```

#[allow(dead_code)]
#[path = "interface/common.rs"]
mod common;

use std::sync::{Arc, Mutex, PoisonError};

use common::{Handle, Laplacian, last_error, setup, solve};
use vcycle::communicator::{mpi, threads};
use vcycle::config::{Config, Prepared, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::matrix::{Distributed, Partition};
use vcycle_capi::*;
use vcycle_gpu::Device;
use vcycle_gpu::testing::devices;

/// How many bytes a process may have more than after the first rounds: noise of its allocator.
const NOISE: usize = 6 << 20;

/// Runs rounds, and more of them, of which the process keeps nothing.
fn assert_flat(what: &str, rounds: usize, mut round: impl FnMut(usize)) {
    let times = std::env::var("VCYCLE_SOAK").map_or(1, |times| times.parse().unwrap());
    (0..rounds).for_each(&mut round);
    let before = resident();
    (0..rounds * times).for_each(round);
    let more = resident().saturating_sub(before);
    println!("{what}: {} rounds, {more} bytes more", rounds * times);
    assert!(more < NOISE, "{what}: {more} bytes more");
}

/// Tests of the same process share its memory.
fn alone() -> impl Drop {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of the memory that this process holds.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    4096 * pages.unwrap_or(0)
}

#[test]
fn solves_keep_no_memory() {
    let _alone = alone();
    let problem = Laplacian::new(4);
    let of_problem = || {
        let solver = Handle::new("solver=cg preconditioner=amg");
        setup(&solver, &problem.csr());
        solver
    };
    let mut solver = of_problem();
    assert_flat("solves", 1000, |round| {
        if round % 100 == 0 {
            solver = of_problem();
        }
        let (_, report) = solve(&solver, &vec![1.0; problem.rows()]);
        assert_eq!(report.status, VCYCLE_CONVERGED);
    });
}

#[test]
fn distributed_set_ups_keep_no_memory() {
    let _alone = alone();
    match mpi::is_launched() {
        true => set_ups_of_processes(),
        false => set_ups_of_threads(),
    }
}

fn set_ups_of_threads() {
    let whole = gallery::build("poisson5:4", &Executor::reference())
        .unwrap()
        .matrix;
    let config: Config = "solver=cg preconditioner=amg:gather-rows=2,coarsest-rows=2"
        .parse()
        .unwrap();
    threads::run(2, |team| {
        assert_flat("distributed set-ups", 100, |_| {
            let rank = Executor::cpu_with_threads(1)
                .unwrap()
                .with_team(&team)
                .unwrap();
            let rows = Partition::even(16, 1, 2);
            let a = Distributed::part_of(&rank, &whole, rows).unwrap();
            Prepared::new(config.clone(), System::new(Arc::new(a)), &Workspace::new()).unwrap();
        });
        Ok(())
    })
    .unwrap();
}

/// Every process has a grid of its own, but the last, which has nothing; no column is another's.
fn set_ups_of_processes() {
    let team = mpi::world().unwrap();
    // Of `MPI_COMM_WORLD`.
    let number = match mpi::version().unwrap().contains("Open MPI") {
        true => 0,
        false => 0x4400_0000,
    };
    let mut problem = Laplacian::new(4);
    let first = (team.rank() * problem.rows()) as i32;
    problem
        .columns
        .iter_mut()
        .for_each(|column| *column += first);
    if team.rank() > 0 && team.rank() + 1 == team.size() {
        problem = Laplacian {
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
    }
    assert_flat("distributed set-ups", 10, |_| {
        let solver = Handle::new("solver=cg preconditioner=amg:gather-rows=2,coarsest-rows=2");
        // SAFETY: the arrays are there, and MPI has started.
        let code = unsafe { vcycle_setup_distributed(solver.0, number, &problem.csr()) };
        assert_eq!(code, VCYCLE_OK, "{}", last_error());
        let (_, report) = solve(&solver, &vec![1.0; problem.rows()]);
        assert_eq!(report.status, VCYCLE_CONVERGED);
    });
    mpi::finish();
}

#[test]
fn devices_that_are_closed_keep_no_memory() {
    let _alone = alone();
    let Some(name) = devices().into_iter().next() else {
        return;
    };
    assert_flat("devices", 10, |_| {
        let device = Device::open_again(&name).unwrap();
        let memory = device.allocate(1 << 20).unwrap();
        device.upload(&memory, &[1; 1 << 20]).unwrap();
        device.synchronize().unwrap();
    });
}
