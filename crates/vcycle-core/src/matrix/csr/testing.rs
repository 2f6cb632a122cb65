//! Matrices and dense arithmetic for the tests of sparse algebra.

use super::Duplicates;
use crate::prelude::*;

/// CPU executors with 1, 2 and 3 threads.
pub(super) fn executors() -> Vec<Executor> {
    let with = |threads| Executor::cpu_with_threads(threads).unwrap();
    (1..=3).map(with).collect()
}

/// A reproducible stream of numbers in 0..1 (splitmix64).
pub(super) fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A matrix from the columns and values of its rows, in any order.
pub(crate) fn of_rows<T: Scalar, V: Into<c64>>(
    executor: &Executor,
    size: Size,
    duplicates: Duplicates,
    mut row: impl FnMut(usize) -> Vec<(usize, V)>,
) -> Csr<T> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for number in 0..size.rows {
        for (column, value) in row(number) {
            columns.push(column as u32);
            values.push(T::from_c64(value.into()));
        }
        offsets.push(columns.len());
    }
    Csr::from_arrays(executor, size, offsets, columns, values, duplicates).unwrap()
}

/// A square matrix of small dense ones: the entries that are `stored`, row after row.
pub(super) fn of_dense<T: Scalar>(values: &[T], stored: impl Fn(T) -> bool) -> Csr<T> {
    let n = values.len().isqrt();
    let (host, size) = (Executor::reference(), Size::square(n));
    of_rows(&host, size, Duplicates::Refuse, |row| {
        let row = values[row * n..(row + 1) * n].iter().enumerate();
        let kept = row.filter(|(_, value)| stored(**value));
        kept.map(|(column, value)| (column, value.to_c64()))
            .collect()
    })
}

/// Fails unless entries stand in the same places, and values differ by `tolerance` beside the largest at most.
pub(super) fn assert_near<T: Scalar>(found: &Csr<T>, expected: &Csr<T>, tolerance: f64) {
    assert_eq!(found.size(), expected.size());
    assert_eq!(found.offsets(), expected.offsets());
    assert_eq!(found.columns(), expected.columns());
    let scale = expected.norm_max();
    for (found, expected) in found.values().iter().zip(expected.values()) {
        let apart = (found.to_c64() - expected.to_c64()).norm();
        assert!(apart <= tolerance * scale, "{found:?} {expected:?}");
    }
}

/// A matrix with about a share `density` of its entries, every fifth row empty.
pub(in crate::matrix) fn random<T: Scalar>(
    executor: &Executor,
    rows: usize,
    cols: usize,
    density: f64,
    seed: u64,
) -> Csr<T> {
    let mut next = uniform(seed);
    of_rows(executor, Size::new(rows, cols), Duplicates::Refuse, |row| {
        let there = (0..cols).filter_map(|column| {
            let value = row % 5 != 3 && next() < density;
            value.then(|| (column, c64::new(next() - 0.5, next() - 0.5)))
        });
        there.collect()
    })
}

/// A square matrix with three entries a row, far from each other, large enough for threads.
pub(super) fn banded<T: Scalar>(executor: &Executor, n: usize, seed: u64) -> Csr<T> {
    let mut next = uniform(seed);
    of_rows(executor, Size::square(n), Duplicates::Sum, |row| {
        let shifts = [0, 1, n / 2].into_iter();
        let entries = shifts.map(|shift| ((row * 7 + shift) % n, next() - 0.5));
        entries.collect()
    })
}

/// The five-point Laplacian on a `side` by `side` grid.
pub(super) fn grid<T: Scalar>(executor: &Executor, side: usize) -> Csr<T> {
    let size = Size::square(side * side);
    of_rows(executor, size, Duplicates::Refuse, |row| {
        let (i, j) = (row / side, row % side);
        let near = [
            (true, row, 4.0),
            (i > 0, row.wrapping_sub(side), -1.0),
            (j > 0, row.wrapping_sub(1), -1.0),
            (j + 1 < side, row + 1, -1.0),
            (i + 1 < side, row + side, -1.0),
        ];
        let inside = near.into_iter().filter(|entry| entry.0);
        inside.map(|(_, column, value)| (column, value)).collect()
    })
}

/// All entries, zeros included, in the widest type.
pub(super) fn dense<T: Scalar>(a: &Csr<T>) -> Vec<Vec<c64>> {
    let mut out = vec![vec![c64::new(0.0, 0.0); a.size().cols]; a.size().rows];
    for (row, out) in out.iter_mut().enumerate() {
        let (columns, values) = a.row(row);
        for (&column, value) in columns.iter().zip(values) {
            out[column as usize] = value.to_c64();
        }
    }
    out
}

/// The product of two dense matrices; `cols` is the width of the second.
pub(super) fn dense_product(a: &[Vec<c64>], b: &[Vec<c64>], cols: usize) -> Vec<Vec<c64>> {
    let entry = |row: &Vec<c64>, column: usize| -> c64 {
        row.iter().zip(b).map(|(a, b)| a * b[column]).sum()
    };
    a.iter()
        .map(|row| (0..cols).map(|column| entry(row, column)).collect())
        .collect()
}

/// Fails unless the two agree to rounding of double precision.
pub(super) fn assert_close(found: &[Vec<c64>], expected: &[Vec<c64>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!(
            (found - expected).norm() < 1e-13,
            "{found} instead of {expected}"
        );
    }
}

/// Fails unless the two have the same arrays, bit for bit.
pub(in crate::matrix) fn assert_same<T: Scalar>(found: &Csr<T>, expected: &Csr<T>) {
    assert_eq!(found.size(), expected.size());
    assert_eq!(found.offsets(), expected.offsets());
    assert_eq!(found.columns(), expected.columns());
    assert_eq!(found.values(), expected.values());
}

/// A matrix of three unknowns a node on a box of nodes, each coupled with all around it: the shape of elasticity.
pub(in crate::matrix) fn nodes(executor: &Executor, [nx, ny, nz]: [usize; 3]) -> Csr<f64> {
    let n = nx * ny * nz;
    let near = |a: usize, b: usize| a.abs_diff(b) <= 1;
    let place = |node: usize| [node % nx, node / nx % ny, node / (nx * ny)];
    let size = Size::square(3 * n);
    of_rows(executor, size, Duplicates::Refuse, |row| {
        let [x, y, z] = place(row / 3);
        let value = |column: usize| match row == column {
            true => 1.0,
            false => ((row * column + row + column) % 13) as f64 / 260.0 - 0.025,
        };
        let is_near = |&other: &usize| {
            let [u, v, w] = place(other);
            near(x, u) && near(y, v) && near(z, w)
        };
        let nodes = (0..n).filter(is_near);
        let columns = nodes.flat_map(|node| 3 * node..3 * node + 3);
        columns.map(|column| (column, value(column))).collect()
    })
}

/// The seven-point stencil of a box of cells, 6 on the diagonal and -1 off it.
pub(in crate::matrix) fn seven_points(executor: &Executor, [nx, ny, nz]: [usize; 3]) -> Csr<f64> {
    let n = nx * ny * nz;
    let place = |cell: usize| [cell % nx, cell / nx % ny, cell / (nx * ny)];
    of_rows(executor, Size::square(n), Duplicates::Refuse, |row| {
        let [x, y, z] = place(row);
        let entry = |column: usize| {
            let [u, v, w] = place(column);
            match x.abs_diff(u) + y.abs_diff(v) + z.abs_diff(w) {
                0 => Some((column, 6.0)),
                1 => Some((column, -1.0)),
                _ => None,
            }
        };
        (0..n).filter_map(entry).collect()
    })
}

/// Graphs that are hard to cut: a star, a clique, and vertices without edges, or none.
pub(super) fn odd_graphs() -> Vec<Arc<Pattern>> {
    let graph = |n: usize, near: &dyn Fn(usize) -> Vec<usize>| {
        let ones = |row: usize| near(row).into_iter().map(|column| (column, 1.0)).collect();
        let (host, size) = (Executor::reference(), Size::square(n));
        let a: Csr<f64> = of_rows(&host, size, Duplicates::Sum, ones);
        Arc::clone(a.pattern())
    };
    vec![
        graph(200, &|row| vec![0, row]),
        graph(160, &|_| (0..160).collect()),
        graph(300, &|row| vec![row]),
        graph(0, &|_| Vec::new()),
    ]
}
