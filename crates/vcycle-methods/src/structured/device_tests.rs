//! What devices make of a set-up beside what the host makes.

use super::coarsen::coarsened;
use super::scaling::{in_range, without_root};
use super::survey::Survey;
use super::{StencilMatrix, StructMg, Transfer};
use crate::gallery;
use crate::multigrid::testing::{assert_near, with};
use crate::prelude::*;

/// One or several unknowns, boxes with lines of one cell, odd and even extents, jumps, layers and convection.
const PROBLEMS: [&str; 7] = [
    "laplace27:9x8x7",
    "jump7:16x5x6,1000",
    "poisson5:8x5",
    "convdiff7:6x5x4,10",
    "oil-4C:3x4x7",
    "rhd-3T:5x4x6",
    "weather:7x6x5",
];

/// A matrix on the host and on the device.
fn matrices(spec: &str, executor: &Executor) -> [StencilMatrix<f64>; 2] {
    let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
    let there = a.copy_to(executor).unwrap();
    [a, there]
}

#[test]
fn weights_and_products_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    for spec in PROBLEMS {
        let flat = spec.starts_with("poisson5");
        let all: &[&[usize]] = match flat {
            true => &[&[0], &[1], &[1, 0]],
            false => &[&[0], &[1], &[2], &[2, 1, 0], &[2, 0]],
        };
        let [a, there] = matrices(spec, &executor);
        for &axes in all {
            let what = format!("{spec} {axes:?}");
            let (transfers, coarse) = coarsened(&a, axes).unwrap();
            let (found, product) = coarsened(&there, axes).unwrap();
            assert!(product.executor().is_device() && product.stencil() == coarse.stencil());
            assert_near(coarse.values(), product.values(), 1e-14, &what);
            for (expected, found) in transfers.iter().zip(&found) {
                assert_near(expected.weights(), found.weights(), 1e-14, &what);
                let halves = |transfer: &Transfer<f64>| {
                    let stored = transfer.convert::<f16>().unwrap().weights().to_vec();
                    let wide = stored.iter().map(|value| value.to_f64());
                    wide.collect::<Vec<f64>>()
                };
                assert_near(&halves(expected), &halves(found), 2e-3, &what);
            }
        }
    }
}

#[test]
fn surveys_count_what_the_host_counts() {
    let Some(executor) = device() else { return };
    for spec in PROBLEMS {
        let [a, there] = matrices(spec, &executor);
        for kind in [Kind::F16, Kind::F32, Kind::F64] {
            let [expected, found] = [&a, &there].map(|a| Survey::new(a, kind).unwrap());
            assert_eq!(expected.leaves_range, found.leaves_range, "{spec} {kind:?}");
            assert_eq!(expected.largest(), found.largest(), "{spec} {kind:?}");
            assert_eq!(expected.underflow(), found.underflow(), "{spec} {kind:?}");
            let exact = |survey: Survey| survey.is_exact_in(&a, Kind::F32).unwrap();
            assert_eq!(exact(expected), exact(found), "{spec} {kind:?}");
        }
        assert_eq!(without_root(&a).unwrap(), without_root(&there).unwrap());
        let [expected, found] = [&a, &there].map(|a| a.is_symmetric_and_positive().unwrap());
        assert_eq!(expected, found, "{spec}");
    }
}

#[test]
fn levels_are_scaled_as_on_the_host() {
    let Some(executor) = device() else { return };
    for spec in ["laplace27e8:9x8x7", "rhd:7", "rhd-3T:5x4x6", "jump7:8,1e6"] {
        let [a, there] = matrices(spec, &executor);
        let [expected, found] =
            [&a, &there].map(|a| in_range::<f16>(a, Kind::F16, 2.0, 0).unwrap());
        assert_eq!(expected.a.base(), found.a.base());
        let scales = [&expected, &found].map(|made| made.scales.to_vec());
        assert_near(&scales[0], &scales[1], 1e-15, spec);
        let wide = [expected.a, found.a].map(|a| a.to_csr().convert::<f64>().unwrap());
        assert_near(wide[0].values(), wide[1].values(), 1e-3, spec);
    }
}

#[test]
fn rows_of_a_device_become_a_stencil_there() {
    let Some(executor) = device() else { return };
    for spec in PROBLEMS {
        let [a, _] = matrices(spec, &executor);
        let csr = a.to_csr();
        let there = csr.copy_to(&executor).unwrap();
        for grid in [None, Some(a.grid())] {
            let made = StencilMatrix::of_device(&there, grid).unwrap().unwrap();
            assert!(made.executor().is_device());
            assert_eq!((made.grid(), made.stencil()), (a.grid(), a.stencil()));
            assert_eq!(made.values(), a.values(), "{spec}");
        }
    }
}

#[test]
fn what_is_wrong_on_a_device_is_named_as_on_the_host() {
    let Some(executor) = device() else { return };
    for (spec, value) in [
        ("poisson7:4", 0.0),
        ("oil-4C:3", 0.0),
        ("poisson7:4", f64::NAN),
    ] {
        let [mut a, _] = matrices(spec, &executor);
        let place = a.stencil().centre() * a.unknowns() * a.grid().length() + 2;
        a.values_mut()[place] = value;
        let error = |a: StencilMatrix<f64>| {
            let a: Arc<dyn LinOp<f64>> = Arc::new(a);
            let made = StructMg::default().generate_with_report(&a, &Workspace::new());
            made.err().map(|error: Error| error.to_string())
        };
        let there = a.copy_to(&executor).unwrap();
        assert_eq!(error(there), error(a), "{spec}");
    }
}

/// The levels of a set-up in words, and what a cycle makes of a right-hand side.
fn cycle(a: StencilMatrix<f64>, parameters: &StructMg) -> (Vec<String>, Vec<f64>) {
    let (executor, ws) = (a.executor().clone(), Workspace::new());
    let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    let made = parameters.generate_with_report(&a, &ws).unwrap();
    let levels = made.report.levels.iter();
    let facts = levels.map(|level| {
        let scaled = if level.scaled { "scaled" } else { "" };
        format!(
            "{} {} {} {} {scaled}",
            level.rows, level.nonzeros, level.precision, level.smoother
        )
    });
    let right = (0..a.size().rows).map(|row| ((row * 7) % 11) as f64 - 5.0);
    let b = Vector::from_column(&executor, right.collect());
    let mut x = Vector::zeros_like(&b).unwrap();
    made.operator.apply(&b, &mut x, &ws).unwrap();
    (facts.collect(), x.to_vec())
}

#[test]
fn whole_set_ups_agree_with_the_host() {
    let Some(executor) = device() else { return };
    let equilibrated = with(&StructMg::default(), "scaling=equilibrate");
    for spec in PROBLEMS.into_iter().chain(["laplace27e8:9x8x7"]) {
        for parameters in [&StructMg::default(), &equilibrated] {
            let [a, there] = matrices(spec, &executor);
            if without_root(&a).unwrap().is_some() {
                continue;
            }
            let [(expected, x), (found, y)] = [a, there].map(|a| cycle(a, parameters));
            assert_eq!(expected, found, "{spec}");
            assert_near(&x, &y, 5e-3, spec);
        }
    }
}
