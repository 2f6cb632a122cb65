//! Columns that have ended leave their block, and the others do not notice.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::linop::MatrixFree;
use crate::prelude::*;
use crate::solver::testing::{laplacian_2d, values};
use crate::solver::{Bicgstab, Cg, Fcg, Ir, Method, Solver};
use crate::stop::{Outcome, Stop};

/// More rows than one piece of a sum has.
const GRID: usize = 24;

fn methods() -> [Arc<dyn Method<f64>>; 4] {
    [
        Arc::new(Cg::default()),
        Arc::new(Fcg::default()),
        Arc::new(Bicgstab::default()),
        Arc::new(Ir {
            relaxation: 0.2,
            ..Ir::default()
        }),
    ]
}

/// Takes many iterations.
fn hard(seed: u64) -> Vec<f64> {
    values(GRID * GRID, seed)
}

/// An eigenvector with a large eigenvalue: every method is done with it soon.
fn easy(waves: usize) -> Vec<f64> {
    let step = std::f64::consts::PI / (GRID + 1) as f64;
    let wave = |place: usize| (waves as f64 * (place + 1) as f64 * step).sin();
    let place = |row| wave(row % GRID) * wave(row / GRID);
    (0..GRID * GRID).map(place).collect()
}

/// Solves for the columns together; also says how few columns a product had at last.
fn solve(
    method: &Arc<dyn Method<f64>>,
    executor: &Executor,
    columns: &[Vec<f64>],
) -> (Outcome, Vec<f64>, usize) {
    let rows = (0..GRID * GRID).flat_map(|row| columns.iter().map(move |column| column[row]));
    let fewest = Arc::new(AtomicUsize::new(usize::MAX));
    let seen = fewest.clone();
    let identity = MatrixFree::new(executor, Size::square(GRID * GRID), move |x, y, _| {
        seen.fetch_min(x.cols(), Ordering::Relaxed);
        y.copy_from(x)
    });
    let solver = Solver::from_shared(method.clone(), laplacian_2d::<f64>(executor, GRID)).unwrap();
    let solver = solver.with_preconditioner(Arc::new(identity)).unwrap();
    let solver = solver.stopping(Stop::relative(1e-4));
    let b = Vector::from_rows(executor, columns.len(), rows.collect()).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    (outcome, x.to_vec(), fewest.load(Ordering::Relaxed))
}

#[test]
fn columns_that_have_ended_leave_and_the_others_keep_their_bits() {
    for executor in [Executor::reference(), Executor::cpu()] {
        for method in methods() {
            let (first, last) = (hard(1), hard(2));
            let alone = solve(&method, &executor, &[first.clone(), last.clone()]);
            let block = [
                first,
                easy(GRID),
                easy(GRID - 1),
                easy(GRID),
                easy(GRID),
                last,
            ];
            let (outcome, x, fewest) = solve(&method, &executor, &block);
            assert!(outcome.converged() && fewest == 2, "{method:?}: {outcome}");
            for (place, column) in [0, 5].into_iter().enumerate() {
                let facts = |outcome: &Outcome, column| format!("{:?}", outcome.columns[column]);
                assert_eq!(
                    facts(&outcome, column),
                    facts(&alone.0, place),
                    "{method:?}"
                );
                let (found, expected) = (x.chunks(6), alone.1.chunks(2));
                assert!(
                    found.zip(expected).all(|(x, y)| x[column] == y[place]),
                    "{method:?}"
                );
            }
            assert!(outcome.columns[1].iterations < outcome.columns[0].iterations);
        }
    }
}

#[test]
fn columns_leave_on_devices_too() {
    let Some(device) = device() else { return };
    // Of sixteen columns eight stay, for which there are the same kernels.
    let mut block = vec![easy(GRID); 16];
    (block[0], block[9]) = (hard(1), hard(2));
    let method = &methods()[0];
    let (host, expected, _) = solve(method, &Executor::reference(), &block);
    let (outcome, x, fewest) = solve(method, &device, &block);
    assert!(outcome.converged() && fewest == 8, "{outcome}");
    for (found, expected) in outcome.columns.iter().zip(&host.columns) {
        assert_eq!(found.iterations, expected.iterations);
    }
    assert!(x.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-6));
}
