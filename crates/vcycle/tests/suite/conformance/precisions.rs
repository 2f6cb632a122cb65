//! Products in every combination of matrix, input and output precision.

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use vcycle::vector::{Coefficient, Vector};

use super::matrices::{matrix, shapes, tridiagonal, vector};

/// `A x` and `-A x + y/2` for one combination, equal to the reference's to the bit. The large matrices are left to the
/// tests of formats: there are 88 combinations.
fn combination<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar>(executor: &Executor) {
    let mut shapes = shapes();
    shapes.retain(|(_, _, lengths)| lengths.iter().sum::<usize>() < 10_000);
    for (name, size, lengths) in shapes {
        for cols in [1, 3] {
            let make = |executor: &Executor| matrix::<M>(executor, size, &lengths);
            compare::<M, X, Y>(executor, name, cols, &make);
        }
    }
}

/// The same for the largest matrix and one column.
fn one_column<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar>(executor: &Executor) {
    let shapes = shapes();
    let largest = shapes.iter().rev().max_by_key(|(_, size, _)| size.rows);
    let (name, size, lengths) = largest.expect("there are some");
    let make = |executor: &Executor| matrix::<M>(executor, *size, lengths);
    compare::<M, X, Y>(executor, name, 1, &make);
}

fn compare<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar>(
    executor: &Executor,
    name: &str,
    cols: usize,
    make: &dyn Fn(&Executor) -> Csr<M>,
) {
    let on = |executor: &Executor| {
        let ws = Workspace::new();
        let a = make(executor);
        let size = LinOp::<X, Y>::size(&a);
        let x: Vector<X> = vector(executor, size.cols, cols, 3);
        let mut y: Vector<Y> = vector(executor, size.rows, cols, 5);
        let mut plain = y.clone();
        a.apply(&x, &mut plain, &ws).unwrap();
        let (alpha, beta) = (Coefficient::real(-1.0), Coefficient::real(0.5));
        a.apply_advanced(alpha, &x, beta, &mut y, &ws).unwrap();
        (plain.to_vec(), y.to_vec())
    };
    let same = on(executor) == on(&Executor::reference());
    let kinds = (M::KIND, X::KIND, Y::KIND);
    assert!(same, "{kinds:?} on {name}, {cols} columns");
}

/// Bands in 16 bits, of which devices have two rows for a thread.
pub fn bands_of_halves(executor: &Executor) {
    for n in [1, 64, 95] {
        let name = format!("a band of {n}");
        let halves = |executor: &Executor| tridiagonal::<f16>(executor, n, -1.0, 0.5);
        compare::<f16, f16, f16>(executor, &name, 1, &halves);
        compare::<f16, f64, f32>(executor, &name, 1, &halves);
        let bfloats = |executor: &Executor| tridiagonal::<bf16>(executor, n, -1.0, 0.5);
        compare::<bf16, f32, bf16>(executor, &name, 1, &bfloats);
    }
}

type Case = fn(&Executor);

/// A test for every combination of the types of matrices, inputs and outputs.
macro_rules! combinations {
    ($test:ident; $($m:ty),*; $xs:tt; $ys:tt) => {{
        let mut cases: Vec<Case> = Vec::new();
        $(combinations!(@inputs cases, $test; $m; $xs; $ys);)*
        cases
    }};
    (@inputs $cases:ident, $test:ident; $m:ty; [$($x:ty),*]; $ys:tt) => {
        $(combinations!(@outputs $cases, $test; $m; $x; $ys);)*
    };
    (@outputs $cases:ident, $test:ident; $m:ty; $x:ty; [$($y:ty),*]) => {
        $cases.extend([$($test::<$m, $x, $y> as Case),*]);
    };
}

pub fn all_real_combinations(executor: &Executor) {
    let cases = combinations!(combination;
        f64, f32, f16, bf16; [f64, f32, f16, bf16]; [f64, f32, f16, bf16]);
    cases.iter().for_each(|case| case(executor));
}

/// All of a matrix type on a GPU. On a CPU OpenCL device, where every program takes a second to
/// compile, four, so that any two types meet. One test for each type: compilers of some drivers do
/// one thing at a time in a process.
macro_rules! on_a_device {
    ($($name:ident: $m:ty, [$(($x:ty, $y:ty)),*];)*) => {
        $(pub fn $name(executor: &Executor) {
            let device = executor.device().expect("for devices");
            let cases: Vec<Case> = match device.properties().is_cpu {
                true => vec![$(one_column::<$m, $x, $y>),*],
                false => combinations!(one_column;
                    $m; [f64, f32, f16, bf16]; [f64, f32, f16, bf16]),
            };
            cases.iter().for_each(|case| case(executor));
        })*
    };
}

on_a_device! {
    doubles_on_a_device: f64, [(f64, f64), (f32, f32), (f16, f16), (bf16, bf16)];
    singles_on_a_device: f32, [(f64, f32), (f32, f64), (f16, bf16), (bf16, f16)];
    halves_on_a_device: f16, [(f64, f16), (f32, bf16), (f16, f64), (bf16, f32)];
    bfloats_on_a_device: bf16, [(f64, bf16), (f32, f16), (f16, f32), (bf16, f64)];
}

/// On a CPU OpenCL device every program takes a second to compile: any two types meet once.
pub fn complex_on_a_device(executor: &Executor) {
    one_column::<c64, c64, c64>(executor);
    one_column::<c32, c64, c32>(executor);
    one_column::<c32, c32, c64>(executor);
    one_column::<f32, c64, c64>(executor);
}

pub fn complex_combinations(executor: &Executor) {
    let cases = combinations!(combination;
        f64, f32, f16, bf16, c64, c32; [c64, c32]; [c64, c32]);
    cases.iter().for_each(|case| case(executor));
}
