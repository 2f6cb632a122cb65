//! What calls do that are as they should be.

use std::ffi::c_void;
use std::ptr;

use crate::common::{Handle, Laplacian, csr, last_error, setup, solve, solve_columns};
use vcycle_capi::*;

#[test]
fn a_system_is_solved_and_described() {
    let a = Laplacian::new(64);
    let solver = Handle::new("");
    setup(&solver, &a.csr());
    let b = vec![1.0; a.rows()];
    let (x, report) = solve(&solver, &b);
    assert_eq!(report.status, VCYCLE_CONVERGED);
    assert!(report.iterations > 0 && report.levels > 1 && report.operator_complexity > 1.0);
    assert!(report.relative_residual <= 1e-8 && report.setup_seconds > 0.0 && report.bytes > 0);
    assert!(a.residual(&b, &x) < 1e-6);
    assert!(solver.messages().contains("auto:"));
    // SAFETY: all of its fields are numbers.
    let mut level: vcycle_level = unsafe { std::mem::zeroed() };
    level.size = size_of::<vcycle_level>();
    // SAFETY: the level has its size.
    let code = unsafe { vcycle_get_level(solver.0, 0, &mut level) };
    assert_eq!(code, VCYCLE_OK);
    assert!(level.rows == 4096 && level.entries >= a.values.len() as i64);
    // SAFETY: as above.
    let code = unsafe { vcycle_get_level(solver.0, 99, &mut level) };
    assert_eq!(code, VCYCLE_ERROR_ARGUMENT);
}

#[test]
fn widths_bases_and_orders_of_indices_are_all_the_same() {
    let a = Laplacian::new(20);
    let b: Vec<f64> = (0..a.rows()).map(|row| (row % 7) as f64).collect();
    let expected = {
        let solver = Handle::new("");
        setup(&solver, &a.csr());
        solve(&solver, &b).0
    };
    let wide = |indices: &[i32], base: i64| -> Vec<i64> {
        let shifted = indices.iter().map(|&index| i64::from(index) + base);
        shifted.collect()
    };
    let (offsets, columns) = (wide(&a.offsets, 1), wide(&a.columns, 1));
    let offsets_from_zero = wide(&a.offsets, 0);
    let fortran = vcycle_csr {
        offsets: offsets.as_ptr().cast(),
        columns: columns.as_ptr().cast(),
        offset_type: VCYCLE_I64,
        column_type: VCYCLE_I64,
        base: 1,
        ..a.csr()
    };
    let mixed = vcycle_csr {
        offsets: offsets_from_zero.as_ptr().cast(),
        offset_type: VCYCLE_I64,
        ..a.csr()
    };
    // Every row backwards, its diagonal in two halves, and a zero.
    let (mut o, mut c, mut v) = (vec![0], Vec::new(), Vec::new());
    for row in 0..a.rows() {
        for place in (a.offsets[row]..a.offsets[row + 1]).rev() {
            let (column, value) = (a.columns[place as usize], a.values[place as usize]);
            let parts = match column as usize == row {
                true => vec![1.0, 3.0, 0.0],
                false => vec![value],
            };
            c.extend(parts.iter().map(|_| column));
            v.extend(parts);
        }
        o.push(c.len() as i32);
    }
    let unsorted = csr(a.rows(), &o, &c, &v);
    let borrowed = vcycle_csr {
        flags: VCYCLE_BORROW,
        ..a.csr()
    };
    let not_to_be_borrowed = vcycle_csr {
        flags: VCYCLE_BORROW,
        ..unsorted
    };
    for given in [fortran, mixed, unsorted, borrowed, not_to_be_borrowed] {
        let solver = Handle::new("");
        setup(&solver, &given);
        assert_eq!(solve(&solver, &b).0, expected);
    }
    // Other values find their places, too.
    let solver = Handle::new("preconditioner=amg");
    setup(&solver, &unsorted);
    let doubled: Vec<f64> = v.iter().map(|value| 2.0 * value).collect();
    assert_eq!(solver.update(&doubled), VCYCLE_OK, "{}", last_error());
    let messages = solver.messages();
    assert!(messages.contains("reused"), "{messages}");
    let (x, _) = solve(&solver, &b);
    let mut pairs = x.iter().zip(&expected);
    assert!(pairs.all(|(x, e)| (2.0 * x - e).abs() < 1e-5));
}

#[test]
fn numbers_of_all_types_are_solved_with() {
    let a = Laplacian::new(12);
    let single: Vec<f32> = a.values.iter().map(|&value| value as f32).collect();
    let solver = Handle::new("");
    let mut given = csr(a.rows(), &a.offsets, &a.columns, &single);
    given.value_type = VCYCLE_F32;
    setup(&solver, &given);
    let (x, report) = solve(&solver, &vec![1.0f32; a.rows()]);
    let x: Vec<f64> = x.iter().map(|&x| x.into()).collect();
    // The residual is that of the rounded solution, for which the tolerance of 1e-8 is too small.
    assert_eq!(report.status, VCYCLE_ACCURACY_LIMIT);
    let residual = a.residual(&vec![1.0; a.rows()], &x);
    assert!(residual < 1e-4 && report.relative_residual > 1e-8);

    // i A x = i b has the same solution.
    let rotated: Vec<[f64; 2]> = a.values.iter().map(|&value| [0.0, value]).collect();
    let mut given = csr(a.rows(), &a.offsets, &a.columns, &rotated);
    given.value_type = VCYCLE_C64;
    setup(&solver, &given);
    let (z, report) = solve(&solver, &vec![[0.0, 1.0]; a.rows()]);
    assert_eq!(report.status, VCYCLE_CONVERGED, "{}", solver.messages());
    let near = |(z, x): (&[f64; 2], &f64)| (z[0] - x).abs() < 1e-4 && z[1].abs() < 1e-4;
    assert!(z.iter().zip(&x).all(near));

    let rotated: Vec<[f32; 2]> = single.iter().map(|&value| [0.0, value]).collect();
    given.values = rotated.as_ptr().cast();
    given.value_type = VCYCLE_C32;
    setup(&solver, &given);
    let (z, _) = solve(&solver, &vec![[0.0f32, 1.0]; a.rows()]);
    let near = |(z, x): (&[f32; 2], &f64)| (f64::from(z[0]) - x).abs() < 1e-3;
    assert!(z.iter().zip(&x).all(near));
}

#[test]
fn many_columns_are_apart_by_their_leading_dimension() {
    let a = Laplacian::new(12);
    let (n, leading) = (a.rows(), a.rows() + 3);
    let solver = Handle::new("");
    setup(&solver, &a.csr());
    let mut b = vec![f64::NAN; 2 * leading + n];
    for column in 0..3 {
        b[column * leading..column * leading + n].fill(1.0 + column as f64);
    }
    let mut x = vec![-1.0; 3 * leading];
    let vectors = (&b[..], &mut x[..], leading as i64);
    let code = solve_columns(solver.0, 3, vectors, ptr::null(), ptr::null_mut());
    assert_eq!(code, VCYCLE_OK, "{}", last_error());
    for column in 0..3 {
        let part = |v: &[f64]| v[column * leading..column * leading + n].to_vec();
        assert!(a.residual(&part(&b), &part(&x)) < 1e-5);
    }
    assert!((0..3).all(|column| x[column * leading + n..][..3] == [-1.0; 3]));
}

#[test]
fn a_guess_and_limits_are_those_of_a_call() {
    let a = Laplacian::new(30);
    let solver = Handle::new("solver=cg preconditioner=jacobi");
    setup(&solver, &a.csr());
    let b = vec![1.0; a.rows()];
    let (mut x, _) = solve(&solver, &b);
    let mut limits = vcycle_limits {
        size: size_of::<vcycle_limits>(),
        rtol: 1e-6,
        reduction: -1.0,
        atol: -1.0,
        max_iterations: -1,
        nonzero_guess: 1,
    };
    let mut report = crate::common::report();
    let run = |limits: &vcycle_limits, report: &mut vcycle_report, x: &mut [f64]| {
        let code = solve_columns(solver.0, 1, (&b[..], x, 0), limits, report);
        assert_eq!(code, VCYCLE_OK, "{}", last_error());
    };
    run(&limits, &mut report, &mut x);
    assert_eq!((report.iterations, report.status), (0, VCYCLE_CONVERGED));
    limits.nonzero_guess = 0;
    limits.max_iterations = 3;
    run(&limits, &mut report, &mut x);
    assert_eq!(
        (report.iterations, report.status),
        (3, VCYCLE_ITERATION_LIMIT)
    );
}

extern "C" fn stop_at_two(iteration: i64, _: f64, context: *mut c_void) -> i32 {
    // SAFETY: the test passed a counter.
    unsafe { *context.cast::<i64>() += 1 };
    i32::from(iteration >= 2)
}

#[test]
fn a_callback_ends_a_solve() {
    let a = Laplacian::new(30);
    let solver = Handle::new("solver=cg preconditioner=jacobi");
    setup(&solver, &a.csr());
    let mut calls = 0i64;
    // SAFETY: the counter outlives the solver's use of it.
    let code = unsafe { vcycle_set_callback(solver.0, Some(stop_at_two), (&raw mut calls).cast()) };
    assert_eq!(code, VCYCLE_OK);
    let (_, report) = solve(&solver, &vec![1.0; a.rows()]);
    assert_eq!((report.status, report.iterations), (VCYCLE_INTERRUPTED, 2));
    assert_eq!(calls, 3);
}

#[test]
fn a_cycle_is_linear_and_has_the_sign_of_the_matrix() {
    let a = Laplacian::new(40);
    let minus: Vec<f64> = a.values.iter().map(|value| -value).collect();
    let apply = |values: &[f64], scale: f64| {
        let solver = Handle::new("");
        setup(&solver, &csr(a.rows(), &a.offsets, &a.columns, values));
        let r = vec![scale; a.rows()];
        let mut z = vec![0.0; a.rows()];
        assert_eq!(solver.apply(&r, &mut z), VCYCLE_OK);
        z
    };
    let once = apply(&a.values, 1.0);
    assert!(once.iter().all(|&z| z > 0.0));
    let scaled = |factor: f64| once.iter().map(|z| factor * z).collect::<Vec<_>>();
    assert_eq!(apply(&a.values, 4.0), scaled(4.0));
    assert_eq!(apply(&minus, 1.0), scaled(-1.0));
}

#[test]
fn an_empty_matrix_is_solved() {
    let solver = Handle::new("");
    setup(&solver, &csr::<f64>(0, &[0], &[], &[]));
    let (x, report) = solve::<f64>(&solver, &[]);
    assert!(x.is_empty() && report.status == VCYCLE_CONVERGED);
}

#[test]
fn what_is_known_of_nodes_is_used() {
    // Two components that do not see each other, node by node.
    let a = Laplacian::new(16);
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..2 * a.rows() {
        for place in a.offsets[row / 2]..a.offsets[row / 2 + 1] {
            columns.push(2 * a.columns[place as usize] + (row % 2) as i32);
            values.push(a.values[place as usize]);
        }
        offsets.push(columns.len() as i32);
    }
    let rows = 2 * a.rows();
    let points: Vec<f64> = (0..a.rows())
        .flat_map(|p| [(p % 16) as f64, (p / 16) as f64])
        .collect();
    let solver = Handle::new("solver=cg preconditioner=amg");
    assert_eq!(vcycle_set_block_size(solver.0, 2), VCYCLE_OK);
    // SAFETY: there are two numbers for each of the nodes.
    let code = unsafe { vcycle_set_coordinates(solver.0, 2, a.rows() as i64, points.as_ptr()) };
    assert_eq!(code, VCYCLE_OK, "{}", last_error());
    let given = csr(rows, &offsets, &columns, &values);
    setup(&solver, &given);
    assert_eq!(solve(&solver, &vec![1.0; rows]).1.status, VCYCLE_CONVERGED);
    assert_eq!(solver.near_nullspace(&vec![1.0; rows + 1]), VCYCLE_OK);
    assert_eq!(solver.setup(&given), VCYCLE_ERROR_ARGUMENT);
    assert!(last_error().contains("near-nullspace"), "{}", last_error());
    // What was set up before still is.
    assert_eq!(solve(&solver, &vec![1.0; rows]).1.status, VCYCLE_CONVERGED);
}
