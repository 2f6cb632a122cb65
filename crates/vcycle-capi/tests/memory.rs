//! Where memory is short: a process of its own, since the limit is read once.

#[allow(dead_code)]
#[path = "interface/common.rs"]
mod common;

use common::{Handle, Laplacian, last_error, setup, solve};
use vcycle_capi::*;

#[test]
fn a_set_up_that_does_not_fit_is_refused_and_the_solver_lives_on() {
    // SAFETY: no other thread of this process reads or writes the environment.
    unsafe { std::env::set_var("VCYCLE_MEMORY", "7M") };
    let (small, large) = (Laplacian::new(20), Laplacian::new(300));
    let solver = Handle::new("preconditioner=amg");
    setup(&solver, &small.csr());
    for _ in 0..3 {
        // SAFETY: the arrays are there.
        let code = unsafe { vcycle_setup(solver.0, &large.csr()) };
        assert_eq!(code, VCYCLE_ERROR_MEMORY, "{}", last_error());
        assert!(last_error().contains("memory"), "{}", last_error());
        let (_, report) = solve(&solver, &vec![1.0; small.rows()]);
        assert_eq!(report.status, VCYCLE_CONVERGED);
    }
}
