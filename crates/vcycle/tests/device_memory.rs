//! What happens to set-ups when a device has no more memory, and how often the host waits for one; in a process of its own,
//! because the limit is that of the device, and its waits are counted.

use std::sync::{Arc, Mutex, PoisonError};

use vcycle::Error;
use vcycle::config::{self, Config};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::LinOp;
use vcycle::multigrid::Amg;
use vcycle::solver::{PipeGmres, Solver};
use vcycle::stop::Stop;
use vcycle::vector::Vector;
use vcycle_core::executor::Listening;
use vcycle_core::testing::device;
use vcycle_gpu::Device;

/// Held by the test that sets the limit.
static LIMITED: Mutex<()> = Mutex::new(());

/// A test with the device, which no other test uses meanwhile.
fn alone(test: impl FnOnce(&Executor, &Device)) {
    if let Some(executor) = device() {
        let _alone = LIMITED.lock().unwrap_or_else(PoisonError::into_inner);
        test(&executor, executor.device().expect("it is one"));
    }
}

#[test]
fn a_matrix_too_large_is_refused_before_it_travels() {
    alone(|executor, device| {
        let a = gallery::build("poisson7:12", &Executor::cpu()).unwrap();
        let needed = a.matrix.bytes();
        let (used, before) = (device.memory_use().0, device.counts());
        device.limit_memory(Some(used + needed - 1));
        let refused = a.matrix.copy_to(executor).unwrap_err();
        device.limit_memory(None);
        let is_named = matches!(
            refused,
            Error::Device(vcycle_gpu::Error::OutOfMemory { bytes, free, .. })
                if bytes == needed && free < needed
        );
        assert!(is_named, "{refused}");
        let (after, then) = (device.counts(), device.memory_use().0);
        assert_eq!((after.uploaded, then), (before.uploaded, used));
        assert!(a.matrix.copy_to(executor).is_ok());
    });
}

#[test]
fn a_set_up_without_memory_fails_and_the_next_one_works() {
    alone(|executor, device| {
        let a = gallery::build("poisson7:12", &Executor::cpu()).unwrap();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a.matrix.copy_to(executor).unwrap());
        for coarsening in ["pmis", "pgm"] {
            let mut amg = Amg::default();
            amg.coarsening = coarsening.parse().unwrap();
            amg.smoother = "l1-jacobi".parse().unwrap();
            amg.host_rows = 100;
            let set_up = || amg.hierarchy(&a, &Workspace::new());
            drop(set_up().unwrap());
            let before = device.memory_use().0;
            device.forget_peak();
            let levels = set_up().unwrap().report().levels.len();
            let needed = device.memory_use().1 - before;
            for eighths in 0..8 {
                device.limit_memory(Some(before + needed * eighths / 8));
                let refused = set_up().unwrap_err();
                assert!(refused.is_out_of_memory(), "{refused}");
                let left = device.memory_use().0;
                assert_eq!(left, before, "{coarsening}, {eighths} eighths");
            }
            device.limit_memory(None);
            assert_eq!(set_up().unwrap().report().levels.len(), levels);
        }
    });
}

#[test]
fn what_was_reached_is_returned_where_there_is_no_memory_for_a_proof() {
    alone(|executor, device| {
        let problem = gallery::build("poisson7:28", &Executor::cpu()).unwrap();
        let b = Vector::from_column(&Executor::cpu(), problem.rhs);
        let b = b.copy_to(executor).unwrap();
        let mut config: Config = "solver=cg preconditioner=none".parse().unwrap();
        config.stop.max_iterations = 2;
        // A matrix keeps what products with it are made of.
        let solve = || {
            let a = Arc::new(problem.matrix.copy_to(executor)?);
            config::solve(&config, &a, &b, &Workspace::new())
        };
        device.forget_peak();
        let expected = solve().unwrap();
        device.limit_memory(Some(device.memory_use().1 - problem.matrix.bytes() / 2));
        let found = solve();
        device.limit_memory(None);
        let found = found.unwrap();
        assert_eq!(found.outcome.status, expected.outcome.status);
        assert_eq!(found.x.to_vec(), expected.x.to_vec());
    });
}

/// Where the matrix is on the device a solve brings to the host what that sets up itself: levels of up to 512 rows. Besides there
/// are numbers, not arrays, whatever the device and the matrix.
#[test]
fn a_solve_brings_coarse_levels_and_a_few_numbers_to_the_host() {
    alone(|executor, device| {
        let problem = gallery::build("poisson7:12", &Executor::cpu()).unwrap();
        let a = Arc::new(problem.matrix.copy_to(executor).unwrap());
        let b = Vector::from_column(&Executor::cpu(), problem.rhs);
        let b = b.copy_to(executor).unwrap();
        for config in ["preconditioner=amg", "coarsening=pmis"] {
            let (before, listening) = (device.counts().downloaded, Listening::begin());
            let config: Config = config.parse().unwrap();
            let solved = config::solve(&config, &a, &b, &Workspace::new()).unwrap();
            let brought = device.counts().downloaded - before;
            let levels = solved.multigrid.unwrap().levels;
            let coarse = levels.iter().filter(|level| level.rows <= 512);
            let bytes = coarse.map(|level| 12 * level.nonzeros + 8 * (level.rows + 1));
            let allowed = bytes.sum::<usize>() + 16_000;
            let events = listening.events();
            let message = format!("{brought} bytes, {allowed} allowed: {levels:?}, {events:?}");
            assert!(brought as usize <= allowed, "{message}");
        }
    });
}

/// Does `work` again and again, and each time the next request for memory is refused, until none is left to refuse. It
/// fails for want of memory then, or does without; nothing is lost, and the last time it works.
fn refuse_each(device: &Device, what: &str, work: &dyn Fn() -> vcycle::Result<f64>) {
    let expected = work().unwrap();
    let before = device.memory_use().0;
    for place in 0.. {
        device.refuse_memory(Some(place));
        let made = work();
        let is_done = device.is_refusing_memory();
        device.refuse_memory(None);
        match made {
            Ok(found) => {
                let apart = (found - expected).abs();
                assert!(apart < 1e-6 * expected, "{what}, request {place}: {apart}");
            }
            Err(error) => assert!(error.is_out_of_memory(), "{what}, request {place}: {error}"),
        }
        assert_eq!(device.memory_use().0, before, "{what}, request {place}");
        if is_done {
            println!("{what}: {place} requests refused");
            return;
        }
    }
}

/// The norm of the solution of a problem of the gallery.
fn solved(executor: &Executor, spec: &str, config: &str) -> vcycle::Result<f64> {
    let problem = gallery::build(spec, &Executor::cpu())?;
    let a = problem.matrix.copy_to(executor)?;
    let b = Vector::from_column(executor, problem.rhs);
    let solved = config::solve(&config.parse()?, &Arc::new(a), &b, &Workspace::new())?;
    assert!(solved.outcome.converged(), "{spec}");
    Ok(solved.x.norms()?[0])
}

#[test]
fn every_request_for_memory_may_be_refused() {
    alone(|executor, device| {
        for (spec, config) in [
            ("poisson7:6", "coarsening=pmis host-rows=20"),
            ("poisson7:6", "preconditioner=struct-mg"),
            ("elasticity:4x3x3", "coarsening=mis2"),
            ("convdiff7:6,10", "solver=gmres preconditioner=ilu0"),
        ] {
            refuse_each(device, spec, &|| solved(executor, spec, config));
        }
    });
}

#[test]
fn pipelined_gmres_does_not_wait_until_a_device_is_idle() {
    alone(|executor, device| {
        let problem = gallery::build("convdiff7:6,10", executor).unwrap();
        let a = Arc::new(problem.matrix);
        let b = Vector::<f64>::filled(executor, a.size().rows, 1, 1.0).unwrap();
        let waits = [10, 20].map(|iterations| {
            let solver = Solver::<f64>::new(PipeGmres::default(), a.clone()).unwrap();
            let solver = solver.stopping(Stop::fixed(iterations));
            let before = device.counts().synchronizations;
            let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
            assert_eq!(outcome.unwrap().iterations, iterations);
            device.counts().synchronizations - before
        });
        // The first solve finds out about the matrix, too.
        assert!(waits[1] <= waits[0], "{waits:?}");
    });
}
