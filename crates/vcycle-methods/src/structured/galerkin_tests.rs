//! Galerkin products and weights, compared with those of CSR matrices.

use super::super::coarsen::coarsened;
use crate::gallery;
use crate::operations::Finish;
use crate::prelude::*;
use crate::structured::{StencilMatrix, Transfer};

/// A transfer and the matrix it leads to.
fn halved(a: &StencilMatrix<f64>, axis: usize) -> (Transfer<f64>, StencilMatrix<f64>) {
    let (mut transfers, coarse) = coarsened(a, &[axis]).unwrap();
    (transfers.remove(0), coarse)
}

/// Coarse matrices are transfers and fine matrices one after the other.
#[test]
fn products_are_those_of_matrices_in_a_row() {
    for spec in [
        "jump7:9x6x5,100",
        "poisson27:4x5x2",
        "poisson5:8x5",
        "convdiff7:6x5x4,20",
        "elasticity:4x3x4",
        "solid-3D:5",
        "oil-4C:4x3x5",
    ] {
        let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
        check_products(spec, a);
    }
}

fn check_products(spec: &str, mut a: StencilMatrix<f64>) {
    let host = Executor::reference();
    let vector = |n: usize| {
        (0..n)
            .map(|place| ((place * 7) % 11) as f64 - 5.0)
            .collect()
    };
    let size = a.grid().size();
    for axis in (0..3).rev().filter(|&axis| size[axis] > 1) {
        let (p, coarse) = halved(&a, axis);
        let x = Vector::from_column(&host, vector(coarse.size().rows));
        let mut fine = Vector::zeros(&host, a.size().rows, 1).unwrap();
        p.prolong(None, &x, &mut fine, false).unwrap();
        let mut product = fine.clone();
        a.column(&Finish::Apply, &fine, &mut product).unwrap();
        let (mut expected, mut found) = (x.clone(), x.clone());
        p.restrict(None, &product, &mut expected).unwrap();
        coarse.column(&Finish::Apply, &x, &mut found).unwrap();
        let scale = 1e-12 * a.largest();
        for (expected, found) in expected.to_vec().into_iter().zip(found.to_vec()) {
            assert!(
                (expected - found).abs() < scale,
                "{spec} {axis}: {expected} {found}"
            );
        }
        a = coarse;
    }
}

#[test]
fn constants_are_interpolated_exactly_inside() {
    let host = Executor::reference();
    let a = gallery::build_stencil("jump7:9,1000", &host).unwrap();
    for axis in 0..3 {
        let (p, _) = halved(&a, axis);
        let ones = Vector::filled(&host, p.coarse().cells(), 1, 1.0).unwrap();
        let mut fine = Vector::zeros(&host, 729, 1).unwrap();
        p.prolong(None, &ones, &mut fine, false).unwrap();
        assert!(
            fine.to_vec()
                .iter()
                .all(|value: &f64| (value - 1.0).abs() < 1e-12)
        );
    }
}
