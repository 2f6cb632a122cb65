mod devices;

use super::{
    BatchCsr, BatchDense, BatchEll, BatchMatrix, BatchMethod, BatchPreconditioner, BatchSolver,
};
use crate::error::Error;
use crate::executor::Executor;
use crate::scalar::{Field, c64};
use crate::stop::Status;

const ROWS: usize = 30;
const SYSTEMS: usize = 19;

/// Five diagonals, another size of those off it for every system; symmetric on request.
fn batch<A: Field>(skew: A) -> BatchCsr<A> {
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..ROWS {
        let near = [
            row.wrapping_sub(7),
            row.wrapping_sub(1),
            row,
            row + 1,
            row + 7,
        ];
        columns.extend(near.into_iter().filter(|&c| c < ROWS).map(|c| c as u32));
        offsets.push(columns.len());
    }
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

fn solvers() -> Vec<BatchSolver> {
    let mut all = Vec::new();
    for method in BatchMethod::ALL {
        for preconditioner in BatchPreconditioner::ALL {
            all.push(BatchSolver {
                method,
                preconditioner,
                ..BatchSolver::default()
            });
        }
    }
    all.retain(|one| {
        one.method != BatchMethod::Cg || one.preconditioner != BatchPreconditioner::Isai
    });
    all
}

fn check<A: Field>(skew: A, solver: BatchSolver) {
    let a = batch(skew);
    let b: Vec<A> = (0..SYSTEMS * ROWS)
        .map(|k| A::from_f64(1.0 + (k % 7) as f64))
        .collect();
    let matrices: [&dyn BatchMatrix<A>; 3] = [&a, &BatchEll::from(&a), &dense(&a)];
    // Of full matrices it is the inverse, which takes long.
    let is_isai = solver.preconditioner == BatchPreconditioner::Isai;
    for matrix in &matrices[..if is_isai { 2 } else { 3 }] {
        let mut x = vec![A::default(); b.len()];
        let cpu = Executor::cpu_with_threads(2).unwrap();
        let outcomes = solver.solve(&cpu, *matrix, &b, &mut x).unwrap();
        assert_eq!(outcomes.len(), SYSTEMS);
        for (system, outcome) in outcomes.iter().enumerate() {
            assert!(outcome.converged(), "{solver:?} {system}: {outcome}");
            let (at, mut y) = (system * ROWS, vec![A::default(); ROWS]);
            matrix.multiply(system, &x[at..at + ROWS], &mut y);
            let error = y
                .iter()
                .zip(&b[at..])
                .map(|(&y, &b)| (y - b).modulus_squared());
            let error = error.fold(Default::default(), |sum: A::Real, part| sum + part);
            assert!(num_traits::ToPrimitive::to_f64(&error).unwrap() < 1e-10);
        }
    }
}

#[test]
fn every_method_solves_every_system_in_every_format() {
    for solver in solvers() {
        let is_cg = solver.method == BatchMethod::Cg;
        check(if is_cg { 0.0 } else { 0.3 }, solver);
        let skew = if is_cg { 0.0 } else { 0.3 };
        check(c64::new(0.0, skew), solver);
    }
}

#[test]
fn threads_and_neighbours_change_no_bit() {
    let a = batch(0.3);
    let b = vec![1.0; SYSTEMS * ROWS];
    for solver in solvers() {
        let solve = |executor: &Executor| {
            let mut x = vec![0.0; b.len()];
            let outcomes = solver.solve(executor, &a, &b, &mut x);
            (x, outcomes.unwrap())
        };
        let cpu = Executor::cpu_with_threads(3).unwrap();
        assert_eq!(solve(&Executor::reference()), solve(&cpu));
    }
}

#[test]
fn a_singular_system_fails_alone_and_is_named() {
    let n = 3;
    let good = [2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0];
    let singular = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let infinite = [f64::INFINITY, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let a = BatchDense::new(n, [good, singular, infinite, good].concat()).unwrap();
    for solver in solvers() {
        let mut x = vec![0.0; 4 * n];
        let b = vec![1.0; 4 * n];
        let outcomes = solver
            .solve(&Executor::reference(), &a, &b, &mut x)
            .unwrap();
        assert!(
            outcomes[0].converged() && outcomes[3].converged(),
            "{solver:?}"
        );
        assert!(!outcomes[1].converged() && !outcomes[2].converged());
        if solver.method == BatchMethod::Direct {
            assert_eq!(
                (outcomes[1].status, outcomes[1].row),
                (Status::Breakdown, Some(1))
            );
        }
    }
}

#[test]
fn a_zero_right_hand_side_and_a_good_guess_need_no_iteration() {
    let a = batch(0.3);
    let solver = BatchSolver::default();
    let cpu = Executor::reference();
    let mut x = vec![0.0; SYSTEMS * ROWS];
    let none = solver.solve(&cpu, &a, &vec![0.0; x.len()], &mut x).unwrap();
    assert!(
        none.iter()
            .all(|one| one.converged() && one.iterations == 0)
    );
    let b = vec![1.0; x.len()];
    solver.solve(&cpu, &a, &b, &mut x).unwrap();
    let again = solver.solve(&cpu, &a, &b, &mut x).unwrap();
    assert!(
        again
            .iter()
            .all(|one| one.converged() && one.iterations == 0)
    );
}

#[test]
fn limits_are_told_and_bad_input_is_refused() {
    let a = batch(0.3);
    let b = vec![1.0; SYSTEMS * ROWS];
    let mut x = vec![0.0; b.len()];
    let one = BatchSolver {
        max_iterations: 1,
        ..BatchSolver::default()
    };
    let outcomes = one.solve(&Executor::reference(), &a, &b, &mut x).unwrap();
    assert!(
        outcomes
            .iter()
            .all(|one| one.status == Status::IterationLimit)
    );
    let short = one.solve(&Executor::reference(), &a, &b[1..], &mut x);
    assert!(matches!(short, Err(Error::SizeMismatch { .. })));
    let none = BatchSolver { restart: 0, ..one };
    let refused = none.solve(&Executor::reference(), &a, &b, &mut x);
    assert!(matches!(refused, Err(Error::BadParameter { .. })));
    let one_sided = BatchSolver {
        method: BatchMethod::Cg,
        preconditioner: BatchPreconditioner::Isai,
        ..one
    };
    let refused = one_sided.solve(&Executor::reference(), &a, &b, &mut x);
    assert!(refused.unwrap_err().to_string().contains("not symmetric"));
    for (offsets, columns, values) in [
        (vec![0, 1], vec![0], vec![1.0]),
        (vec![0, 1, 2], vec![0, 2], vec![1.0; 2]),
        (vec![0, 2, 3], vec![1, 0, 1], vec![1.0; 3]),
        (vec![0, 1, 2], vec![0, 1], vec![1.0; 3]),
    ] {
        let refused = BatchCsr::new(2, offsets, columns, values);
        assert!(matches!(refused, Err(Error::InvalidStructure { .. })));
    }
    assert!(BatchDense::new(2, vec![1.0; 6]).is_err());
}
