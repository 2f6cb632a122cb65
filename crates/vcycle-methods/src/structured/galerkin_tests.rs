//! Galerkin products and weights, compared with those of CSR matrices.

use super::super::coarsen::coarsened;
use crate::executor::Executor;
use crate::gallery;
use crate::linop::Size;
use crate::matrix::{Csr, Duplicates};
use crate::operations::Finish;
use crate::structured::{StencilMatrix, Transfer};
use crate::vector::Vector;

/// A transfer and the matrix it leads to.
fn halved(a: &StencilMatrix<f64>, axis: usize) -> (Transfer<f64>, StencilMatrix<f64>) {
    let (mut transfers, coarse) = coarsened(a, &[axis]).unwrap();
    (transfers.remove(0), coarse)
}

/// A transfer as a matrix.
fn matrix(p: &Transfer<f64>) -> Csr<f64> {
    let (host, coarse) = (Executor::reference(), p.coarse().cells());
    let size = Size::new(p.fine().cells(), coarse);
    let (mut offsets, mut columns, mut values) = (vec![0; size.rows + 1], vec![], vec![]);
    let mut entries = vec![Vec::new(); size.rows];
    for column in 0..coarse {
        let mut unit = vec![0.0; coarse];
        unit[column] = 1.0;
        let unit = Vector::from_column(&host, unit);
        let mut image = Vector::zeros(&host, size.rows, 1).unwrap();
        p.prolong(None, &unit, &mut image, false).unwrap();
        for (row, value) in image
            .to_vec()
            .into_iter()
            .enumerate()
            .filter(|v| v.1 != 0.0)
        {
            entries[row].push((column as u32, value));
        }
    }
    for (row, entries) in entries.into_iter().enumerate() {
        offsets[row + 1] = offsets[row] + entries.len();
        columns.extend(entries.iter().map(|entry| entry.0));
        values.extend(entries.iter().map(|entry| entry.1));
    }
    Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse).unwrap()
}

#[test]
fn products_are_those_of_matrices() {
    let host = Executor::reference();
    for spec in [
        "jump7:9x6x5,100",
        "poisson27:4x5x2",
        "poisson5:8x5",
        "convdiff7:6x5x4,20",
    ] {
        let mut a = StencilMatrix::from_csr(&gallery::build(spec, &host).unwrap().matrix).unwrap();
        for axis in (0..3)
            .rev()
            .filter(|&axis| a.grid().size()[axis] > 1)
            .collect::<Vec<_>>()
        {
            let (p, coarse) = halved(&a, axis);
            let p = matrix(&p);
            let expected = p
                .transpose()
                .unwrap()
                .multiply(&a.to_csr())
                .unwrap()
                .multiply(&p)
                .unwrap();
            for row in 0..expected.size().rows {
                let (columns, values) = expected.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    let found = coarse.to_csr().entry(row, column as usize).unwrap_or(0.0);
                    let error = (found - value).abs();
                    assert!(error < 1e-12 * a.largest(), "{spec} {axis}: {row} {column}");
                }
            }
            a = coarse;
        }
    }
}

#[test]
fn products_of_blocks_are_products_in_a_row() {
    let host = Executor::reference();
    let a = gallery::build("elasticity:4x3x4", &host).unwrap().matrix;
    check_blocks(StencilMatrix::from_csr(&a).unwrap());
    check_blocks(gallery::build_stencil("solid-3D:5", &host).unwrap());
    check_blocks(gallery::build_stencil("oil-4C:4x3x5", &host).unwrap());
}

fn check_blocks(mut a: StencilMatrix<f64>) {
    let host = Executor::reference();
    let vector = |n: usize| {
        (0..n)
            .map(|place| ((place * 7) % 11) as f64 - 5.0)
            .collect()
    };
    for axis in [2, 1, 0] {
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
                "{axis}: {expected} {found}"
            );
        }
        a = coarse;
    }
}

#[test]
fn constants_are_interpolated_exactly_inside() {
    let host = Executor::reference();
    let a = gallery::build("jump7:9,1000", &host).unwrap().matrix;
    let a = StencilMatrix::from_csr(&a).unwrap();
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
