//! Every method, preconditioner and format, on the host and on devices.

use super::{
    BatchCsr, BatchDense, BatchMatrix, BatchMethod, BatchOutcome, BatchPreconditioner, BatchSolver,
    DeviceBatch,
};
use crate::prelude::*;
use crate::stop::Status;
use BatchMethod::{Bicgstab, Cg, Direct, Gmres};
use BatchPreconditioner::{BlockJacobi, Ilu0, Isai, Jacobi, None as Plain};

const ROWS: usize = 30;
const SYSTEMS: usize = 19;

fn host() -> Executor {
    Executor::reference()
}

fn solver(method: BatchMethod, preconditioner: BatchPreconditioner) -> BatchSolver {
    BatchSolver {
        method,
        preconditioner,
        ..BatchSolver::default()
    }
}

fn solvers() -> Vec<BatchSolver> {
    let pairs = BatchMethod::ALL
        .into_iter()
        .flat_map(|method| BatchPreconditioner::ALL.map(|one| solver(method, one)));
    pairs
        .filter(|one| (one.method, one.preconditioner) != (Cg, Isai))
        .collect()
}

/// Row offsets and columns of a band.
fn banded(rows: usize, band: usize) -> (Vec<usize>, Vec<u32>) {
    pattern(rows, |row, column| row.abs_diff(column) <= band)
}

fn pattern(rows: usize, holds: impl Fn(usize, usize) -> bool) -> (Vec<usize>, Vec<u32>) {
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        let of_row = (0..rows).filter(|&column| holds(row, column));
        columns.extend(of_row.map(|column| column as u32));
        offsets.push(columns.len());
    }
    (offsets, columns)
}

/// Five diagonals, another size of those off it for every system; symmetric on request.
fn batch<A: Field>(skew: A) -> BatchCsr<A> {
    let (offsets, columns) = pattern(ROWS, |row, column| {
        [0, 1, 7].contains(&row.abs_diff(column))
    });
    let mut values = Vec::new();
    for system in 0..SYSTEMS {
        let off = A::from_f64(-1.0 - 0.01 * system as f64);
        for row in 0..ROWS {
            for &column in &columns[offsets[row]..offsets[row + 1]] {
                values.push(match (column as usize).cmp(&row) {
                    std::cmp::Ordering::Less => off + skew,
                    std::cmp::Ordering::Equal => A::from_f64(5.0),
                    std::cmp::Ordering::Greater => off - Field::conj(skew),
                });
            }
        }
    }
    BatchCsr::new(ROWS, offsets, columns, values).unwrap()
}

fn dense<A: Field>(a: &BatchCsr<A>) -> BatchDense<A> {
    let mut values = vec![A::default(); SYSTEMS * ROWS * ROWS];
    for system in 0..SYSTEMS {
        a.visit(system, &mut |row, column, value| {
            values[(system * ROWS + row) * ROWS + column] = value;
        });
    }
    BatchDense::new(ROWS, values).unwrap()
}

fn sides<A: Field>(a: &dyn BatchMatrix<A>) -> Vec<A> {
    let side = |k: usize| A::from_f64(1.0 + (k % 7) as f64);
    (0..a.systems() * a.rows()).map(side).collect()
}

/// Outcomes and solutions from zero, for right-hand sides of small numbers.
fn solved<A: Field>(
    solver: BatchSolver,
    a: &dyn BatchMatrix<A>,
    at: &Executor,
) -> (Vec<BatchOutcome>, Vec<A>) {
    let b = sides(a);
    let mut x = vec![A::default(); b.len()];
    let outcomes = solver.solve(at, a, &b, &mut x).unwrap();
    assert_eq!(outcomes.len(), a.systems());
    (outcomes, x)
}

fn converged(outcomes: &[BatchOutcome]) -> Vec<bool> {
    outcomes.iter().map(BatchOutcome::converged).collect()
}

/// Whether all systems were solved before the first iteration.
fn are_guessed(outcomes: &[BatchOutcome]) -> bool {
    let is_guessed = |one: &BatchOutcome| one.converged() && one.iterations == 0;
    outcomes.iter().all(is_guessed)
}

fn check<A: Field>(skew: A, solver: BatchSolver) {
    let a = batch(skew);
    let matrices: [&dyn BatchMatrix<A>; 2] = [&a, &dense(&a)];
    // Of full matrices it is the inverse, which takes long.
    let is_isai = solver.preconditioner == Isai;
    for matrix in &matrices[..if is_isai { 1 } else { 2 }] {
        let cpu = Executor::cpu_with_threads(2).unwrap();
        let (outcomes, x) = solved(solver, *matrix, &cpu);
        let b = sides(*matrix);
        for (system, outcome) in outcomes.iter().enumerate() {
            assert!(outcome.converged(), "{solver:?} {system}: {outcome}");
            let (at, mut y) = (system * ROWS, vec![A::default(); ROWS]);
            matrix.multiply(system, &x[at..at + ROWS], &mut y);
            let errors = y.iter().zip(&b[at..]);
            let errors = errors.map(|(&y, &b)| (y - b).modulus_squared().to_f64());
            assert!(errors.sum::<f64>() < 1e-10);
        }
    }
}

#[test]
fn every_method_solves_every_system_in_every_format() {
    for solver in solvers() {
        let skew = if solver.method == Cg { 0.0 } else { 0.3 };
        check(skew, solver);
        check(c64::new(0.0, skew), solver);
    }
}

#[test]
fn threads_and_neighbours_change_no_bit() {
    let a = batch(0.3);
    for solver in solvers() {
        let cpu = Executor::cpu_with_threads(3).unwrap();
        assert_eq!(solved(solver, &a, &host()), solved(solver, &a, &cpu));
    }
}

/// Two good systems around one that is singular and two that are not finite.
fn mixed() -> BatchDense<f64> {
    let good = [2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0];
    let singular = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let infinite = [f64::INFINITY, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let all = [good, singular, infinite, [f64::NAN; 9], good];
    BatchDense::new(3, all.concat()).unwrap()
}

#[test]
fn a_singular_system_fails_alone_and_is_named() {
    for solver in solvers() {
        let (outcomes, _) = solved(solver, &mixed(), &host());
        let found = converged(&outcomes);
        assert_eq!(found, [true, false, false, false, true], "{solver:?}");
        if solver.method == Direct {
            let named = (outcomes[1].status, outcomes[1].row);
            assert_eq!(named, (Status::Breakdown, Some(1)));
        }
    }
    let a = BatchDense::new(1, vec![1.0; 2]).unwrap();
    for place in [host()].into_iter().chain(device()) {
        let infinite = [f64::INFINITY, 1.0];
        let outcomes = BatchSolver::default().solve(&place, &a, &infinite, &mut [0.0; 2]);
        let outcomes = outcomes.unwrap();
        assert_eq!(outcomes[0].status, Status::NonFinite);
        assert!(outcomes[1].converged());
    }
}

#[test]
fn a_zero_right_hand_side_and_a_good_guess_need_no_iteration() {
    let (a, solver) = (batch(0.3), BatchSolver::default());
    let mut x = vec![0.0; SYSTEMS * ROWS];
    for b in [vec![0.0; x.len()], vec![1.0; x.len()]] {
        let first = solver.solve(&host(), &a, &b, &mut x).unwrap();
        assert_eq!(are_guessed(&first), b[0] == 0.0);
        assert!(are_guessed(&solver.solve(&host(), &a, &b, &mut x).unwrap()));
    }
}

#[test]
fn limits_are_told_and_bad_input_is_refused() {
    let a = batch(0.3);
    let one = BatchSolver {
        max_iterations: 1,
        ..BatchSolver::default()
    };
    for place in [host()].into_iter().chain(device()) {
        let (outcomes, _) = solved(one, &a, &place);
        let is_limit = |one: &BatchOutcome| one.status == Status::IterationLimit;
        assert!(outcomes.iter().all(is_limit));
    }
    let (b, mut x) = (vec![1.0; SYSTEMS * ROWS], vec![0.0; SYSTEMS * ROWS]);
    let mut solve = |solver: BatchSolver, b: &[f64]| solver.solve(&host(), &a, b, &mut x);
    assert_refused!(solve(one, &b[1..]), SizeMismatch { .. });
    let none = BatchSolver { restart: 0, ..one };
    assert_refused!(solve(none, &b), BadParameter { .. });
    let one_sided = solve(solver(Cg, Isai), &b).unwrap_err();
    assert!(one_sided.to_string().contains("not symmetric"));
    for (offsets, columns, values) in [
        (vec![0, 1], vec![0], vec![1.0]),
        (vec![0, 1, 2], vec![0, 2], vec![1.0; 2]),
        (vec![0, 2, 3], vec![1, 0, 1], vec![1.0; 3]),
        (vec![0, 1, 2], vec![0, 1], vec![1.0; 3]),
    ] {
        let refused = BatchCsr::new(2, offsets, columns, values);
        assert_refused!(refused, InvalidStructure { .. });
    }
    assert!(BatchDense::new(2, vec![1.0; 6]).is_err());
}

/// Solves on the host and on the device: the same outcomes, nearly the same solutions.
fn compare<A: Field>(solver: BatchSolver, a: &dyn BatchMatrix<A>, device: &Executor) {
    let (here, x) = solved(solver, a, &host());
    let (there, y) = solved(solver, a, device);
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here.status, there.status, "{solver:?}: {here}, {there}");
        assert_eq!(here.row, there.row, "{solver:?}: {here}, {there}");
        let apart = here.iterations.abs_diff(there.iterations);
        assert!(apart <= 1, "{solver:?}: {here}, {there}");
    }
    let systems = x.chunks(a.rows()).zip(y.chunks(a.rows())).zip(&here);
    for ((x, y), _) in systems.filter(|(_, outcome)| outcome.converged()) {
        let off = x.iter().zip(y).map(|(&x, &y)| (x - y).to_c64().norm());
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-6, "{solver:?}: {off}");
    }
}

#[test]
fn devices_solve_as_the_host_does() {
    let Some(device) = device() else { return };
    // Every method and every preconditioner; fewer programs than all pairs.
    let with = BatchPreconditioner::ALL.map(|one| (Bicgstab, one));
    let others = [(Cg, Ilu0), (Gmres, Isai), (Gmres, Jacobi), (Direct, Plain)];
    for (method, preconditioner) in with.into_iter().chain(others) {
        let skew = if method == Cg { 0.0 } else { 0.3 };
        compare(solver(method, preconditioner), &batch(skew), &device);
    }
    for method in [Bicgstab, Direct] {
        for preconditioner in BatchPreconditioner::ALL {
            compare(solver(method, preconditioner), &mixed(), &device);
        }
    }
    // No entry on the diagonal of row 1.
    let a = BatchCsr::new(2, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
    for preconditioner in [Ilu0, Isai] {
        compare(solver(Bicgstab, preconditioner), &a, &device);
    }
}

#[test]
fn devices_solve_complex_systems() {
    let Some(device) = device() else { return };
    for (method, preconditioner, skew) in [
        (Cg, Ilu0, 0.0),
        (Bicgstab, BlockJacobi, 0.3),
        (Gmres, Isai, 0.3),
        (Direct, Plain, 0.3),
    ] {
        let a = batch(c64::new(0.0, skew));
        compare(solver(method, preconditioner), &a, &device);
    }
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
        compare(solver(Direct, Plain), &a, &device);
    }
}

/// Systems whose entries are in a band, some of them missing. Rows of neighbours are exchanged where the band has room for that.
fn narrow(rows: usize, below: usize, above: usize, systems: usize) -> BatchCsr<f64> {
    let large = |row: usize| match below.min(above) > 0 && (row ^ 1) < rows {
        true => row ^ 1,
        false => row,
    };
    let (offsets, columns) = pattern(rows, |row, column| {
        let is_near = column + below >= row && column <= row + above;
        is_near && (column % 5 > 0 || column == large(row))
    });
    let row_of = |at: usize| offsets.partition_point(|&offset| offset <= at) - 1;
    let values = (0..systems * columns.len()).map(|at| {
        let place = at % columns.len();
        let is_large = columns[place] as usize == large(row_of(place));
        9.0 * f64::from(is_large) + (at as f64).sin()
    });
    let values = values.collect();
    BatchCsr::new(rows, offsets, columns, values).unwrap()
}

#[test]
fn direct_solves_exchange_rows_in_narrow_and_wide_bands() {
    let Some(device) = device() else { return };
    let direct = solver(Direct, Plain);
    // Without exchanges there is no pivot in the first row; in global memory from 70 rows on.
    for rows in [1, 20, 75] {
        let values = (0..2 * rows * rows).map(|at| {
            let (system, row, column) = (at / (rows * rows), at / rows % rows, at % rows);
            let wave = ((row * 5 + column * 3) as f64).sin();
            let large = f64::from(row + column == rows - 1) * 9.0;
            (1.0 + 0.1 * system as f64) * (large + wave)
        });
        let a = BatchDense::new(rows, values.collect()).unwrap();
        compare(direct, &a, &device);
    }
    let (offsets, columns) = banded(40, 3);
    let count = columns.len();
    let value = |at: usize| ((at % count * 7 + at / count) as f64).sin();
    let values = (0..3 * count).map(value).collect();
    let a = BatchCsr::new(40, offsets, columns, values).unwrap();
    compare(direct, &a, &device);
    // A thread solves a system in a narrow band.
    for (rows, below, above) in [(1, 0, 0), (7, 1, 0), (33, 1, 1), (50, 2, 1), (40, 4, 4)] {
        compare(direct, &narrow(rows, below, above, 35), &device);
    }
    // More rows than fit local memory.
    compare(direct, &narrow(600, 0, 2, 3), &device);
}

#[test]
fn vectors_may_lie_side_by_side() {
    let Some(device) = device() else { return };
    let (rows, systems) = (33, 35);
    let a = DeviceBatch::new(&device, &narrow(rows, 1, 1, systems)).unwrap();
    let b: Vec<f64> = (0..rows * systems).map(|k| (k % 7) as f64).collect();
    let turned = (0..rows * systems).map(|at| b[at % systems * rows + at / systems]);
    let side_by_side = Vector::from_rows(&device, systems, turned.collect()).unwrap();
    let b = Vector::from_column(&device, b.clone());
    for (method, preconditioner) in [(Direct, Plain), (Gmres, Isai)] {
        let [(first, x), (second, y)] = [&b, &side_by_side].map(|b| {
            let mut x = Vector::zeros_like(b).unwrap();
            let solver = solver(method, preconditioner);
            let outcomes = solver.solve_on_device(&a, b, &mut x).unwrap();
            (outcomes, x.to_vec())
        });
        assert_eq!(first, second);
        assert!((0..x.len()).all(|at| x[at % systems * rows + at / systems] == y[at]));
    }
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
    for at in (0..count).filter(|&at| columns[at] == 4) {
        values[33 * count + at] = 0.0;
    }
    let a = BatchCsr::new(rows, offsets, columns, values).unwrap();
    let mut direct = solver(Direct, Plain);
    compare(direct, &a, &device);
    let (b, mut x) = (vec![1.0; systems * rows], vec![0.0; systems * rows]);
    let mut solve = |direct: BatchSolver| direct.solve(&device, &a, &b, &mut x).unwrap();
    let outcomes = solve(direct);
    let failed = outcomes.iter().enumerate();
    let failed = failed.filter(|(_, one)| !one.converged());
    let failed: Vec<_> = failed.map(|(at, one)| (at, one.status, one.row)).collect();
    let named = [
        (3, Status::Breakdown, Some(0)),
        (5, Status::NonFinite, None),
        (33, Status::Breakdown, Some(4)),
    ];
    assert_eq!(failed, named);
    // Solved ones are their own guesses; none can be more exact than rounding lets it be.
    let again = solve(direct);
    assert_eq!((again[0].iterations, again[33].row), (0, Some(4)));
    direct.rtol = 1e-18;
    let exact = &solve(direct)[0];
    assert!(exact.status == Status::AccuracyLimit || exact.converged());
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
    assert!(outcomes.iter().all(BatchOutcome::converged));
    assert!(are_guessed(
        &solver.solve_on_device(&batch, &b, &mut x).unwrap()
    ));

    let short = DeviceBatch::from_values(&offsets, &columns[1..], &there);
    let odd = DeviceBatch::from_dense(7, &there);
    for refused in [short, odd] {
        assert_refused!(refused, InvalidStructure { .. });
    }
    let of_host = Buffer::from_vec(&Executor::reference(), vec![1.0]);
    assert!(DeviceBatch::from_dense(1, &of_host).is_err());
    let none = DeviceBatch::from_dense(3, &Buffer::<f64>::from_vec(&device, Vec::new())).unwrap();
    let nothing = Vector::from_column(&device, vec![]);
    let outcomes = solver.solve_on_device(&none, &nothing, &mut nothing.clone());
    assert!(outcomes.unwrap().is_empty());
}

#[test]
fn what_is_too_large_for_a_device_is_refused_by_its_limit() {
    let Some(device) = device() else { return };
    let blocks = BatchSolver {
        block_size: 33,
        ..solver(Bicgstab, BlockJacobi)
    };
    for (solver, rows, limit) in [
        (BatchSolver::default(), 513, "512 at most"),
        (solver(Bicgstab, Isai), 65, "64 at most"),
        (blocks, 40, "32 at most"),
    ] {
        let a = BatchDense::new(rows, vec![1.0; rows * rows]).unwrap();
        let refused = solver.solve(&device, &a, &vec![1.0; rows], &mut vec![0.0; rows]);
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }));
        assert!(refused.to_string().contains(limit), "{refused}");
    }
}
