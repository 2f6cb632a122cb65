//! Requirements of every preconditioner, tested on all of them.

use super::Sor;
use super::power::LONGEST_ROW;
use super::testing::{
    applied, assemble, convection, error_of, from_dense, from_entries, hermitian, iterations_of,
    laplacian, largest_difference, made, parsed, red_black, values_for, with_messages,
};
use crate::gallery;
use crate::linop::MatrixFree;
use crate::prelude::*;
use crate::solver::Cg;

type Factories<T> = Vec<Box<dyn Factory<T>>>;

/// One a line, with its parameters.
fn lines<T: Mixes<T, T>>(text: &str) -> Factories<T> {
    text.trim().lines().map(parsed).collect()
}

/// Symmetric (Hermitian) positive definite where the matrix is.
fn symmetric<T: Mixes<T, T>>() -> Factories<T> {
    lines(
        "jacobi weight=0.9
        l1-jacobi
        block-jacobi
        block-jacobi block-size=5 adaptive=true
        ssor
        ssor omega=1.3 sweeps=3
        multicolour-gs omega=1.3 sweeps=2 symmetric=true
        hybrid-gs block-rows=6 symmetric=true
        ic0
        ick
        paric
        parict
        isai kind=spd
        isai kind=spd power=2
        fsai
        fsai power=1 step-size=3 filter=0.05 setup=single",
    )
}

/// For any matrix.
fn general<T: Mixes<T, T>>() -> Factories<T> {
    lines(
        "jacobi weight=0.9
        l1-jacobi
        block-jacobi
        sor
        sor omega=1.3 sweeps=3
        ssor omega=1.3 sweeps=3
        multicolour-gs
        hybrid-gs block-rows=500
        hybrid-gs block-rows=4 sweeps=3
        ilu0
        ilu0 sweeps=2
        ilu0 isai=1
        iluk
        ilut
        parilu
        parilut
        isai
        isai power=2",
    )
}

fn all<T: Mixes<T, T>>() -> Factories<T> {
    general().into_iter().chain(symmetric()).collect()
}

fn check_transposes<T: Mixes<T, T>>(all: Factories<T>, a: &Csr<T>, tolerance: f64) {
    let n = a.size().rows;
    for factory in all {
        let m = made(factory.as_ref(), a).unwrap();
        let matrix = assemble(m.as_ref(), None);
        for mode in [Transpose::Plain, Transpose::Conjugate] {
            let turned = |value: T| match mode {
                Transpose::Plain => value,
                Transpose::Conjugate => T::from_c64(value.to_c64().conj()),
            };
            let transposed = (0..n * n).map(|i| turned(matrix[i % n * n + i / n]));
            let expected: Vec<T> = transposed.collect();
            let found = assemble(m.as_ref(), Some(mode));
            let difference = largest_difference(&found, &expected);
            assert!(difference < tolerance, "{factory:?} {mode:?}: {difference}");
        }
    }
}

#[test]
fn transposed_applications_are_the_transposes() {
    let host = Executor::reference();
    check_transposes::<f64>(general(), &convection(&host, 5), 1e-14);
    check_transposes::<c64>(general(), &convection(&host, 5), 1e-14);
    check_transposes::<c64>(symmetric(), &hermitian(&host, 12), 1e-14);
    check_transposes::<f32>(general(), &convection(&host, 5), 1e-6);
    check_transposes::<c32>(general(), &convection(&host, 5), 1e-6);
    check_transposes::<f16>(symmetric(), &laplacian(&host, 5), 2e-2);
    check_transposes::<bf16>(symmetric(), &laplacian(&host, 5), 2e-1);
}

#[test]
fn symmetric_ones_are_hermitian_and_positive() {
    let host = Executor::reference();
    let n = 14;
    for factory in symmetric::<c64>() {
        let m = made(factory.as_ref(), &hermitian(&host, n)).unwrap();
        let matrix = assemble(m.as_ref(), None);
        let adjoint: Vec<c64> = (0..n * n)
            .map(|i| matrix[i % n * n + i / n].conj())
            .collect();
        // Blocks stored in half precision are rounded entry by entry.
        let difference = largest_difference(&matrix, &adjoint);
        assert!(difference < 1e-14, "{factory:?}: {difference}");
        for x in (0..n).map(|shift| values_for::<c64>(n + shift).split_off(shift)) {
            let product = |i: usize| (0..n).map(|k| matrix[i * n + k] * x[k]).sum::<c64>();
            let form: c64 = (0..n).map(|i| x[i].conj() * product(i)).sum();
            assert!(form.re > 0.0, "{factory:?}");
        }
    }
}

/// Rows of two colours, so that triangles have two levels.
fn symmetric_red_black<T: Scalar>(executor: &Executor) -> Csr<T> {
    let a = red_black::<f64>(executor, 60);
    let both = a.add(0.5, 0.5, &a.transpose().unwrap()).unwrap();
    both.convert().unwrap()
}

fn product<T: Mixes<T, T>>(factory: &dyn Factory<T>, executor: &Executor, cols: usize) -> Vec<T> {
    let m = made(factory, &symmetric_red_black(executor)).unwrap();
    applied(m.as_ref(), cols)
}

#[test]
fn threads_do_not_change_a_bit() {
    for factory in all::<f64>() {
        let expected = product(factory.as_ref(), &Executor::reference(), 1);
        let [one, three] = [1, 3].map(|threads| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            product(factory.as_ref(), &cpu, 1)
        });
        assert_eq!(one, three, "{factory:?}");
        let difference = largest_difference(&one, &expected);
        assert!(difference < 1e-14, "{factory:?}: {difference}");
    }
}

#[test]
fn many_columns_are_each_alone() {
    let cpu = Executor::cpu_with_threads(2).unwrap();
    for factory in all::<f64>() {
        let together = product(factory.as_ref(), &cpu, 3);
        let m = made(factory.as_ref(), &symmetric_red_black(&cpu)).unwrap();
        for column in 0..3 {
            let of_column = |all: Vec<f64>| all.into_iter().skip(column).step_by(3).collect();
            let x = Vector::from_column(&cpu, of_column(values_for(3 * 3600)));
            let mut y = Vector::zeros_like(&x).unwrap();
            m.apply(&x, &mut y, &Workspace::new()).unwrap();
            let expected: Vec<f64> = of_column(together.clone());
            assert!(largest_difference(&y.to_vec(), &expected) < 1e-14);
        }
    }
}

#[test]
fn conjugate_gradients_need_fewer_iterations_by_the_stronger_ones() {
    // Rows and columns scaled by different powers of two: so that a diagonal is worth something.
    let mut a = laplacian::<f64>(&Executor::cpu(), 30);
    let scale = |row: usize| f64::from(1 << (row * 7919 % 5));
    let columns = a.columns().to_vec();
    for row in 0..900 {
        for place in a.pattern().range(row) {
            a.values_mut()[place] *= scale(row) * scale(columns[place] as usize);
        }
    }
    let iterations = |text: &str| iterations_of(Cg::default(), &a, parsed(text).as_ref());
    // A multiple of the residual is no preconditioner.
    let plain = iterations("chebyshev degree=1 base=identity");
    for factory in symmetric() {
        let iterations = iterations_of(Cg::default(), &a, factory.as_ref());
        assert!(iterations < plain, "{factory:?}: {iterations} of {plain}");
    }
    let jacobi = iterations("jacobi");
    for strong in ["block-jacobi", "ssor", "ic0", "isai kind=spd", "fsai"] {
        let iterations = iterations(strong);
        assert!(iterations < jacobi, "{strong}: {iterations} of {jacobi}");
    }
}

/// A preconditioner, a matrix by its rows, and what is expected of it.
fn cases(text: &str) -> impl Iterator<Item = (Box<dyn Factory<f64>>, Vec<f64>, &str)> {
    text.trim().lines().map(|line| {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let numbers = parts[1].split([' ', ';']).filter(|text| !text.is_empty());
        let dense = numbers.map(|text| text.parse().unwrap()).collect();
        (parsed(parts[0]), dense, parts[2])
    })
}

fn square(at: &Executor, dense: &[f64]) -> Csr<f64> {
    from_dense(at, dense.len().isqrt(), dense)
}

#[test]
fn where_nothing_is_left_out_they_are_the_inverse() {
    let host = Executor::reference();
    for (factory, dense, most) in cases(
        "ic0 | 4 1 2; 1 5 1; 2 1 6 | 1e-14
        ilu0 | 4 1 2; -3 5 1; 2 -1 6 | 1e-14
        ilu0 | 2 -1 0 0; -3 4 1 0; 0 2 5 -1; 0 0 1 3 | 1e-14
        ilu0 sweeps=2 | 2 -1 0; -1 2 -1; 0 -1 2 | 1e-14
        ilu0 sweeps=3 | 2 -1 0; -1 2 -1; 0 -1 2 | 1e-14
        isai | 4 1 2; 1 5 1; 2 1 6 | 1e-14
        isai kind=spd | 4 1 2; 1 5 1; 2 1 6 | 1e-14
        fsai steps=2 | 4 1 2; 1 5 1; 2 1 6 | 1e-14
        fsai steps=0 power=1 | 4 1 2; 1 5 1; 2 1 6 | 1e-14
        block-jacobi block-size=3 | 0 1 2; 3 5 1; -2 1 6 | 1e-14",
    ) {
        let error = error_of(factory.as_ref(), &square(&host, &dense));
        assert!(error < most.parse().unwrap(), "{factory:?}: {error}");
    }
    let ic0 = parsed("ic0");
    assert!(error_of(ic0.as_ref(), &hermitian::<c64>(&host, 3)) < 1e-14);
}

#[test]
fn more_fill_makes_them_better_until_they_are_the_inverse() {
    let host = Executor::reference();
    for (a, all, last) in [
        (
            laplacian(&host, 5),
            "ick level=0\nick\nick level=2\nick level=20",
            1e-13,
        ),
        (
            convection(&host, 5),
            "iluk level=0\niluk\niluk level=2\niluk level=20",
            1e-13,
        ),
        (
            convection(&host, 6),
            "ilut fill=1.0 threshold=1e-4\nilut threshold=1e-4\nilut fill=100.0 threshold=0.0",
            1e-13,
        ),
        (
            convection(&host, 6),
            "ilut fill=100.0 threshold=0.1\nilut fill=100.0",
            1.0,
        ),
        (
            convection(&host, 4),
            "isai\nisai power=2\nisai power=3",
            1.0,
        ),
        (laplacian(&host, 4), "ilu0 sweeps=1\nilu0 sweeps=20", 1.0),
    ] {
        let error = |factory: Box<dyn Factory<f64>>| error_of(factory.as_ref(), &a);
        let errors: Vec<f64> = lines(all).into_iter().map(error).collect();
        let falls = errors.is_sorted_by(|before, after| before > after);
        assert!(
            falls && errors[errors.len() - 1] < last,
            "{all}: {errors:?}"
        );
    }
}

/// Parameters that are refused and matrices without an inverse, by a word of the error.
#[test]
fn what_is_refused_is_named_on_devices_too() {
    for at in [Executor::reference()].into_iter().chain(device()) {
        for (factory, dense, word) in cases(
            "block-direct block-rows=0 | 1 | block-rows
            block-jacobi block-size=0 | 1 | block-size
            block-jacobi block-size=33 | 1 | block-size
            block-jacobi block-size=2 | 1 0 0 0; 0 1 2 0; 0 2 4 0; 0 0 0 0 | row 1 is zero
            hybrid-gs block-rows=0 | 1 | block-rows
            polynomial degree=0 | 1 | degree
            chebyshev lower=1.0 | 1 | lower
            sor omega=0.0 | 1 | omega
            sor omega=2.0 | 1 | omega
            sor sweeps=0 | 1 | sweeps
            jacobi | 1 0; 0 0 | row 1 is zero or missing
            l1-jacobi | 1 1; 0 0 | row 1 is zero or missing
            ic0 shift=-1.0 | 1 | shift
            ic0 | 1 0.5; 0.5 -1 | row 1 is not positive
            ic0 | 1 1e9; 1e9 1 | row 1 is not positive
            ic0 | 0 0.5; 0.5 1 | row 0 is zero or missing
            ic0 | 2 1; 0.5 2 | symmetric (Hermitian) matrix, and entries of this one differ from those opposite by up to 5.0e-1; use ilu0
            ilu0 | 1 2 0; 2 4 1; 0 1 3 | row 1 is zero
            ilu0 | 1 2 0; 2 0 1; 0 1 3 | row 1 is zero or missing
            ilut fill=0.5 | 1 | fill
            ilut threshold=-1.0 | 1 | threshold
            ilut | 1 0; 0 0 | row 1
            parilu | 1 2; 2 4 | row 1
            parilut | 1 2; 2 0 | row 1 is zero or missing
            parilut fill=0.5 | 1 | fill
            parict | 1 2; 2 -3 | row 1
            isai | 1 2; 2 4 | row 0
            isai power=0 | 1 | power
            isai kind=spd | 1 2; 2 1 | row 1
            fsai | 1 2; 2 1 | row 1
            fsai steps=0 power=1 | 1 2; 2 1 | row 1
            fsai | 1 0; 0 -1 | row 1
            fsai steps=0 power=1 | 1 0; 0 -1 | row 1
            fsai | 4 0 0 0; 0 1 0.5 2; 0 0.5 1 0.5; 0 2 0.5 1 | row 3
            fsai | 1 1; 1 0 | row 1 is zero or missing
            fsai step-size=0 | 1 | step-size
            fsai steps=1000 | 1 | steps
            fsai tolerance=-1.0 | 1 | tolerance
            fsai threshold=-1.0 | 1 | threshold
            fsai filter=1.0 | 1 | filter",
        ) {
            let message = made(factory.as_ref(), &square(&at, &dense)).unwrap_err();
            let message = message.to_string();
            assert!(message.contains(word), "{factory:?} on {at:?}: {message}");
        }
        let (omega, sweeps) = (f64::NAN, 1);
        assert!(made(&Sor { omega, sweeps }, &square(&at, &[1.0])).is_err());
        let long = square(&at, &vec![1.0; (LONGEST_ROW + 1).pow(2)]);
        for factory in lines("isai\nfsai steps=0 power=1") {
            let message = made(factory.as_ref(), &long).unwrap_err().to_string();
            assert!(message.contains("512"), "{factory:?} on {at:?}: {message}");
        }
    }
}

/// Applies what the host and a device make of a matrix; returns what the host did for the device.
fn same<T: Mixes<T, T>>(device: &Executor, all: &str, a: &Csr<T>, tolerance: f64) -> String {
    let mut messages_of_all = String::new();
    for factory in lines(all) {
        let made = |at: &Executor| made(factory.as_ref(), &a.copy_to(at).unwrap()).unwrap();
        let here = made(&Executor::reference());
        let (there, message) = with_messages(|| made(device));
        messages_of_all += &message;
        if format!("{here:?}").starts_with("block-jacobi") {
            assert_eq!(format!("{there:?}"), format!("{here:?}"));
        }
        let [found, expected] = [there, here].map(|m| applied(m.as_ref(), 2));
        let size = largest_difference(&expected, &vec![T::default(); expected.len()]);
        let off = largest_difference(&found, &expected);
        assert!(off <= tolerance * size, "{factory:?}: {off} of {size}");
    }
    messages_of_all
}

/// A dense row and column beside a diagonal, which both dominate.
fn arrow(n: usize) -> Csr<f64> {
    let value = |row: usize, column: usize| match row == column {
        true => 2.0,
        false => 1.0 / (n + row.min(column)) as f64,
    };
    let places = (0..n - 1).flat_map(|row| [(row, row), (row, n - 1)]);
    let places = places.chain((0..n).map(|column| (n - 1, column)));
    let entries = places.map(|(row, column)| (row, column, value(row, column)));
    from_entries(&Executor::reference(), n, entries)
}

const GENERAL: &str = "ilu0
    block-jacobi block-size=1
    block-jacobi block-size=3
    block-jacobi block-size=5
    block-jacobi
    block-jacobi block-size=32
    block-jacobi block-size=1 adaptive=true
    block-jacobi block-size=3 adaptive=true
    block-jacobi block-size=5 adaptive=true
    block-jacobi adaptive=true
    block-jacobi block-size=32 adaptive=true";

const FSAI: &str = "fsai
    fsai steps=0
    fsai steps=4 step-size=3 tolerance=0.0
    fsai filter=0.2
    fsai steps=0 power=1
    fsai steps=0 power=2
    fsai steps=0 power=2 threshold=0.1 filter=0.05
    fsai steps=3 power=1";

#[test]
fn devices_make_what_the_host_makes() {
    let Some(device) = device() else { return };
    let host = Executor::reference();
    let built = |spec| gallery::build(spec, &host).unwrap().matrix;
    let mut uneven = built("elasticity:2x2x2");
    for place in 0..uneven.nonzeros() {
        uneven.values_mut()[place] *= 1.0 + (place % 7) as f64 / 5.0;
    }
    // Of many entries that are equal, which are kept is part of it.
    let sweeping = "parilu sweeps=0
        parilu sweeps=1
        parilu
        parilut steps=3 fill=1.0
        parilut steps=3
        parilut steps=3 fill=3.5
        isai
        isai power=2";
    let halves = "paric sweeps=0\nparic sweeps=1\nparic\nparict\nparict fill=1.0";
    // A larger table for the columns of a long row, one in memory of the device, and a system of 299 unknowns there.
    let long = "fsai\nfsai steps=0 power=1";
    for (all, a, tolerance) in [
        (GENERAL, built("convdiff7:5,100"), 1e-9),
        (GENERAL, built("poisson5:600x1"), 1e-9),
        (GENERAL, built("jump7:6,1e6"), 1e-9),
        (GENERAL, red_black(&host, 50), 1e-9), // fronts for several blocks
        (GENERAL, uneven, 1e-9),
        (FSAI, built("jump7:5,1e3"), 1e-10),
        (FSAI, built("aniso5:9,0.01,30"), 1e-10),
        (FSAI, built("poisson27:4"), 1e-10),
        (FSAI, built("elasticity:3x2x2"), 1e-10),
        (long, arrow(300), 1e-10),
        ("fsai", arrow(2500), 1e-10),
        (sweeping, convection(&host, 12), 1e-12),
        (halves, laplacian(&host, 12), 1e-12),
    ] {
        let message = same(&device, all, &a, tolerance);
        assert!(message.is_empty(), "{message}");
    }
    let narrow = "ilu0
        block-jacobi block-size=6 adaptive=true
        fsai steps=0 power=2
        fsai steps=0 power=2 setup=single";
    let a = built("jump7:4,10").convert().unwrap();
    same::<f32>(&device, narrow, &a, 1e-2);
    let a = built("poisson5:6").convert().unwrap();
    same::<f16>(&device, "block-jacobi block-size=4 adaptive=true", &a, 1e-2);
}

#[test]
fn wrong_matrices_are_refused_by_all() {
    let host = Executor::reference();
    for factory in all::<f64>() {
        let wide = Csr::from_canonical(&host, Size::new(1, 2), vec![0, 1], vec![0], vec![1.0]);
        let wide = made(factory.as_ref(), &wide);
        assert_refused!(wide, NotSquare { .. }, "{factory:?}");

        let nan = from_dense(&host, 2, &[1.0, 0.0, f64::NAN, 1.0]);
        let nan = made(factory.as_ref(), &nan);
        assert_refused!(nan, NonFiniteEntry { row: 1, column: 0 }, "{factory:?}");

        let free: Arc<dyn LinOp<f64>> =
            Arc::new(MatrixFree::new(&host, Size::square(3), |x, y, _| {
                y.copy_from(x)
            }));
        let free = factory.generate(&free, &Workspace::new());
        assert_refused!(free, NeedsEntries { .. }, "{factory:?}");

        let no_diagonal = from_dense(&host, 2, &[1.0, 0.0, 1.0, 0.0]);
        let no_diagonal = made(factory.as_ref(), &no_diagonal);
        let names_the_row = match no_diagonal {
            Err(Error::ZeroDiagonal { row, .. }) => row == 1,
            // The whole block may be regular; this one is not.
            Err(Error::BadPivot { row, .. }) => {
                format!("{factory:?}").starts_with("Block") && row < 2
            }
            // Absolute row sums need no diagonal, and a threshold has a pivot of its own.
            Ok(_) => ["L1", "Ilut"]
                .iter()
                .any(|name| format!("{factory:?}").starts_with(name)),
            Err(_) => false,
        };
        assert!(names_the_row, "{factory:?}");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let host = Executor::reference();
    for factory in all::<f64>() {
        let m = made(factory.as_ref(), &laplacian(&host, 3)).unwrap();
        let x = Vector::zeros(&host, 9, 2).unwrap();
        let mut y = Vector::zeros(&host, 9, 1).unwrap();
        let ws = Workspace::new();
        assert!(m.apply(&x, &mut y, &ws).is_err(), "{factory:?}");
        assert!(
            m.apply_transposed(Transpose::Plain, &x, &mut y, &ws)
                .is_err()
        );
    }
}

#[test]
fn every_one_knows_its_bytes() {
    for factory in all::<f64>() {
        let m = made(factory.as_ref(), &laplacian(&Executor::cpu(), 4)).unwrap();
        let footprint = m.footprint();
        assert!(footprint.held >= 16 * size_of::<f16>(), "{factory:?}");
        assert!(footprint.moved >= 16 * size_of::<f16>(), "{factory:?}");
    }
}

#[test]
fn an_empty_matrix_has_an_empty_inverse() {
    for executor in [Executor::reference(), Executor::cpu()] {
        for factory in all::<f64>() {
            let m = made(factory.as_ref(), &from_dense(&executor, 0, &[])).unwrap();
            assert_eq!(m.size(), Size::square(0));
            let x = Vector::zeros(&executor, 0, 1).unwrap();
            m.apply(&x, &mut x.clone(), &Workspace::new()).unwrap();
        }
    }
}
