//! Calls that are wrong: each has its code, nothing is lost and the next call works.

use std::ffi::{CString, c_void};
use std::ptr;

use crate::common::{Handle, Laplacian, csr, last_error, setup, solve, solve_columns};
use vcycle_capi::*;

#[test]
fn null_pointers_are_refused_everywhere() {
    let a = Laplacian::new(8);
    let (good, none) = (a.csr(), ptr::null_mut::<vcycle_solver>());
    let solver = Handle::new("");
    let ones = vec![1.0; a.rows()];
    let b: *const c_void = ones.as_ptr().cast();
    let (limits, report) = (ptr::null(), ptr::null_mut());
    // SAFETY: null pointers are looked at, not read.
    unsafe {
        let codes = [
            vcycle_setup(none, &good),
            vcycle_update_values(none, ptr::null()),
            vcycle_set_near_nullspace(none, 0, 0, ptr::null()),
        ];
        assert_eq!(codes, [VCYCLE_ERROR_HANDLE; 3]);
        assert_eq!(vcycle_free(none), VCYCLE_OK);
        for field in 0..3 {
            let mut bad = good;
            *[&mut bad.offsets, &mut bad.columns, &mut bad.values][field] = ptr::null();
            for flags in [0, VCYCLE_BORROW] {
                bad.flags = flags;
                let code = vcycle_setup(solver.0, &bad);
                assert_eq!(code, VCYCLE_ERROR_ARGUMENT, "{}", last_error());
            }
        }
        let code = vcycle_solve(solver.0, 1, b, 0, ptr::null_mut(), 0, limits, report);
        assert_eq!(code, VCYCLE_ERROR_STATE);
        assert!(last_error().contains("vcycle_setup"));
        setup(&solver, &good);
        let x = b.cast_mut();
        let codes = [
            vcycle_create(ptr::null(), ptr::null_mut()),
            vcycle_setup(solver.0, ptr::null()),
            vcycle_solve(solver.0, 1, ptr::null(), 0, x, 0, limits, report),
            vcycle_solve(solver.0, 1, b, 0, ptr::null_mut(), 0, limits, report),
            vcycle_apply(solver.0, 1, ptr::null(), 0, x, 0),
            vcycle_apply(solver.0, 1, b, 0, ptr::null_mut(), 0),
            vcycle_update_values(solver.0, ptr::null()),
            vcycle_get_level(solver.0, 0, ptr::null_mut()),
            vcycle_messages(solver.0, ptr::null_mut(), 9, ptr::null_mut()),
            vcycle_set_near_nullspace(solver.0, 1, 64, ptr::null()),
            vcycle_set_coordinates(solver.0, 2, 32, ptr::null()),
        ];
        assert_eq!(codes, [VCYCLE_ERROR_ARGUMENT; 11]);
    }
    assert_eq!(solve(&solver, &ones).1.status, VCYCLE_CONVERGED);
}

#[test]
fn freed_and_invented_solvers_are_known() {
    let mut solver = ptr::null_mut();
    // SAFETY: a pointer to a pointer.
    let code = unsafe { vcycle_create(ptr::null(), &mut solver) };
    assert_eq!(code, VCYCLE_OK);
    assert_eq!(vcycle_free(solver), VCYCLE_OK);
    assert_eq!(vcycle_free(solver), VCYCLE_ERROR_HANDLE);
    assert_eq!(vcycle_set_block_size(solver, 2), VCYCLE_ERROR_HANDLE);
    let invented = (&raw mut solver).cast::<vcycle_solver>();
    assert_eq!(vcycle_set_block_size(invented, 2), VCYCLE_ERROR_HANDLE);
    assert!(last_error().contains("freed"));
}

#[test]
fn options_that_do_not_exist_are_named() {
    for (options, word) in [
        ("solvr=cg", "solver"),
        ("{\"solver\": 3}", "solver"),
        ("threads=0", "thread"),
        ("device=cuda:99", "cuda"),
    ] {
        let text = CString::new(options).unwrap();
        let mut solver = ptr::null_mut();
        // SAFETY: a string, and a pointer to a pointer.
        let mut code = unsafe { vcycle_create(text.as_ptr(), &mut solver) };
        if code == VCYCLE_OK {
            let a = Laplacian::new(4);
            // SAFETY: the arrays are there.
            code = unsafe { vcycle_setup(solver, &a.csr()) };
            vcycle_free(solver);
        } else {
            assert!(solver.is_null());
        }
        assert_ne!(code, VCYCLE_OK, "{options}");
        assert!(last_error().contains(word), "{options}: {}", last_error());
    }
    let not_text = [0xffu8, 0xfe, 0];
    let mut solver = ptr::null_mut();
    // SAFETY: it ends with a zero.
    let code = unsafe { vcycle_create(not_text.as_ptr().cast(), &mut solver) };
    assert_eq!(code, VCYCLE_ERROR_ARGUMENT);
}

#[test]
fn arrays_that_are_no_matrix_are_refused_by_their_place() {
    let a = Laplacian::new(4);
    let solver = Handle::new("");
    type Damage = fn(&mut Laplacian);
    let cases: [(Damage, &str); 7] = [
        (|a| a.offsets[0] = 1, "offsets[0]"),
        (|a| a.offsets[3] = 1, "offsets[3]"),
        (|a| a.offsets[5] = -7, "offsets[5]"),
        (|a| a.columns[6] = 16, "columns[6]"),
        (|a| a.columns[7] = -1, "columns[7]"),
        (|a| a.values[2] = f64::NAN, "not finite"),
        (|a| a.values[2] = f64::INFINITY, "not finite"),
    ];
    for (spoil, word) in cases {
        let mut bad = Laplacian::new(4);
        spoil(&mut bad);
        for flags in [0, VCYCLE_BORROW] {
            let given = vcycle_csr { flags, ..bad.csr() };
            assert_eq!(solver.setup(&given), VCYCLE_ERROR_MATRIX);
            assert!(last_error().contains(word), "{word}: {}", last_error());
        }
    }
    let good = a.csr();
    let wrong: [fn(&mut vcycle_csr); 9] = [
        |given| given.size = 3,
        |given| given.rows = -1,
        |given| given.rows = 1 << 40,
        |given| given.base = 2,
        |given| given.offset_type = 7,
        |given| given.column_type = -1,
        |given| given.value_type = 9,
        |given| given.flags = 64,
        |given| given.flags = VCYCLE_DEVICE,
    ];
    for spoil in wrong {
        let mut given = good;
        spoil(&mut given);
        assert_eq!(solver.setup(&given), VCYCLE_ERROR_ARGUMENT);
    }
    setup(&solver, &good);
    let nan = vec![f64::NAN; a.values.len()];
    assert_eq!(solver.update(&nan), VCYCLE_ERROR_MATRIX);
    let (_, report) = solve(&solver, &vec![1.0; a.rows()]);
    assert_eq!(report.status, VCYCLE_CONVERGED);
}

#[test]
fn vectors_that_cannot_be_are_refused() {
    let a = Laplacian::new(8);
    let solver = Handle::new("");
    setup(&solver, &a.csr());
    let mut b = vec![1.0; a.rows()];
    let mut x = vec![0.0; a.rows()];
    let mut run = |columns: i32, leading: i64, b: &[f64], report: *mut vcycle_report| {
        let vectors = (b, &mut x[..], leading);
        solve_columns(solver.0, columns, vectors, ptr::null(), report)
    };
    let none = ptr::null_mut();
    assert_eq!(run(-1, 64, &b, none), VCYCLE_ERROR_ARGUMENT);
    assert_eq!(run(2, 63, &b, none), VCYCLE_ERROR_ARGUMENT);
    assert_eq!(run(2, -4, &b, none), VCYCLE_ERROR_ARGUMENT);
    assert_eq!(run(0, 0, &b, none), VCYCLE_OK);
    let mut report = crate::common::report();
    report.size = 0;
    assert_eq!(run(1, 0, &b, &mut report), VCYCLE_ERROR_ARGUMENT);
    // An older caller knows less of a report.
    report.size = 16;
    report.iterations = -5;
    assert_eq!(run(1, 0, &b, &mut report), VCYCLE_OK);
    assert_eq!((report.size, report.iterations), (16, -5));
    b[3] = f64::NAN;
    let mut report = crate::common::report();
    let code = run(1, 0, &b, &mut report);
    assert!(code == VCYCLE_ERROR_MATRIX || report.status == VCYCLE_NON_FINITE);
    let limits = vcycle_limits {
        size: 1,
        rtol: f64::NAN,
        reduction: 0.0,
        atol: 0.0,
        max_iterations: 0,
        nonzero_guess: 0,
    };
    for size in [1, size_of::<vcycle_limits>()] {
        let limits = vcycle_limits { size, ..limits };
        let mut room = b.clone();
        let vectors = (&b[..], &mut room[..], 0);
        let code = solve_columns(solver.0, 1, vectors, &limits, ptr::null_mut());
        assert_eq!(code, VCYCLE_ERROR_ARGUMENT);
    }
}

#[test]
fn singular_matrices_and_zeros_end_with_a_word() {
    let solver = Handle::new("");
    let offsets = [0, 1, 2];
    for values in [[0.0, 0.0], [1.0, 0.0]] {
        let given = csr(2, &offsets, &[0, 1], &values);
        if solver.setup(&given) == VCYCLE_OK {
            let report = solve(&solver, &[1.0, 1.0]).1;
            assert_eq!(report.status, VCYCLE_INCONSISTENT);
            assert!(report.outside_range > 0.7 && report.relative_residual > 0.7);
        } else {
            assert!(!last_error().is_empty());
        }
    }
}

#[test]
fn eight_threads_use_one_solver() {
    let a = Laplacian::new(30);
    let solver = Handle::new("threads=2");
    setup(&solver, &a.csr());
    let b = vec![1.0; a.rows()];
    let (expected, _) = solve(&solver, &b);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (solver, a, b, expected) = (&solver, &a, &b, &expected);
            scope.spawn(move || {
                let mut x = vec![0.0; b.len()];
                for round in 0..6 {
                    let code = match (thread + round) % 3 {
                        0 => solver.apply(b, &mut x),
                        1 => solver.update(&a.values),
                        _ => {
                            let vectors = (&b[..], &mut x[..], 0);
                            solve_columns(solver.0, 1, vectors, ptr::null(), ptr::null_mut())
                        }
                    };
                    assert!(code == VCYCLE_OK || code == VCYCLE_ERROR_STATE);
                    if (thread + round) % 3 == 2 && code == VCYCLE_OK {
                        assert_eq!(&x, expected);
                    }
                }
            });
        }
    });
}

#[test]
fn random_calls_do_no_harm() {
    // A linear congruential generator: the same calls every time.
    let mut seed = 12345u64;
    let mut random = |limit: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % limit
    };
    let a = Laplacian::new(6);
    let numbers = vec![1.0f64; 4 * a.rows()];
    let mut solvers: Vec<*mut vcycle_solver> = vec![ptr::null_mut()];
    let options = "|solver=cg|preconditioner=amg|nonsense|solver=direct|rtol=-1";
    let options: Vec<&str> = options.split('|').collect();
    for _ in 0..600 {
        let solver = solvers[random(solvers.len() as u64) as usize];
        let mut out = numbers.clone();
        let (from, to): (*const c_void, *mut c_void) =
            (numbers.as_ptr().cast(), out.as_mut_ptr().cast());
        // SAFETY: pointers are null, or have as much behind them as the largest call reads.
        unsafe {
            match random(8) {
                0 => {
                    let text = CString::new(options[random(6) as usize]).unwrap();
                    let mut made = ptr::null_mut();
                    vcycle_create(text.as_ptr(), &mut made);
                    solvers.push(made);
                }
                1 => drop(vcycle_free(solver)),
                2 => {
                    let mut given = a.csr();
                    match random(6) {
                        0 => given.base = random(3) as i32,
                        1 => given.value_type = random(2) as i32,
                        2 => given.flags = random(4) as i32,
                        3 => given.rows = random(36) as i64,
                        _ => {}
                    }
                    vcycle_setup(solver, &given);
                }
                3 => drop(vcycle_set_block_size(solver, random(4) as i32)),
                4 => {
                    let rows = random(37) as i64;
                    vcycle_set_near_nullspace(solver, random(4) as i32, rows, numbers.as_ptr());
                }
                5 => {
                    let columns = random(4) as i32;
                    vcycle_apply(solver, columns, from, 36, to, 36);
                }
                6 => drop(vcycle_update_values(solver, a.values.as_ptr().cast())),
                _ => {
                    let mut report = crate::common::report();
                    let columns = random(4) as i32;
                    vcycle_solve(solver, columns, from, 36, to, 36, ptr::null(), &mut report);
                }
            }
        }
    }
    for solver in solvers {
        vcycle_free(solver);
    }
}
