//! Set-ups on a device beside those of the host, level by level.

use std::cell::RefCell;
use std::rc::Rc;

use super::testing::{self, apply, assert_near, csr, irregular, shape, with};
use super::{Amg, Hierarchy};
use crate::log::{Log, Observer};
use crate::prelude::*;

fn matrix(problem: &str, executor: &Executor) -> Arc<dyn LinOp<f64>> {
    Arc::new(csr(problem).copy_to(executor).unwrap())
}

fn amg(coarsening: &str) -> Amg {
    testing::amg(&format!(
        "coarsening={coarsening}, precision=dp, aggregate-size=2, coarsest-rows=20, host-rows=100"
    ))
}

/// One cycle for a right-hand side that is not smooth.
fn cycle(hierarchy: &Hierarchy<f64>) -> Vec<f64> {
    apply(hierarchy, &irregular(hierarchy, 0.3)).to_vec()
}

fn assert_alike(found: &Hierarchy<f64>, expected: &Hierarchy<f64>, what: &str) {
    assert_eq!(shape(found.report()), shape(expected.report()), "{what}");
    assert_near(&cycle(found), &cycle(expected), 1e-9, what);
}

#[test]
fn levels_of_a_device_are_those_of_the_host() {
    let Some(device) = device() else { return };
    let (ws, host) = (Workspace::new(), Executor::cpu());
    for (problem, coarsening) in [
        ("jump7:9,100", "pmis"),
        ("jump7:9,100", "pgm"),
        ("jump7:9,100", "mis2"),
        // Weights and couplings of many rows are the same but for rounding.
        ("poisson7:20", "pmis"),
    ] {
        let amg = amg(coarsening);
        let set_up = |executor| amg.hierarchy(&matrix(problem, executor), &ws).unwrap();
        let (found, expected) = (set_up(&device), set_up(&host));
        assert!(found.report().levels.len() > 2);
        assert_alike(&found, &expected, coarsening);
        assert_eq!(cycle(&set_up(&device)), cycle(&found), "{coarsening}");
    }
}

#[test]
fn levels_in_tiles_are_those_in_rows() {
    let Some(device) = device() else { return };
    let ws = Workspace::new();
    let amg = with(&amg("pmis"), "format=mbsr");
    let set_up = |executor| amg.setup(&matrix("poisson27:7", executor), &ws).unwrap();
    let (setup, found) = set_up(&device);
    assert_alike(&found, &set_up(&Executor::cpu()).1, "mbsr");
    assert_eq!(found.report().levels[0].format, "bsr 4x4");
    let again = setup.update_values(&matrix("poisson27:7", &device), &ws);
    assert_alike(&again.unwrap(), &found, "mbsr");
}

#[test]
fn values_are_updated_on_a_device() {
    let Some(device) = device() else { return };
    let ws = Workspace::new();
    for coarsening in ["pmis", "pgm"] {
        let amg = amg(coarsening);
        let renewed = |executor: &Executor| {
            let (setup, _) = amg.setup(&matrix("poisson7:9", executor), &ws).unwrap();
            let other = matrix("jump7:9,100", executor);
            setup.update_values(&other, &ws).unwrap()
        };
        assert_alike(&renewed(&device), &renewed(&Executor::cpu()), coarsening);
    }
}

#[test]
fn bad_matrices_are_told_with_their_row_as_by_the_host() {
    let Some(device) = device() else { return };
    let refused = |a: &Csr<f64>, smoother: &str| {
        let amg = with(&amg("pmis"), &format!("smoother={smoother}"));
        let [found, expected] = [&device, &Executor::cpu()].map(|executor| {
            let a: Arc<dyn LinOp<f64>> = Arc::new(a.copy_to(executor).unwrap());
            amg.hierarchy(&a, &Workspace::new()).unwrap_err()
        });
        assert_eq!(found.to_string(), expected.to_string());
        found
    };
    let a = csr("poisson5:20");
    let [mut infinite, mut nothing, mut zero] = [a.clone(), a.clone(), a.clone()];
    let diagonal = a.offsets()[70] + 2;
    infinite.values_mut()[diagonal] = f64::NAN;
    nothing.values_mut().fill(0.0);
    zero.values_mut()[diagonal] = 0.0;
    let empty = a.filter(|row, _, _: f64| row != 70).unwrap();
    assert!(matches!(
        refused(&infinite, "l1-jacobi"),
        Error::NonFiniteEntry {
            row: 70,
            column: 70
        }
    ));
    assert!(matches!(
        refused(&nothing, "l1-jacobi"),
        Error::Singular { .. }
    ));
    for a in [zero, empty] {
        assert!(matches!(
            refused(&a, "jacobi"),
            Error::ZeroDiagonal { row: 70, .. }
        ));
    }
}

#[test]
fn jumps_on_a_device_are_not_for_groups() {
    let Some(device) = device() else { return };
    let open = testing::amg("host-rows=100");
    for (problem, expected) in [("poisson7:8", "mis2"), ("jump7:16,1e6", "pmis-aggressive")] {
        let a = matrix(problem, &device);
        let made = open.hierarchy(&a, &Workspace::new()).unwrap();
        assert_eq!(made.amg().coarsening.to_string(), expected, "{problem}");
    }
}

/// Keeps what is worth knowing.
#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn note(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

#[test]
fn stages_of_the_host_are_told_once() {
    let Some(device) = device() else { return };
    // Two levels of the device are coarsened.
    let set_up = |coarsening: &str, executor: &Executor| {
        let heard = Rc::new(RefCell::new(Heard::default()));
        let ws = Workspace::with_log(Log::new().with(Rc::clone(&heard)));
        let amg = with(&amg(coarsening), "host-rows=10, coarsest-rows=5");
        let made = amg
            .hierarchy(&matrix("poisson5:20", executor), &ws)
            .unwrap();
        assert_eq!(made.report().notes, heard.borrow().0, "{coarsening}");
        made.report().notes.clone()
    };
    let told = set_up("sa", &device);
    assert_eq!(told, [crate::host_stages::GREEDY.to_string()]);
    assert!(set_up("pmis", &device).is_empty());
    assert!(set_up("sa", &Executor::cpu()).is_empty());
}
