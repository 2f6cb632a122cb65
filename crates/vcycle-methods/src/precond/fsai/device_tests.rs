//! The kernels on a CPU OpenCL device, compared with the host.

use super::*;
use crate::executor::Executor;
use crate::gallery;
use crate::linop::Size;
use crate::matrix::Duplicates;
use crate::precond::testing::from_dense;
use crate::solver::{Cg, Solver};
use crate::vector::Vector;
use vcycle_core::testing::device;

/// The factors of the host and of the device.
fn both<T: Scalar>(fsai: Fsai, a: &Csr<T>, device: &Executor) -> [Result<Csr<T>>; 2] {
    [fsai.factor(a), fsai.factor(&a.copy_to(device).unwrap())]
}

/// Equal patterns, and values up to rounding.
fn assert_same(fsai: Fsai, a: &Csr<f64>, device: &Executor) {
    let [here, there] = both(fsai, a, device).map(|factor| factor.unwrap());
    assert_eq!(there.offsets(), here.offsets(), "{fsai:?}");
    assert_eq!(there.columns(), here.columns(), "{fsai:?}");
    for (found, expected) in there.values().iter().zip(here.values()) {
        let error = (found - expected).abs();
        assert!(
            error <= 1e-13 * expected.abs().max(1.0),
            "{found} {expected}"
        );
    }
}

fn variants() -> [Fsai; 8] {
    let fsai = Fsai::default();
    let power = |power: usize| Fsai::of_power(power);
    [
        fsai,
        Fsai { steps: 0, ..fsai },
        Fsai {
            steps: 4,
            step_size: 3,
            tolerance: 0.0,
            ..fsai
        },
        Fsai {
            filter: 0.2,
            ..fsai
        },
        power(1),
        power(2),
        Fsai {
            threshold: 0.1,
            filter: 0.05,
            ..power(2)
        },
        Fsai {
            steps: 3,
            ..power(1)
        },
    ]
}

#[test]
fn the_device_makes_the_factors_of_the_host() {
    let Some(device) = device() else { return };
    for spec in [
        "jump7:5,1e3",
        "aniso5:9,0.01,30",
        "poisson27:4",
        "elasticity:3x2x2",
    ] {
        let a = gallery::build(spec, &Executor::reference()).unwrap().matrix;
        for fsai in variants() {
            assert_same(fsai, &a, &device);
        }
    }
}

/// A dense row and column beside a diagonal, which both dominate.
fn arrow(n: usize) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    let mut push = |row: usize, column: usize, value: f64| {
        rows.push(row as u32);
        columns.push(column as u32);
        values.push(value);
    };
    for i in 0..n - 1 {
        push(i, i, 2.0);
        push(i, n - 1, 1.0 / (n + i) as f64);
        push(n - 1, i, 1.0 / (n + i) as f64);
    }
    push(n - 1, n - 1, 2.0);
    let host = Executor::reference();
    Csr::from_triplets(
        &host,
        Size::square(n),
        rows,
        columns,
        values,
        Duplicates::Sum,
    )
    .unwrap()
}

#[test]
fn rows_that_local_memory_does_not_hold_are_made_in_that_of_the_device() {
    let Some(device) = device() else { return };
    let a = arrow(300);
    // A larger table for the columns of a long row, one in memory of the device, and a system of 299 unknowns there.
    assert_same(Fsai::default(), &a, &device);
    assert_same(Fsai::default(), &arrow(2500), &device);
    assert_same(Fsai::of_power(1), &a, &device);
}

#[test]
fn single_precision_is_nearly_double() {
    let Some(device) = device() else { return };
    let a = gallery::build("jump7:4,10", &Executor::reference()).unwrap();
    let single = Fsai {
        setup: FsaiSetup::Single,
        ..Fsai::of_power(2)
    };
    let narrow = a.matrix.convert::<f32>().unwrap();
    for fsai in [single, Fsai::of_power(2)] {
        let [here, there] = both(fsai, &narrow, &device).map(|factor| factor.unwrap());
        assert_eq!(there.columns(), here.columns());
        for (found, expected) in there.values().iter().zip(here.values()) {
            assert!((found - expected).abs() <= 1e-5);
        }
    }
}

#[test]
fn what_has_no_factor_is_named_as_by_the_host() {
    let Some(device) = device() else { return };
    let host = Executor::reference();
    let text = |result: Result<Csr<f64>>| result.err().map(|error| error.to_string());
    let matrices = [
        from_dense(&host, 2, &[1.0, 2.0, 2.0, 1.0]),
        from_dense(&host, 2, &[1.0, 0.0, 0.0, -1.0]),
        arrow(LONGEST_ROW + 2),
    ];
    for a in matrices {
        let [here, there] = both(Fsai::of_power(1), &a, &device).map(text);
        assert!(here.is_some());
        assert_eq!(there, here);
    }
    let zero = from_dense(&host, 2, &[1.0, 1.0, 1.0, 0.0]);
    let zero: Arc<dyn LinOp<f64>> = Arc::new(zero.copy_to(&device).unwrap());
    let zero = Fsai::default().generate(&zero, &Workspace::new());
    assert!(matches!(zero, Err(Error::ZeroDiagonal { row: 1, .. })));
}

#[test]
fn solves_take_as_many_iterations_as_on_the_host() {
    let Some(device) = device() else { return };
    let a = gallery::build("elasticity:4x3x3", &Executor::reference()).unwrap();
    let iterations = |executor: &Executor| {
        let a = Arc::new(a.matrix.copy_to(executor).unwrap());
        let b = Vector::filled(executor, a.size().rows, 1, 1.0).unwrap();
        let solver = Solver::<f64>::new(Cg::default(), a).unwrap();
        let solver = solver.preconditioned_by(&Fsai::default()).unwrap();
        let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
        outcome.unwrap().iterations
    };
    assert_eq!(iterations(&device), iterations(&Executor::reference()));
}
