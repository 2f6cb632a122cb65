//! Every kind of matrix, by every method, in every order, on any number of threads.

use std::sync::Arc;

use crate::testing::{Matrix, grid, natural};
use crate::{Factors, Failure, Graph, Limits, Method, Number, Order, Symbolic, System, c64};

/// Numbers between -1 and 1 that look random and are not.
fn number(seed: usize) -> f64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 11) as f64) / (1_u64 << 52) as f64 - 1.0
}

fn none(_: &Graph) -> Option<Vec<u32>> {
    None
}

/// Every second vertex after all others.
fn odd(graph: &Graph) -> Option<Vec<u32>> {
    let n = graph.len() as u32;
    Some((0..n).step_by(2).chain((1..n).step_by(2)).collect())
}

fn factorised<F: Number>(
    a: &Matrix<F>,
    method: Method,
    order: Order<'_>,
    threads: usize,
) -> Result<Factors<F>, Failure> {
    factorised_up_to(a, method, order, None, threads)
}

/// The same where pivots of that size are zero.
fn factorised_up_to<F: Number>(
    a: &Matrix<F>,
    method: Method,
    order: Order<'_>,
    zero: Option<f64>,
    threads: usize,
) -> Result<Factors<F>, Failure> {
    let is_symmetric = method != Method::Lu;
    let symbolic = Symbolic::new(a.pattern(), &natural(a.len()), is_symmetric, order)?;
    let limits = Limits {
        zero,
        ..Limits::default()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().unwrap();
    pool.install(|| Factors::new(&Arc::new(symbolic), &a.values, method, limits, threads))
}

/// The largest error of solutions of two systems at once with the matrix, its transpose and its adjoint.
fn error<F: Number>(a: &Matrix<F>, factors: &Factors<F>) -> f64 {
    let (n, cols) = (a.len(), 2);
    let known: Vec<F> = (0..n * cols).map(|at| F::real(number(at))).collect();
    let mut worst: f64 = 0.0;
    for system in [System::Plain, System::Transposed, System::Adjoint] {
        let mut b = vec![F::ZERO; n * cols];
        for row in 0..n {
            for at in a.offsets[row]..a.offsets[row + 1] {
                let (column, value) = (a.columns[at] as usize, a.values[at]);
                let (to, from, value) = match system {
                    System::Plain => (row, column, value),
                    System::Transposed => (column, row, value),
                    System::Adjoint => (column, row, value.conjugate()),
                };
                for col in 0..cols {
                    b[to * cols + col] += value * known[from * cols + col];
                }
            }
        }
        let mut scratch = vec![F::ZERO; factors.scratch() * cols];
        factors.solve(system, &mut b, &mut scratch, cols, 2);
        let off = b
            .iter()
            .zip(&known)
            .map(|(&x, &known)| (x - known).magnitude());
        worst = off.fold(worst, f64::max);
    }
    worst
}

/// Factorises in all orders and on one and three threads.
fn check<F: Number>(a: &Matrix<F>, method: Method, tolerance: f64) {
    let pairs: Vec<u32> = (0..a.len() as u32)
        .map(|v| (v ^ 1).min(a.len() as u32 - 1))
        .collect();
    let pairs: Vec<u32> = match a.len() % 2 {
        0 => pairs,
        _ => natural(a.len()),
    };
    let (none, odd): (crate::Dissection<'_>, crate::Dissection<'_>) = (&none, &odd);
    for threads in [1, 3] {
        for order in [
            Order::Best(none),
            Order::Dissection(odd),
            Order::InPairs(&pairs, none),
        ] {
            let factors = factorised(a, method, order, threads).unwrap();
            let found = error(a, &factors);
            assert!(
                found < tolerance,
                "{method:?} on {threads} threads: {found:.1e}"
            );
            assert_eq!(factors.method(), method);
        }
    }
}

/// A grid whose entries are changed: `[A B^T; B -C]` with few entries on the diagonal of `C`.
fn saddle(width: usize) -> Matrix<f64> {
    let a = grid(width, width);
    let (n, constraints) = (a.len(), a.len() / 3);
    let entry = |row: usize, column: usize| {
        let (low, high) = (row.min(column), row.max(column));
        match (low < n, high < n) {
            (true, true) => {
                let row = a.offsets[low]..a.offsets[low + 1];
                let found = row.into_iter().find(|&at| a.columns[at] as usize == high);
                found.map_or(0.0, |at| a.values[at])
            }
            (true, false) if low / 3 == high - n || low == (7 * (high - n)) % n => {
                number(low * n + high)
            }
            (false, false) if low == high && low % 5 == 0 => -1e-8,
            _ => 0.0,
        }
    };
    Matrix::new(n + constraints, entry)
}

#[test]
fn definite_matrices_have_cholesky_factors() {
    check(&grid(17, 16), Method::Cholesky, 1e-12);
    check(&grid(40, 1), Method::Cholesky, 1e-11);
    let hermitian = Matrix::new(90, |row, column| match row.abs_diff(column) {
        0 => c64::new(5.0, 0.0),
        1 | 9 => {
            let value = c64::new(number(row.min(column)), 0.7);
            if row < column {
                value
            } else {
                value.conjugate()
            }
        }
        _ => c64::ZERO,
    });
    check(&hermitian, Method::Cholesky, 1e-12);
    let a = Matrix::new(2, |row, column| if row == column { -1.0 } else { 0.0 });
    let failure = factorised(&a, Method::Cholesky, Order::Degree, 1).err();
    assert_eq!(failure, Some(Failure::NotPositive));
}

#[test]
fn indefinite_matrices_take_pivots_of_two_rows() {
    let hermitian = Method::Ldl { hermitian: true };
    check(&grid(17, 16), hermitian, 1e-12);
    check(&saddle(16), hermitian, 1e-7);
    // No entry on the diagonal.
    let swaps = Matrix::new(300, |row, column| match row ^ column {
        1 => 1.0 + number(row.min(column)).abs(),
        64 | 6 => 0.3 * number(row.min(column) + column.max(row)),
        _ => 0.0,
    });
    check(&swaps, hermitian, 1e-9);
    let complex = |is_hermitian: bool| {
        Matrix::new(120, move |row, column| {
            let (low, high) = (row.min(column), row.max(column));
            let value = c64::new(number(low * 7 + high), number(high * 5 + low));
            match high - low {
                0 if low % 4 > 0 => c64::ZERO,
                0 if is_hermitian => c64::real(value.re),
                0 | 1 | 10 if is_hermitian && row > column => value.conjugate(),
                0 | 1 | 10 => value,
                _ => c64::ZERO,
            }
        })
    };
    check(&complex(true), hermitian, 1e-8);
    check(&complex(false), Method::Ldl { hermitian: false }, 1e-8);
}

#[test]
fn inertia_is_counted() {
    let hermitian = Method::Ldl { hermitian: true };
    let negative = |a: &Matrix<f64>| {
        let factors = factorised(a, hermitian, Order::Degree, 1).unwrap();
        factors.negative_eigenvalues().unwrap()
    };
    assert_eq!(negative(&grid(9, 9)), 0);
    // As many as there are constraints.
    let a = saddle(12);
    assert_eq!(negative(&a), a.len() / 4);
}

#[test]
fn other_matrices_have_triangular_factors() {
    let wind = |n: usize| {
        let a = grid(n, n);
        Matrix::new(n * n, move |row, column| {
            let found = a.offsets[row]..a.offsets[row + 1];
            let found = found
                .into_iter()
                .find(|&at| a.columns[at] as usize == column);
            found.map_or(0.0, |at| match (row, column) {
                // Every seventh row has a small diagonal entry.
                _ if row == column && row % 7 == 0 => 1e-9,
                _ => a.values[at] + if row < column { 0.5 } else { 0.0 },
            })
        })
    };
    check(&wind(16), Method::Lu, 1e-9);
    let one_way = Matrix::new(200, |row, column| match column.wrapping_sub(row) {
        0 => 1e-3 * number(row),
        3 => 1.0,
        _ if (row * 31 + column * 17) % 97 == 0 => number(row + 5 * column),
        _ => 0.0,
    });
    check(&one_way, Method::Lu, 1e-5);
    let complex = Matrix::new(100, |row, column| match row.abs_diff(column) {
        0 => c64::new(2.0, 1.0),
        1 | 8 => c64::new(number(row * 3 + column), number(column)),
        _ => c64::ZERO,
    });
    check(&complex, Method::Lu, 1e-10);
}

#[test]
fn singular_matrices_are_named() {
    let zero_row = Matrix::new(4, |row, column| match (row, column) {
        (2, 2) => 0.0,
        (2, _) | (_, 2) => 0.0,
        _ => 1.0 + number(row + column),
    });
    for method in [Method::Lu, Method::Ldl { hermitian: true }] {
        let failure = factorised(&zero_row, method, Order::Degree, 1).err();
        assert!(
            matches!(failure, Some(Failure::NoPivot { .. })),
            "{failure:?}"
        );
    }
}

#[test]
fn dependent_rows_are_counted_and_their_unknowns_are_zero() {
    // The Laplacian without boundary: constants are in its nullspace.
    let a = grid(13, 12);
    let degree = |row: usize| (a.offsets[row + 1] - a.offsets[row] - 1) as f64;
    let a = Matrix::new(a.len(), |row, column| {
        let found = a.offsets[row]..a.offsets[row + 1];
        let found = found
            .into_iter()
            .find(|&at| a.columns[at] as usize == column);
        found.map_or(0.0, |_| if row == column { degree(row) } else { -1.0 })
    });
    let mut b: Vec<f64> = (0..a.len()).map(number).collect();
    let mean = b.iter().sum::<f64>() / b.len() as f64;
    b.iter_mut().for_each(|value| *value -= mean);
    for method in [Method::Ldl { hermitian: true }, Method::Lu] {
        let factors = factorised_up_to(&a, method, Order::Degree, Some(1e-13), 1).unwrap();
        assert_eq!(factors.dependent(), 1);
        let (mut x, mut scratch) = (b.clone(), vec![0.0; factors.scratch()]);
        factors.solve(System::Plain, &mut x, &mut scratch, 1, 1);
        for row in 0..a.len() {
            let terms = (a.offsets[row]..a.offsets[row + 1])
                .map(|at| a.values[at] * x[a.columns[at] as usize]);
            assert!((terms.sum::<f64>() - b[row]).abs() < 1e-12, "{method:?}");
        }
        assert!(x.iter().all(|value| value.abs() < 100.0));
    }
}

/// Many unknowns, `own` on their diagonal, that are coupled with few of the same others each.
fn many_for_few(own: impl Fn(usize) -> f64) -> Matrix<f64> {
    let (few, many) = (24, 600);
    let chosen = |seed: usize| (12.0 * (number(seed) + 1.0)) as usize;
    Matrix::new(many + few, |row, column| {
        let (low, high) = (row.min(column), row.max(column));
        match (low == high, low < many && high >= many) {
            (true, _) if low < many => own(low),
            (true, _) => 600.0 + low as f64,
            (false, true) if (0..4).any(|draw| many + chosen(4 * low + draw) == high) => {
                number(low * few + high)
            }
            _ => 0.0,
        }
    })
}

#[test]
fn what_many_small_fronts_leave_is_added_up_on_the_way() {
    let definite = many_for_few(|row| 9.0 + row as f64);
    check(&definite, Method::Cholesky, 1e-12);
    // Some have no pivots of their own.
    let late = many_for_few(|row| if row % 150 == 0 { 0.0 } else { 5.0 });
    for (a, method) in [(&definite, Method::Lu), (&late, Method::Lu)] {
        check(a, method, 1e-6);
    }
    check(&late, Method::Ldl { hermitian: true }, 1e-6);
    let symbolic = Symbolic::new(
        definite.pattern(),
        &natural(definite.len()),
        true,
        Order::Degree,
    );
    let symbolic = symbolic.unwrap();
    let leaves = symbolic
        .fronts()
        .iter()
        .filter(|front| front.rows() < 10)
        .count();
    assert!(
        leaves > 150 && symbolic.peak() < 3 * symbolic.fill(),
        "{leaves} {} {}",
        symbolic.peak(),
        symbolic.fill()
    );
}

#[test]
fn a_factorisation_ends_in_time() {
    let a = grid(9, 9);
    let symbolic = Symbolic::new(a.pattern(), &natural(81), true, Order::Degree).unwrap();
    let limits = Limits {
        until: Some(std::time::Instant::now()),
        ..Limits::default()
    };
    let made = Factors::new(&Arc::new(symbolic), &a.values, Method::Cholesky, limits, 1);
    assert_eq!(made.err(), Some(Failure::OutOfTime));
}

#[test]
fn an_empty_matrix_is_factorised() {
    let a = Matrix::<f64>::new(0, |_, _| 0.0);
    for threads in [1, 2] {
        let factors = factorised(&a, Method::Lu, Order::Degree, threads).unwrap();
        factors.solve(System::Plain, &mut [], &mut [], 1, threads);
    }
}
