//! Requirements of every preconditioner, tested on all of them.

use std::sync::Arc;

use super::pattern::LONGEST_ROW;
use super::testing::{
    applied, assemble, convection, error_of, from_dense, from_entries, hermitian, iterations_of,
    laplacian, largest_difference, made, of, red_black, said, values_for,
};
use super::{
    BlockDirect, BlockJacobi, ChebyshevPolynomial, Fsai, FsaiSetup, HybridGs, Ic0, Ick, Ilu0, Iluk,
    Ilut, Isai, IsaiKind, Jacobi, L1Jacobi, MulticolourGs, ParIc, ParIct, ParIlu, ParIlut,
    Polynomial, Sor, Ssor,
};
use crate::error::Error;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::linop::{Factory, LinOp, MatrixFree, Size, Transpose};
use crate::matrix::Csr;
use crate::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use crate::solver::Cg;
use crate::vector::Vector;
use vcycle_core::testing::device;

type Factories<T> = Vec<Box<dyn Factory<T>>>;

/// Symmetric (Hermitian) positive definite where the matrix is.
fn symmetric<T: Mixes<T, T>>() -> Factories<T> {
    let (omega, sweeps, kind) = (1.3, 2, IsaiKind::Spd);
    let (block_size, adaptive) = (5, true);
    let (block_rows, symmetric) = (6, true);
    vec![
        Box::new(Jacobi { weight: 0.9 }),
        Box::new(L1Jacobi::default()),
        Box::new(BlockJacobi::default()),
        Box::new(BlockJacobi {
            block_size,
            adaptive,
            ..BlockJacobi::default()
        }),
        Box::new(Ssor::default()),
        Box::new(Ssor { omega, sweeps }),
        Box::new(MulticolourGs {
            omega,
            sweeps,
            symmetric,
        }),
        Box::new(HybridGs {
            block_rows,
            sweeps: 1,
            symmetric,
        }),
        Box::new(Ic0::default()),
        Box::new(Ick::default()),
        Box::new(ParIc::default()),
        Box::new(ParIct::default()),
        Box::new(Isai { kind, power: 1 }),
        Box::new(Isai { kind, power: 2 }),
        Box::new(Fsai::default()),
        Box::new(Fsai {
            power: 1,
            step_size: 3,
            filter: 0.05,
            setup: FsaiSetup::Single,
            ..Fsai::default()
        }),
    ]
}

/// For any matrix.
fn general<T: Mixes<T, T>>() -> Factories<T> {
    let (omega, sweeps, kind) = (1.3, 3, IsaiKind::General);
    vec![
        Box::new(Jacobi { weight: 0.9 }),
        Box::new(L1Jacobi::default()),
        Box::new(BlockJacobi::default()),
        Box::new(Sor::default()),
        Box::new(Sor { omega, sweeps }),
        Box::new(Ssor { omega, sweeps }),
        Box::new(MulticolourGs::default()),
        Box::new(HybridGs {
            block_rows: 500,
            sweeps: 1,
            symmetric: false,
        }),
        Box::new(HybridGs {
            block_rows: 4,
            sweeps,
            symmetric: false,
        }),
        Box::new(Ilu0::default()),
        Box::new(Ilu0 { sweeps: 2, isai: 0 }),
        Box::new(Ilu0 { sweeps: 0, isai: 1 }),
        Box::new(Iluk::default()),
        Box::new(Ilut::default()),
        Box::new(ParIlu::default()),
        Box::new(ParIlut::default()),
        Box::new(Isai::default()),
        Box::new(Isai { kind, power: 2 }),
    ]
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
    let iterations = |factory: &dyn Factory<f64>| iterations_of(Cg::default(), &a, factory);
    // Ones in the place of the diagonal are none.
    let plain = iterations(&of::<ChebyshevPolynomial>(
        r#"{"degree": 1, "base": "identity"}"#,
    ));
    for factory in symmetric() {
        let iterations = iterations(factory.as_ref());
        assert!(iterations < plain, "{factory:?}: {iterations} of {plain}");
    }
    let jacobi = iterations(&Jacobi::default());
    let strong: [&dyn Factory<f64>; 5] = [
        &BlockJacobi::default(),
        &Ssor::default(),
        &Ic0::default(),
        &of::<Isai>(r#"{"kind": "spd"}"#),
        &Fsai::default(),
    ];
    for factory in strong {
        let iterations = iterations(factory);
        assert!(iterations < jacobi, "{factory:?}: {iterations} of {jacobi}");
    }
}

const FULL: [f64; 9] = [4.0, 1.0, 2.0, 1.0, 5.0, 1.0, 2.0, 1.0, 6.0];

#[test]
fn where_nothing_is_left_out_they_are_the_inverse() {
    let host = Executor::reference();
    let line = [2.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 2.0];
    let tridiagonal = [
        2.0, -1.0, 0.0, 0.0, -3.0, 4.0, 1.0, 0.0, 0.0, 2.0, 5.0, -1.0, 0.0, 0.0, 1.0, 3.0,
    ];
    let without_pivot = [0.0, 1.0, 2.0, 3.0, 5.0, 1.0, -2.0, 1.0, 6.0];
    let cases: &[(&dyn Factory<f64>, &[f64])] = &[
        (&Ic0::default(), &FULL),
        (
            &Ilu0::default(),
            &[4.0, 1.0, 2.0, -3.0, 5.0, 1.0, 2.0, -1.0, 6.0],
        ),
        (&Ilu0::default(), &tridiagonal),
        // As many sweeps as rows depend on each other.
        (&Ilu0 { sweeps: 2, isai: 0 }, &line),
        (&Ilu0 { sweeps: 3, isai: 0 }, &line),
        (&Isai::default(), &FULL),
        (&of::<Isai>(r#"{"kind": "spd"}"#), &FULL),
        (&of::<Fsai>(r#"{"steps": 2}"#), &FULL),
        (&Fsai::of_power(1), &FULL),
        (&of::<BlockJacobi>(r#"{"block-size": 3}"#), &without_pivot),
    ];
    for (factory, dense) in cases {
        let a = from_dense(&host, dense.len().isqrt(), dense);
        assert!(error_of(*factory, &a) < 1e-14, "{factory:?}");
    }
    assert!(error_of(&Ic0::default(), &hermitian::<c64>(&host, 3)) < 1e-14);
    let one = Ilu0 { sweeps: 1, isai: 0 };
    assert!(error_of(&one, &from_dense(&host, 3, &line)) > 0.1);
}

#[test]
fn more_fill_makes_them_better_until_they_are_the_inverse() {
    let host = Executor::reference();
    let ick = |level| Box::new(Ick { level }) as Box<dyn Factory<f64>>;
    let iluk = |level: usize| {
        let iluk = of::<Iluk>(&format!(r#"{{"level": {level}}}"#));
        Box::new(iluk) as Box<dyn Factory<f64>>
    };
    let ilut = |(fill, threshold): (f64, f64)| {
        let text = format!(r#"{{"fill": {fill:?}, "threshold": {threshold:?}}}"#);
        Box::new(of::<Ilut>(&text)) as Box<dyn Factory<f64>>
    };
    let isai = |power: usize| {
        let isai = of::<Isai>(&format!(r#"{{"power": {power}}}"#));
        Box::new(isai) as Box<dyn Factory<f64>>
    };
    for (a, factories, last) in [
        (laplacian(&host, 5), [0, 1, 2, 20].map(ick).into(), 1e-13),
        (convection(&host, 5), [0, 1, 2, 20].map(iluk).into(), 1e-13),
        (
            convection(&host, 6),
            [(1.0, 1e-4), (2.0, 1e-4), (100.0, 0.0)].map(ilut).into(),
            1e-13,
        ),
        (
            convection(&host, 6),
            Factories::from([(100.0, 1e-1), (100.0, 1e-3)].map(ilut)),
            1.0,
        ),
        (convection(&host, 4), [1, 2, 3].map(isai).into(), 1.0),
    ] {
        let error = |factory: &Box<dyn Factory<f64>>| error_of(factory.as_ref(), &a);
        let errors: Vec<f64> = factories.iter().map(error).collect();
        let falls = errors.is_sorted_by(|before, after| before > after);
        assert!(falls && errors[errors.len() - 1] < last, "{errors:?}");
    }
}

/// Parameters that are refused and matrices without an inverse, by a word of the error.
#[test]
fn what_is_refused_is_named_on_devices_too() {
    let (sweeps, nan) = (1, f64::NAN);
    let long = vec![1.0; (LONGEST_ROW + 1).pow(2)];
    let indefinite = [1.0, 2.0, 2.0, 1.0];
    let singular = [1.0, 2.0, 2.0, 4.0];
    let (spd, ic0) = (of::<Isai>(r#"{"kind": "spd"}"#), Ic0::default());
    let asymmetric = "needs a symmetric (Hermitian) matrix, and entries of this one differ from those opposite by up \
                      to 5.0e-1; use ilu0 instead";
    let of_blocks = of::<BlockJacobi>(r#"{"block-size": 2}"#);
    let block = [
        1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ];
    let later = [
        4.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 2.0, 0.0, 0.5, 1.0, 0.5, 0.0, 2.0, 0.5, 1.0,
    ];
    let cases: &[(&dyn Factory<f64>, &[f64], &str)] = &[
        (&BlockDirect { block_rows: 0 }, &[1.0], "block-rows"),
        (
            &of::<BlockJacobi>(r#"{"block-size": 0}"#),
            &[1.0],
            "block-size",
        ),
        (
            &of::<BlockJacobi>(r#"{"block-size": 33}"#),
            &[1.0],
            "block-size",
        ),
        (&of_blocks, &block, "row 1 is zero"),
        (
            &of::<HybridGs>(r#"{"block-rows": 0}"#),
            &[1.0],
            "block-rows",
        ),
        (&of::<Polynomial>(r#"{"degree": 0}"#), &[1.0], "degree"),
        (
            &of::<ChebyshevPolynomial>(r#"{"lower": 1.0}"#),
            &[1.0],
            "lower",
        ),
        (&of::<Sor>(r#"{"omega": 0.0}"#), &[1.0], "omega"),
        (&of::<Sor>(r#"{"omega": 2.0}"#), &[1.0], "omega"),
        (&Sor { omega: nan, sweeps }, &[1.0], "omega"),
        (&of::<Sor>(r#"{"sweeps": 0}"#), &[1.0], "sweeps"),
        (
            &Jacobi::default(),
            &[1.0, 0.0, 0.0, 0.0],
            "row 1 is zero or missing",
        ),
        (
            &L1Jacobi::default(),
            &[1.0, 1.0, 0.0, 0.0],
            "row 1 is zero or missing",
        ),
        (&Ic0 { shift: -1.0 }, &[1.0], "shift"),
        (&ic0, &[1.0, 0.5, 0.5, -1.0], "row 1 is not positive"),
        (&ic0, &[1.0, 1e9, 1e9, 1.0], "row 1 is not positive"),
        (&ic0, &[0.0, 0.5, 0.5, 1.0], "row 0 is zero or missing"),
        (&ic0, &[2.0, 1.0, 0.5, 2.0], asymmetric),
        (
            &Ilu0::default(),
            &[1.0, 2.0, 0.0, 2.0, 4.0, 1.0, 0.0, 1.0, 3.0],
            "row 1 is zero",
        ),
        (
            &Ilu0::default(),
            &[1.0, 2.0, 2.0, 0.0],
            "row 1 is zero or missing",
        ),
        (&of::<Ilut>(r#"{"fill": 0.5}"#), &[1.0], "fill"),
        (&of::<Ilut>(r#"{"threshold": -1.0}"#), &[1.0], "threshold"),
        (&Ilut::default(), &[1.0, 0.0, 0.0, 0.0], "row 1"),
        (&ParIlu::default(), &singular, "row 1"),
        (
            &ParIlut::default(),
            &[1.0, 2.0, 2.0, 0.0],
            "row 1 is zero or missing",
        ),
        (&of::<ParIlut>(r#"{"fill": 0.5}"#), &[1.0], "fill"),
        (&ParIct::default(), &[1.0, 2.0, 2.0, -3.0], "row 1"),
        (&Isai::default(), &singular, "row 0"),
        (&spd, &indefinite, "row 1"),
        (&Isai::default(), &long, "512"),
        (&of::<Isai>(r#"{"power": 0}"#), &[1.0], "power"),
        (&Fsai::default(), &indefinite, "row 1"),
        (&Fsai::of_power(1), &indefinite, "row 1"),
        (&Fsai::default(), &[1.0, 0.0, 0.0, -1.0], "row 1"),
        (&Fsai::of_power(1), &[1.0, 0.0, 0.0, -1.0], "row 1"),
        (&Fsai::default(), &later, "row 3"),
        (
            &Fsai::default(),
            &[1.0, 1.0, 1.0, 0.0],
            "row 1 is zero or missing",
        ),
        (&Fsai::of_power(1), &long, "512"),
        (&of::<Fsai>(r#"{"step-size": 0}"#), &[1.0], "step-size"),
        (&of::<Fsai>(r#"{"steps": 1000}"#), &[1.0], "steps"),
        (&of::<Fsai>(r#"{"tolerance": -1.0}"#), &[1.0], "tolerance"),
        (&of::<Fsai>(r#"{"threshold": -1.0}"#), &[1.0], "threshold"),
        (&of::<Fsai>(r#"{"filter": 1.0}"#), &[1.0], "filter"),
    ];
    for at in [Executor::reference()].into_iter().chain(device()) {
        for (factory, dense, word) in cases {
            let a = from_dense(&at, dense.len().isqrt(), dense);
            let told = made(*factory, &a).unwrap_err().to_string();
            assert!(told.contains(word), "{factory:?} on {at:?}: {told}");
        }
    }
}

/// Applies what the host and a device make of a matrix; returns what the host did for the device.
fn same<T: Mixes<T, T>>(
    device: &Executor,
    factories: &Factories<T>,
    a: &Csr<T>,
    tolerance: f64,
) -> String {
    let mut said_of_all = String::new();
    for factory in factories {
        let made = |at: &Executor| made(factory.as_ref(), &a.copy_to(at).unwrap()).unwrap();
        let here = made(&Executor::reference());
        let (there, told) = said(|| made(device));
        said_of_all += &told;
        if format!("{here:?}").starts_with("block-jacobi") {
            assert_eq!(format!("{there:?}"), format!("{here:?}"));
        }
        let [found, expected] = [there, here].map(|m| applied(m.as_ref(), 2));
        let size = largest_difference(&expected, &vec![T::default(); expected.len()]);
        let off = largest_difference(&found, &expected);
        assert!(off <= tolerance * size, "{factory:?}: {off} of {size}");
    }
    said_of_all
}

/// A dense row and column beside a diagonal, which both dominate.
fn arrow(n: usize) -> Csr<f64> {
    let value = |row: usize, column: usize| match row == column {
        true => 2.0,
        false => 1.0 / (n + row.min(column)) as f64,
    };
    let columns = |row: usize| {
        if row + 1 < n {
            vec![row, n - 1]
        } else {
            (0..n).collect()
        }
    };
    let entries = (0..n).flat_map(|row| columns(row).into_iter().map(move |column| (row, column)));
    let entries = entries.map(|(row, column)| (row, column, value(row, column)));
    from_entries(&Executor::reference(), n, entries)
}

fn parsed<T: Mixes<T, T>, P: Factory<T> + serde::de::DeserializeOwned + 'static>(
    all: &[&str],
) -> Factories<T> {
    let one = |text: &&str| Box::new(of::<P>(text)) as Box<dyn Factory<T>>;
    all.iter().map(one).collect()
}

#[test]
fn devices_make_what_the_host_makes() {
    let Some(device) = device() else { return };
    let host = Executor::reference();
    let built = |spec| gallery::build(spec, &host).unwrap().matrix;
    let blocks = [1, 3, 5, 8, 32].into_iter().flat_map(|block_size| {
        [false, true].map(|adaptive| {
            let text = format!(r#"{{"block-size": {block_size}, "adaptive": {adaptive}}}"#);
            Box::new(of::<BlockJacobi>(&text)) as Box<dyn Factory<f64>>
        })
    });
    let mut general: Factories<f64> = blocks.collect();
    general.push(Box::new(Ilu0::default()));
    for a in [
        built("convdiff7:5,100"),
        built("poisson5:600x1"),
        built("jump7:6,1e6"),
        red_black(&host, 50), // fronts for several blocks
    ] {
        assert!(same(&device, &general, &a, 1e-9).is_empty());
    }
    let fsai: Factories<f64> = parsed::<f64, Fsai>(&[
        "{}",
        r#"{"steps": 0}"#,
        r#"{"steps": 4, "step-size": 3, "tolerance": 0.0}"#,
        r#"{"filter": 0.2}"#,
        r#"{"steps": 0, "power": 1}"#,
        r#"{"steps": 0, "power": 2}"#,
        r#"{"steps": 0, "power": 2, "threshold": 0.1, "filter": 0.05}"#,
        r#"{"steps": 3, "power": 1}"#,
    ]);
    for spec in [
        "jump7:5,1e3",
        "aniso5:9,0.01,30",
        "poisson27:4",
        "elasticity:3x2x2",
    ] {
        assert!(same(&device, &fsai, &built(spec), 1e-10).is_empty());
    }
    // A larger table for the columns of a long row, one in memory of the device, and a system of 299 unknowns there.
    let grown: Factories<f64> = parsed::<f64, Fsai>(&["{}"]);
    let fixed: Factories<f64> = parsed::<f64, Fsai>(&[r#"{"steps": 0, "power": 1}"#]);
    for (factories, n) in [(&grown, 300), (&grown, 2500), (&fixed, 300)] {
        same(&device, factories, &arrow(n), 1e-10);
    }
    let mut uneven = built("elasticity:2x2x2");
    for place in 0..uneven.nonzeros() {
        uneven.values_mut()[place] *= 1.0 + (place % 7) as f64 / 5.0;
    }
    same(&device, &general, &uneven, 1e-9);
    // Of many entries that are equal, which are kept is part of it.
    let mut sweeping = parsed::<f64, ParIlu>(&[r#"{"sweeps": 0}"#, r#"{"sweeps": 1}"#, "{}"]);
    sweeping.extend(parsed::<f64, ParIlut>(&[
        r#"{"steps": 3, "fill": 1.0}"#,
        r#"{"steps": 3}"#,
        r#"{"steps": 3, "fill": 3.5}"#,
    ]));
    sweeping.extend(parsed::<f64, Isai>(&["{}", r#"{"power": 2}"#]));
    assert!(same(&device, &sweeping, &convection(&host, 12), 1e-12).is_empty());
    let mut halves = parsed::<f64, ParIc>(&[r#"{"sweeps": 0}"#, r#"{"sweeps": 1}"#, "{}"]);
    halves.extend(parsed::<f64, ParIct>(&["{}", r#"{"fill": 1.0}"#]));
    assert!(same(&device, &halves, &laplacian(&host, 12), 1e-12).is_empty());
    let narrow: Factories<f32> = vec![
        Box::new(Ilu0::default()),
        Box::new(of::<BlockJacobi>(r#"{"block-size": 6, "adaptive": true}"#)),
        Box::new(Fsai::of_power(2)),
        Box::new(of::<Fsai>(r#"{"steps": 0, "power": 2, "setup": "single"}"#)),
    ];
    let a = built("jump7:4,10").convert().unwrap();
    same::<f32>(&device, &narrow, &a, 1e-2);
    let half: Factories<f16> =
        parsed::<f16, BlockJacobi>(&[r#"{"block-size": 4, "adaptive": true}"#]);
    same::<f16>(
        &device,
        &half,
        &built("poisson5:6").convert().unwrap(),
        1e-2,
    );
}

#[test]
fn wrong_matrices_are_refused_by_all() {
    let host = Executor::reference();
    for factory in all::<f64>() {
        let wide = Csr::from_canonical(&host, Size::new(1, 2), vec![0, 1], vec![0], vec![1.0]);
        let wide = made(factory.as_ref(), &wide);
        assert!(matches!(wide, Err(Error::NotSquare { .. })), "{factory:?}");

        let nan = from_dense(&host, 2, &[1.0, 0.0, f64::NAN, 1.0]);
        let nan = made(factory.as_ref(), &nan);
        assert!(
            matches!(nan, Err(Error::NonFiniteEntry { row: 1, column: 0 })),
            "{factory:?}"
        );

        let free: Arc<dyn LinOp<f64>> =
            Arc::new(MatrixFree::new(&host, Size::square(3), |x, y, _| {
                y.copy_from(x)
            }));
        let free = factory.generate(&free, &Workspace::new());
        assert!(
            matches!(free, Err(Error::NeedsEntries { .. })),
            "{factory:?}"
        );

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

#[test]
fn parameters_are_read_with_defaults_and_unknown_keys_refused() {
    let isai: Isai = serde_json::from_str(r#"{"kind": "spd"}"#).unwrap();
    assert_eq!((isai.kind, isai.power), (IsaiKind::Spd, 1));
    let blocks: BlockJacobi = serde_json::from_str(r#"{"block-size": 4}"#).unwrap();
    assert_eq!(blocks.block_size, 4);
    assert!(serde_json::from_str::<Sor>(r#"{"omegas": 1}"#).is_err());
}
