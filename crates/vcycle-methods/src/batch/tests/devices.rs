//! Batches of devices beside those of the host.

use super::super::DeviceBatch;
use super::*;
use crate::executor::Buffer;
use crate::vector::Vector;
use vcycle_core::testing::device;

fn solver(method: BatchMethod, preconditioner: BatchPreconditioner) -> BatchSolver {
    BatchSolver {
        method,
        preconditioner,
        ..BatchSolver::default()
    }
}

/// Every method and every preconditioner; fewer programs than all pairs.
fn pairs() -> Vec<BatchSolver> {
    let with = BatchPreconditioner::ALL.map(|one| solver(BatchMethod::Bicgstab, one));
    let others = [
        solver(BatchMethod::Cg, BatchPreconditioner::Ilu0),
        solver(BatchMethod::Gmres, BatchPreconditioner::Isai),
        solver(BatchMethod::Gmres, BatchPreconditioner::Jacobi),
        solver(BatchMethod::Direct, BatchPreconditioner::None),
    ];
    [&with[..], &others].concat()
}

/// Solves on the host and on the device: the same outcomes, nearly the same solutions.
fn compare<A: Field>(solver: BatchSolver, a: &dyn BatchMatrix<A>, device: &Executor) {
    let length = a.systems() * a.rows();
    let b = (0..length).map(|k| A::from_f64(1.0 + (k % 7) as f64));
    let b: Vec<A> = b.collect();
    let (mut x, mut y) = (vec![A::default(); length], vec![A::default(); length]);
    let here = solver.solve(&Executor::reference(), a, &b, &mut x).unwrap();
    let there = solver.solve(device, a, &b, &mut y).unwrap();
    assert_eq!(here.len(), there.len());
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here.status, there.status, "{solver:?}: {here}, {there}");
        assert_eq!(here.row, there.row, "{solver:?}: {here}, {there}");
        let apart = here.iterations.abs_diff(there.iterations);
        assert!(apart <= 1, "{solver:?}: {here}, {there}");
    }
    for (system, _) in here.iter().enumerate().filter(|(_, one)| one.converged()) {
        let own = system * a.rows()..(system + 1) * a.rows();
        let off = x[own.clone()].iter().zip(&y[own]);
        let off = off.map(|(&x, &y)| (x - y).to_c64().norm());
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-6, "{solver:?}: {off}");
    }
}

#[test]
fn devices_solve_as_the_host_does() {
    let Some(device) = device() else { return };
    for solver in pairs() {
        let is_cg = solver.method == BatchMethod::Cg;
        compare(solver, &batch(if is_cg { 0.0 } else { 0.3 }), &device);
    }
}

#[test]
fn devices_solve_complex_systems() {
    let Some(device) = device() else { return };
    for (method, preconditioner, skew) in [
        (BatchMethod::Cg, BatchPreconditioner::Ilu0, 0.0),
        (BatchMethod::Bicgstab, BatchPreconditioner::BlockJacobi, 0.3),
        (BatchMethod::Gmres, BatchPreconditioner::Isai, 0.3),
        (BatchMethod::Direct, BatchPreconditioner::None, 0.3),
    ] {
        let a = batch(c64::new(0.0, skew));
        compare(solver(method, preconditioner), &a, &device);
    }
    let direct = solver(BatchMethod::Direct, BatchPreconditioner::None);
    // Rows of neighbours are exchanged, or the band is full.
    for (rows, entries) in [(9_usize, 3), (20, 20)] {
        let values = (0..3 * rows * rows).map(|at| {
            let (row, column) = (at / rows % rows, at % rows);
            let is_large = column == row ^ 1 || (row | 1 == rows && row == column);
            let is_there = row.abs_diff(column) < entries;
            let value = c64::from_polar(1.0, at as f64) + c64::new(0.0, 9.0 * f64::from(is_large));
            if is_there { value } else { c64::default() }
        });
        let a = BatchDense::new(rows, values.collect()).unwrap();
        compare(direct, &a, &device);
    }
}

/// Two systems that are multiples of each other.
fn rough(rows: usize, entry: impl Fn(usize, usize) -> f64) -> BatchDense<f64> {
    let values = (0..2 * rows * rows).map(|at| {
        let (system, row, column) = (at / (rows * rows), at / rows % rows, at % rows);
        (1.0 + 0.1 * system as f64) * entry(row, column)
    });
    BatchDense::new(rows, values.collect()).unwrap()
}

#[test]
fn direct_solves_exchange_rows_in_narrow_and_wide_bands() {
    let Some(device) = device() else { return };
    let direct = solver(BatchMethod::Direct, BatchPreconditioner::None);
    // Without exchanges there is no pivot in the first row; in global memory from 70 rows on.
    let wave = |row: usize, column: usize| ((row * 5 + column * 3) as f64).sin();
    for rows in [1, 20, 75] {
        compare(
            direct,
            &rough(rows, |row, column| {
                f64::from(row + column == rows - 1) * 9.0 + wave(row, column)
            }),
            &device,
        );
    }
    let (offsets, columns) = banded(40, 3);
    let count = columns.len();
    let values = (0..3 * count)
        .map(|at| ((at % count * 7 + at / count) as f64).sin())
        .collect();
    let a = BatchCsr::new(40, offsets, columns, values).unwrap();
    compare(direct, &a, &device);
}

#[test]
fn vectors_may_lie_side_by_side() {
    let Some(device) = device() else { return };
    let (rows, systems) = (33, 35);
    let a = DeviceBatch::new(&device, &narrow(rows, 1, 1, systems)).unwrap();
    let b: Vec<f64> = (0..rows * systems).map(|k| (k % 7) as f64).collect();
    let turned = (0..rows * systems).map(|at| b[at % systems * rows + at / systems]);
    let b = Vector::from_column(&device, b.clone());
    let side_by_side = Vector::from_rows(&device, systems, turned.collect()).unwrap();
    for (method, preconditioner) in [
        (BatchMethod::Direct, BatchPreconditioner::None),
        (BatchMethod::Gmres, BatchPreconditioner::Isai),
    ] {
        let solver = solver(method, preconditioner);
        let (mut x, mut y) = (
            Vector::zeros_like(&b).unwrap(),
            Vector::zeros_like(&side_by_side).unwrap(),
        );
        let first = solver.solve_on_device(&a, &b, &mut x).unwrap();
        let second = solver.solve_on_device(&a, &side_by_side, &mut y).unwrap();
        assert_eq!(first, second);
        let (x, y) = (x.to_vec(), y.to_vec());
        assert!((0..x.len()).all(|at| x[at % systems * rows + at / systems] == y[at]));
    }
}

/// Systems whose entries are in a band, some of them missing. Rows of neighbours are exchanged where the band has room for that.
fn narrow(rows: usize, below: usize, above: usize, systems: usize) -> BatchCsr<f64> {
    let large = |row: usize| match below.min(above) > 0 && (row ^ 1) < rows {
        true => row ^ 1,
        false => row,
    };
    let (mut offsets, mut columns, mut is_large) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        let band = row.saturating_sub(below)..(row + above + 1).min(rows);
        for column in band.filter(|&column| column % 5 > 0 || column == large(row)) {
            columns.push(column as u32);
            is_large.push(column == large(row));
        }
        offsets.push(columns.len());
    }
    let value = |at: usize, is_large: &bool| 9.0 * f64::from(*is_large) + (at as f64).sin();
    let all = is_large.iter().cycle().take(systems * columns.len());
    let values = all.enumerate().map(|(at, is_large)| value(at, is_large));
    let values = values.collect();
    BatchCsr::new(rows, offsets, columns, values).unwrap()
}

#[test]
fn a_thread_solves_a_system_in_a_narrow_band() {
    let Some(device) = device() else { return };
    let direct = solver(BatchMethod::Direct, BatchPreconditioner::None);
    for (rows, below, above) in [(1, 0, 0), (7, 1, 0), (33, 1, 1), (50, 2, 1), (40, 4, 4)] {
        compare(direct, &narrow(rows, below, above, 35), &device);
    }
    // More rows than fit local memory.
    compare(direct, &narrow(600, 0, 2, 3), &device);
}

#[test]
fn in_narrow_bands_too_singular_systems_fail_alone() {
    let Some(device) = device() else { return };
    let (rows, systems) = (9, 34);
    let (offsets, columns) = banded(rows, 1);
    let count = columns.len();
    let mut values: Vec<f64> = (0..systems * count).map(|at| (at % count) as f64).collect();
    values[3 * count..4 * count].fill(0.0);
    values[5 * count + 7] = f64::NAN;
    // Column 4 of system 33 is empty.
    for (at, _) in columns
        .iter()
        .enumerate()
        .filter(|(_, column)| **column == 4)
    {
        values[33 * count + at] = 0.0;
    }
    let a = BatchCsr::new(rows, offsets, columns, values).unwrap();
    let mut direct = solver(BatchMethod::Direct, BatchPreconditioner::None);
    compare(direct, &a, &device);
    let (b, mut x) = (vec![1.0; systems * rows], vec![0.0; systems * rows]);
    let outcomes = direct.solve(&device, &a, &b, &mut x).unwrap();
    let failed = outcomes
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.converged());
    let failed: Vec<_> = failed.map(|(at, one)| (at, one.status, one.row)).collect();
    let named = [
        (3, Status::Breakdown, Some(0)),
        (5, Status::NonFinite, None),
        (33, Status::Breakdown, Some(4)),
    ];
    assert_eq!(failed, named);
    // Solved ones are their own guesses; none can be more exact than rounding lets it be.
    let again = direct.solve(&device, &a, &b, &mut x).unwrap();
    assert_eq!((again[0].iterations, again[33].row), (0, Some(4)));
    direct.rtol = 1e-18;
    let exact = direct.solve(&device, &a, &b, &mut x).unwrap();
    assert!(exact[0].status == Status::AccuracyLimit || exact[0].converged());
}

fn banded(rows: usize, band: usize) -> (Vec<usize>, Vec<u32>) {
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        let last = (row + band).min(rows - 1);
        columns.extend((row.saturating_sub(band)..=last).map(|column| column as u32));
        offsets.push(columns.len());
    }
    (offsets, columns)
}

#[test]
fn on_devices_too_singular_systems_fail_alone() {
    let Some(device) = device() else { return };
    let good = [2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0];
    let singular = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let infinite = [f64::INFINITY, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let missing = [f64::NAN; 9];
    let all = [good, singular, infinite, missing, good].concat();
    let a = BatchDense::new(3, all).unwrap();
    for method in [BatchMethod::Bicgstab, BatchMethod::Direct] {
        for preconditioner in BatchPreconditioner::ALL {
            let solver = solver(method, preconditioner);
            compare(solver, &a, &device);
            let (b, mut x) = (vec![1.0; 15], vec![0.0; 15]);
            let outcomes = solver.solve(&device, &a, &b, &mut x).unwrap();
            let solved: Vec<bool> = outcomes.iter().map(|one| one.converged()).collect();
            assert_eq!(solved, [true, false, false, false, true], "{solver:?}");
        }
    }
    let (one, a) = (
        BatchSolver::default(),
        BatchDense::new(1, vec![1.0; 2]).unwrap(),
    );
    for place in [&device, &Executor::reference()] {
        let mut x = [0.0; 2];
        let outcomes = one.solve(place, &a, &[f64::INFINITY, 1.0], &mut x);
        let outcomes = outcomes.unwrap();
        assert_eq!(outcomes[0].status, Status::NonFinite);
        assert!(outcomes[1].converged());
    }
    // No entry on the diagonal of row 1.
    let a = BatchCsr::new(2, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
    for preconditioner in [BatchPreconditioner::Ilu0, BatchPreconditioner::Isai] {
        compare(solver(BatchMethod::Bicgstab, preconditioner), &a, &device);
    }
}

#[test]
fn values_of_a_device_need_no_way_from_the_host() {
    let Some(device) = device() else { return };
    let host = batch(0.3);
    let (offsets, columns) = host.structure();
    let mut values = Vec::new();
    for system in 0..SYSTEMS {
        host.visit(system, &mut |_, _, value| values.push(value));
    }
    let there = Buffer::from_vec(&device, values);
    let batch = DeviceBatch::from_values(&offsets, &columns, &there).unwrap();
    assert_eq!((batch.systems(), batch.rows()), (SYSTEMS, ROWS));
    let b = Vector::from_column(&device, vec![1.0; SYSTEMS * ROWS]);
    let mut x = Vector::zeros_like(&b).unwrap();
    let solver = BatchSolver::default();
    let outcomes = solver.solve_on_device(&batch, &b, &mut x).unwrap();
    assert!(outcomes.iter().all(super::super::BatchOutcome::converged));
    let again = solver.solve_on_device(&batch, &b, &mut x).unwrap();
    assert!(
        again
            .iter()
            .all(|one| one.converged() && one.iterations == 0)
    );

    let short = DeviceBatch::from_values(&offsets, &columns[1..], &there);
    assert!(matches!(short, Err(Error::InvalidStructure { .. })));
    assert!(matches!(
        DeviceBatch::from_dense(7, &there),
        Err(Error::InvalidStructure { .. })
    ));
    let of_host = Buffer::from_vec(&Executor::reference(), vec![1.0]);
    assert!(DeviceBatch::from_dense(1, &of_host).is_err());
    let none = DeviceBatch::from_dense(3, &Buffer::<f64>::from_vec(&device, Vec::new())).unwrap();
    let (b, mut x) = (
        Vector::from_column(&device, vec![]),
        Vector::from_column(&device, vec![]),
    );
    assert!(
        solver
            .solve_on_device(&none, &b, &mut x)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_is_too_large_for_a_device_is_refused_by_its_limit() {
    let Some(device) = device() else { return };
    let refused = |solver: BatchSolver, rows: usize| {
        let a = BatchDense::new(rows, vec![1.0; rows * rows]).unwrap();
        let (b, mut x) = (vec![1.0; rows], vec![0.0; rows]);
        let refused = solver.solve(&device, &a, &b, &mut x).unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }));
        refused.to_string()
    };
    assert!(refused(BatchSolver::default(), 513).contains("512 at most"));
    let isai = solver(BatchMethod::Bicgstab, BatchPreconditioner::Isai);
    assert!(refused(isai, 65).contains("64 at most"));
    let blocks = BatchSolver {
        block_size: 33,
        ..solver(BatchMethod::Bicgstab, BatchPreconditioner::BlockJacobi)
    };
    assert!(refused(blocks, 40).contains("32 at most"));
    let short = BatchSolver {
        max_iterations: 1,
        ..BatchSolver::default()
    };
    let (b, mut x) = (vec![1.0; SYSTEMS * ROWS], vec![0.0; SYSTEMS * ROWS]);
    let outcomes = short.solve(&device, &batch(0.3), &b, &mut x).unwrap();
    let limit = |one: &super::super::BatchOutcome| one.status == Status::IterationLimit;
    assert!(outcomes.iter().all(limit));
}
