//! How often the host waits for a device; in a process of its own, because all waits of the device are counted.

use std::sync::Arc;

use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle::solver::{PipeGmres, Solver};
use vcycle::stop::Stop;
use vcycle::vector::Vector;
use vcycle_core::testing::device;

#[test]
fn pipelined_gmres_does_not_wait_until_a_device_is_idle() {
    let Some(executor) = device() else { return };
    let problem = gallery::build("convdiff7:6,10", &executor).unwrap();
    let a = Arc::new(problem.matrix);
    let b = Vector::<f64>::filled(&executor, a.size().rows, 1, 1.0).unwrap();
    let waits = [10, 20].map(|iterations| {
        let solver = Solver::<f64>::new(PipeGmres::default(), a.clone()).unwrap();
        let solver = solver.stopping(Stop::fixed(iterations));
        let before = waits(&executor);
        let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
        assert_eq!(outcome.unwrap().iterations, iterations);
        waits(&executor) - before
    });
    // The first solve finds out about the matrix, too.
    assert!(waits[1] <= waits[0], "{waits:?}");
}

fn waits(executor: &Executor) -> u64 {
    executor.device().unwrap().counts().synchronizations
}
