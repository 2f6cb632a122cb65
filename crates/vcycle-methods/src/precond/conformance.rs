//! Requirements of every preconditioner, tested on all of them.

use std::sync::Arc;

use super::testing::{
    assemble, assemble_transposed, complex_convection, convection, from_dense, hermitian,
    laplacian, largest_difference, made, red_black, values_for,
};
use super::{
    BlockJacobi, Fsai, FsaiSetup, HybridGs, Ic0, Ick, Ilu0, Iluk, Ilut, Isai, IsaiKind, Jacobi,
    L1Jacobi, MulticolourGs, ParIc, ParIct, ParIlu, ParIlut, Sor, Ssor,
};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Factory, LinOp, Size, Transpose};
use crate::matrix::{Csr, Duplicates};
use crate::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use crate::solver::{Cg, Solver};
use crate::vector::Vector;

/// Symmetric (Hermitian) positive definite where the matrix is.
fn symmetric<T: Mixes<T, T>>() -> Vec<Box<dyn Factory<T>>> {
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
fn general<T: Mixes<T, T>>() -> Vec<Box<dyn Factory<T>>> {
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

fn all<T: Mixes<T, T>>() -> Vec<Box<dyn Factory<T>>> {
    general().into_iter().chain(symmetric()).collect()
}

fn check_transposes<T: Mixes<T, T>>(all: Vec<Box<dyn Factory<T>>>, a: &Csr<T>, tolerance: f64) {
    let n = a.size().rows;
    for factory in all {
        let m = made(factory.as_ref(), a).unwrap();
        let matrix = assemble(m.as_ref());
        for mode in [Transpose::Plain, Transpose::Conjugate] {
            let turned = |value: T| match mode {
                Transpose::Plain => value,
                Transpose::Conjugate => T::from_c64(value.to_c64().conj()),
            };
            let transposed = (0..n * n).map(|i| turned(matrix[i % n * n + i / n]));
            let expected: Vec<T> = transposed.collect();
            let found = assemble_transposed(m.as_ref(), mode);
            let difference = largest_difference(&found, &expected);
            assert!(difference < tolerance, "{factory:?} {mode:?}: {difference}");
        }
    }
}

#[test]
fn transposed_applications_are_the_transposes() {
    let host = Executor::reference();
    check_transposes::<f64>(general(), &convection(&host, 5), 1e-14);
    check_transposes::<c64>(general(), &complex_convection(&host, 5), 1e-14);
    check_transposes::<c64>(symmetric(), &hermitian(&host, 12), 1e-14);
    check_transposes::<f32>(general(), &convection(&host, 5), 1e-6);
    check_transposes::<c32>(general(), &complex_convection(&host, 5), 1e-6);
    check_transposes::<f16>(symmetric(), &laplacian(&host, 5), 2e-2);
    check_transposes::<bf16>(symmetric(), &laplacian(&host, 5), 2e-1);
}

#[test]
fn symmetric_ones_are_hermitian_and_positive() {
    let host = Executor::reference();
    let n = 14;
    for factory in symmetric::<c64>() {
        let m = made(factory.as_ref(), &hermitian(&host, n)).unwrap();
        let matrix = assemble(m.as_ref());
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
    let x = Vector::from_rows(executor, cols, values_for(3600 * cols)).unwrap();
    let mut y = Vector::zeros_like(&x).unwrap();
    m.apply(&x, &mut y, &Workspace::new()).unwrap();
    y.to_vec()
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

fn cg_iterations(factory: Option<&dyn Factory<f64>>) -> usize {
    let cpu = Executor::cpu();
    // Rows and columns scaled by different powers of two: so that a diagonal is worth something.
    let mut a = laplacian::<f64>(&cpu, 30);
    let scale = |row: usize| f64::from(1 << (row * 7919 % 5));
    let columns = a.columns().to_vec();
    for row in 0..900 {
        for place in a.pattern().range(row) {
            a.values_mut()[place] *= scale(row) * scale(columns[place] as usize);
        }
    }
    let mut solver = Solver::new(Cg::default(), Arc::new(a)).unwrap();
    if let Some(factory) = factory {
        solver = solver.preconditioned_by(factory).unwrap();
    }
    let b = Vector::filled(&cpu, 900, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert!(outcome.converged(), "{factory:?}: {outcome}");
    outcome.iterations
}

#[test]
fn conjugate_gradients_need_fewer_iterations() {
    let plain = cg_iterations(None);
    for factory in symmetric() {
        let iterations = cg_iterations(Some(factory.as_ref()));
        assert!(iterations < plain, "{factory:?}: {iterations} of {plain}");
    }
}

#[test]
fn on_a_laplacian_the_stronger_ones_win() {
    let strong: [&dyn Factory<f64>; 5] = [
        &BlockJacobi::default(),
        &Ssor::default(),
        &Ic0::default(),
        &Isai {
            kind: IsaiKind::Spd,
            power: 1,
        },
        &Fsai::default(),
    ];
    let jacobi = cg_iterations(Some(&Jacobi::default()));
    for factory in strong {
        let iterations = cg_iterations(Some(factory));
        assert!(iterations < jacobi, "{factory:?}: {iterations} of {jacobi}");
    }
}

/// A matrix nobody can look into.
#[derive(Debug)]
struct MatrixFree(Executor);

impl LinOp<f64> for MatrixFree {
    fn size(&self) -> Size {
        Size::square(3)
    }
    fn executor(&self) -> &Executor {
        &self.0
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, _ws: &Workspace) -> Result<()> {
        y.copy_from(x)
    }
}

#[test]
fn wrong_matrices_are_refused_by_all() {
    let host = Executor::reference();
    for factory in all::<f64>() {
        let wide = Csr::from_arrays(
            &host,
            Size::new(1, 2),
            vec![0, 1],
            vec![0],
            vec![1.0],
            Duplicates::Refuse,
        );
        let wide = made(factory.as_ref(), &wide.unwrap());
        assert!(matches!(wide, Err(Error::NotSquare { .. })), "{factory:?}");

        let nan = from_dense(&host, 2, &[1.0, 0.0, f64::NAN, 1.0]);
        let nan = made(factory.as_ref(), &nan);
        assert!(
            matches!(nan, Err(Error::NonFiniteEntry { row: 1, column: 0 })),
            "{factory:?}"
        );

        let free: Arc<dyn LinOp<f64>> = Arc::new(MatrixFree(host.clone()));
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
