//! Products of devices with matrices in blocks, compared with the host.

use super::Duplicates;
use super::testing::{assert_near as assert_near_entries, grid, nodes, of_rows, random};
use crate::linop::{LinOp, Sweep};
use crate::prelude::*;

const HOST: Executor = Executor::Reference;

/// A matrix of blocks at random places, in which some entries are missing.
fn of_blocks(size: Size, block: Size, density: f64) -> Csr<f64> {
    let places = random::<f64>(&HOST, size.rows, size.cols, density, 7);
    let size = Size::new(size.rows * block.rows, size.cols * block.cols);
    of_rows(&HOST, size, Duplicates::Refuse, |row| {
        let places = places.row(row / block.rows).0.iter();
        let columns =
            places.flat_map(|&place| (0..block.cols).map(move |k| place as usize * block.cols + k));
        let there = columns.filter(|column| (row + 3 * column) % 11 != 5);
        let value = |column| ((row * 5 + column * 3) % 17) as f64 / 8.0 - 1.0;
        there.map(|column| (column, value(column))).collect()
    })
}

/// Small numbers, which every type holds.
fn numbers<X: Scalar>(executor: &Executor, rows: usize, cols: usize) -> Vector<X> {
    let values = (0..rows * cols).map(|i| X::from_c64(((i % 9) as f64 / 4.0 - 1.0).into()));
    Vector::from_rows(executor, cols, values.collect()).unwrap()
}

pub(super) fn assert_near<X: Scalar>(found: &Vector<X>, expected: &Vector<X>, message: &str) {
    for (found, expected) in found.to_vec().iter().zip(expected.to_vec()) {
        let (found, expected) = (found.to_c64(), expected.to_c64());
        let apart = (found - expected).norm();
        assert!(
            apart <= 1e-2 + 1e-2 * expected.norm(),
            "{message}: {found} {expected}"
        );
    }
}

pub(super) fn product<M: Mixes<X, X>, X: Scalar>(a: &Csr<M>, cols: usize) -> Vector<X> {
    let x = numbers::<X>(a.executor(), a.size().cols, cols);
    let mut y = Vector::<X>::zeros(a.executor(), a.size().rows, cols).unwrap();
    a.apply(&x, &mut y, &Workspace::new()).unwrap();
    y
}

fn check_product<M: Mixes<X, X>, X: Scalar>(
    executor: &Executor,
    a: &Csr<f64>,
    block: Size,
    cols: usize,
) {
    let a = a.convert::<M>().unwrap();
    let there = a.copy_to(executor).unwrap();
    let there = there.on_device_in(Some(block)).unwrap();
    assert_eq!(there.device_block().unwrap(), Some(block));
    let (found, expected) = (product::<M, X>(&there, cols), product(&a, cols));
    assert_near(&found, &expected, &format!("{} {block}", M::KIND));
}

#[test]
fn products_of_all_shapes_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let sizes = Size::new(70, 50);
    for (height, width) in [(2, 2), (3, 3), (3, 6), (5, 4)] {
        let block = Size::new(height, width);
        let a = of_blocks(sizes, block, 0.2);
        check_product::<f64, f64>(&executor, &a, block, 1);
    }
    let a = of_blocks(sizes, Size::square(3), 0.2);
    check_product::<f32, f64>(&executor, &a, Size::square(3), 1);
    check_product::<f16, f32>(&executor, &a, Size::square(3), 1);
    check_product::<bf16, f32>(&executor, &a, Size::square(3), 1);
    check_product::<f32, f32>(&executor, &a, Size::square(3), 5);
    check_product::<f64, f64>(&executor, &a, Size::square(3), 8);
    check_product::<f16, f16>(&executor, &a, Size::square(3), 4);
    // Blocks without half of their entries.
    check_product::<f64, f64>(&executor, &a, Size::new(2, 5), 1);
}

#[test]
fn tiles_may_reach_beyond_the_matrix() {
    let Some(executor) = device() else { return };
    // 70 rows and 90 columns are not made of tiles.
    let a = of_blocks(Size::new(35, 45), Size::square(2), 0.2);
    check_product::<f64, f64>(&executor, &a, Size::square(4), 1);
    check_product::<f16, f32>(&executor, &a, Size::square(4), 1);
    check_product::<f32, f32>(&executor, &a, Size::square(4), 8);
    let a = of_blocks(Size::new(71, 43), Size::square(1), 0.3);
    check_product::<f32, f32>(&executor, &a, Size::new(1, 2), 1);
}

#[test]
fn several_columns_of_rows_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    // Aligned slices; several lanes for a row; rows in parts.
    let matrices = [
        grid(&HOST, 20),
        random(&HOST, 40, 90, 0.5, 1),
        random(&HOST, 6, 6000, 0.9, 2),
    ];
    for (a, cols) in matrices.iter().zip([8, 5, 2]) {
        let there = a.copy_to(&executor).unwrap();
        let (found, expected) = (product::<f64, f64>(&there, cols), product(a, cols));
        assert_near(&found, &expected, &format!("{cols} columns"));
    }
}

#[test]
fn residuals_and_sweeps_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let a = nodes(&HOST, [4, 3, 3]);
    let both = |a: &Csr<f64>, cols: usize| {
        let ([b, x], ws) = (
            [(); 2].map(|()| numbers(a.executor(), 108, cols)),
            Workspace::new(),
        );
        let d = numbers(a.executor(), 108, 1);
        let mut r = Vector::<f64>::zeros(a.executor(), 108, cols).unwrap();
        a.residual(&b, &x, &mut r, &ws).unwrap();
        let mut y = numbers(a.executor(), 108, cols);
        let sweep = Sweep {
            b: &b,
            d: &d,
            alpha: 0.5,
            beta: 1.0,
            gamma: 0.25,
        };
        a.relax(sweep, &x, &mut y, &ws).unwrap();
        (r, y)
    };
    let there = a.copy_to(&executor).unwrap();
    let in_blocks = |block| there.on_device_in(block).unwrap();
    let block = Size::square(3);
    for (there, cols) in [
        (in_blocks(Some(block)), 1),
        (in_blocks(Some(block)), 8),
        (in_blocks(None), 4),
    ] {
        let (found, expected) = (both(&there, cols), both(&a, cols));
        assert_near(&found.0, &expected.0, "residual");
        assert_near(&found.1, &expected.1, "sweep");
    }
}

#[test]
fn unknowns_of_a_node_are_found() {
    let Some(executor) = device() else { return };
    let block = |a: &Csr<f64>| a.copy_to(&executor).unwrap().device_block().unwrap();
    let a = nodes(&HOST, [9, 9, 6]);
    assert_eq!(block(&a), Some(Size::square(3)));
    let most = a.filter(|row, column, _| (row + column) % 20 != 1 || row == column);
    assert_eq!(block(&most.unwrap()), Some(Size::square(3)));
    let half = a.filter(|row, column, _| (row + column) % 2 == 0);
    assert_eq!(block(&half.unwrap()), None);
    assert_eq!(block(&grid(&HOST, 120)), None);
    // Too small to matter.
    assert_eq!(block(&nodes(&HOST, [3, 3, 3])), None);
    let rows = a.copy_to(&executor).unwrap().on_device_in(None).unwrap();
    assert_eq!(rows.device_block().unwrap(), None);
    assert_eq!(a.device_block().unwrap(), None);
}

#[test]
fn short_values_are_stored_in_blocks_with_more_zeros() {
    let Some(executor) = device() else { return };
    let a = nodes(&HOST, [10, 10, 8]);
    let two_thirds = |row: usize, column: usize, _| (row + column) % 3 != 1;
    let a = a.filter(two_thirds).unwrap().copy_to(&executor).unwrap();
    assert_eq!(a.device_block().unwrap(), None);
    let halves = a.convert::<f16>().unwrap();
    assert_eq!(halves.device_block().unwrap(), Some(Size::square(3)));
    assert_eq!(a.device_block().unwrap(), None);
}

#[test]
fn many_columns_have_a_layout_of_their_own() {
    let Some(executor) = device() else { return };
    let host = nodes(&HOST, [10, 10, 8]);
    let host = host.filter(|row, column, _| (row + column) % 3 != 1);
    let host = host.unwrap();
    let there = host.copy_to(&executor).unwrap();
    for cols in [2, 8] {
        let (found, expected) = (product::<f64, f64>(&there, cols), product(&host, cols));
        assert_near(&found, &expected, "columns");
        assert_eq!(there.copies.placed_wide.get().is_some(), cols == 8);
    }
    assert_eq!(there.device_block().unwrap(), None);
}

fn there(executor: &Executor, a: &Csr<f64>, block: Size) -> Csr<f64> {
    let there = a.copy_to(executor).unwrap();
    let there = there.on_device_in(Some(block)).unwrap();
    assert_eq!(there.device_block().unwrap(), Some(block));
    let message = format!("bsr {}x{}", block.rows, block.cols);
    assert_eq!(LinOp::<f64>::stored_as(&there), Some(message));
    there
}

#[test]
fn products_of_matrices_in_blocks_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    // Blocks without some of their entries, in strips that are too long for local memory.
    let (left, right) = (Size::new(6, 3), Size::new(3, 6));
    let (a, b) = (
        of_blocks(Size::new(3, 30), left, 0.5),
        of_blocks(Size::new(30, 200), right, 0.5),
    );
    let expected = a.multiply(&b).unwrap();
    let found = there(&executor, &a, left).multiply(&there(&executor, &b, right));
    assert_near_entries(&found.unwrap(), &expected, 1e-14);
    // All of their entries.
    let a = nodes(&HOST, [4, 3, 3]);
    let square = there(&executor, &a, Size::square(3));
    let (found, expected) = (square.multiply(&square), a.multiply(&a));
    assert_near_entries(&found.unwrap(), &expected.unwrap(), 1e-14);
}

#[test]
fn galerkin_products_in_blocks_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let (a, p) = (
        nodes(&HOST, [4, 3, 3]),
        of_blocks(Size::new(36, 7), Size::new(3, 6), 0.3),
    );
    let finest = [Size::new(6, 3), Size::square(3), Size::new(3, 6)];
    check_galerkin(&executor, &a, &p, finest);
    // Halves of blocks of six rows.
    let (a, p) = (
        of_blocks(Size::square(12), Size::square(6), 0.3),
        of_blocks(Size::new(12, 5), Size::square(6), 0.3),
    );
    check_galerkin(&executor, &a, &p, [Size::new(3, 6); 3]);
}

fn check_galerkin(executor: &Executor, a: &Csr<f64>, p: &Csr<f64>, blocks: [Size; 3]) {
    let r = p.transpose().unwrap();
    let expected = super::galerkin(&r, a, p).unwrap();
    let found = super::galerkin(
        &there(executor, &r, blocks[0]),
        &there(executor, a, blocks[1]),
        &there(executor, p, blocks[2]),
    );
    assert_near_entries(&found.unwrap(), &expected, 1e-14);
}
