//! What any number of threads makes of matrices beside the reference.

use super::testing::{assert_same, banded, executors, grid};
use super::{Permutation, SpGemm};
use crate::prelude::*;

/// What all operations make of two matrices.
fn made(a: &Csr<f64>, b: &Csr<f64>) -> Vec<Csr<f64>> {
    let n = a.size().rows;
    let shuffle = (0..n).map(|k| ((7 * k + 3) % n) as u32).collect();
    let shuffle = Permutation::new(shuffle).unwrap();
    let product = SpGemm::symbolic(a.pattern(), b.pattern()).unwrap();
    let scaled = b.equilibrate(2).unwrap();
    let transposed = b.transpose().unwrap();
    let columns = b.pattern().transpose().unwrap();
    assert_eq!(columns.columns(), transposed.columns());
    vec![
        a.add(0.3, 0.7, b).unwrap(),
        a.multiply(b).unwrap(),
        product.numeric(a, b).unwrap(),
        scaled.matrix,
        Csr::diagonal_matrix(b.executor(), scaled.scaling.columns),
        transposed,
        a.permute_symmetric(&shuffle).unwrap(),
    ]
}

#[test]
fn threads_change_no_bit() {
    let host = Executor::reference();
    let (a, b) = (grid::<f64>(&host, 300), banded::<f64>(&host, 90_000, 1));
    let expected = made(&a, &b);
    assert_same(&expected[1], &expected[2]);
    for cpu in executors() {
        let found = made(&a.copy_to(&cpu).unwrap(), &b.copy_to(&cpu).unwrap());
        for (found, expected) in found.iter().zip(&expected) {
            assert_same(found, expected);
        }
    }
}
