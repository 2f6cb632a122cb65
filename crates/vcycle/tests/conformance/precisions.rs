//! Products in every combination of matrix, input and output precision.

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use vcycle::vector::{Coefficient, Vector};

use crate::matrices::{Shape, matrix, shapes, vector};

/// `A x` and `-A x + y/2` for one combination, equal to the reference's to the bit.
fn combination<M, X, Y>(executor: &Executor)
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    on_shapes::<M, X, Y>(executor, &shapes(), &[1, 3]);
}

/// The same for the largest matrix and one column.
fn one_column<M, X, Y>(executor: &Executor)
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    let mut shapes = shapes();
    shapes.sort_by_key(|(_, size, _)| std::cmp::Reverse(size.rows));
    on_shapes::<M, X, Y>(executor, &shapes[..1], &[1]);
}

fn on_shapes<M, X, Y>(executor: &Executor, shapes: &[Shape], columns: &[usize])
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    for (name, size, lengths) in shapes {
        for &cols in columns {
            let on = |executor: &Executor| {
                let ws = Workspace::new();
                let a: Csr<M> = matrix(executor, *size, lengths);
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
        $($cases.push($test::<$m, $x, $y>);)*
    };
}

pub fn all_real_combinations(executor: &Executor) {
    let cases = combinations!(combination;
        f64, f32, f16, bf16; [f64, f32, f16, bf16]; [f64, f32, f16, bf16]);
    cases.iter().for_each(|case| case(executor));
}

/// All of them on a GPU, by many threads: most of the time goes into compilers. On a processor that
/// plays a GPU, where every program takes a second to compile, sixteen in which any two types meet.
pub fn combinations_on_a_device(executor: &Executor) {
    let Executor::Gpu(gpu) = executor else {
        unreachable!("for devices")
    };
    if !gpu.device().properties().is_cpu {
        let cases = combinations!(one_column;
            f64, f32, f16, bf16; [f64, f32, f16, bf16]; [f64, f32, f16, bf16]);
        return std::thread::scope(|scope| {
            for cases in cases.chunks(4) {
                scope.spawn(|| cases.iter().for_each(|case| case(executor)));
            }
        });
    }
    macro_rules! square {
        ($($m:ty, $x:ty, $y:ty;)*) => { $(one_column::<$m, $x, $y>(executor);)* };
    }
    square! {
        f64, f64, f64; f64, f32, f32; f64, f16, f16; f64, bf16, bf16;
        f32, f64, f32; f32, f32, f64; f32, f16, bf16; f32, bf16, f16;
        f16, f64, f16; f16, f32, bf16; f16, f16, f64; f16, bf16, f32;
        bf16, f64, bf16; bf16, f32, f16; bf16, f16, f32; bf16, bf16, f64;
    }
}

pub fn complex_combinations(executor: &Executor) {
    let cases = combinations!(combination;
        f64, f32, f16, bf16, c64, c32; [c64, c32]; [c64, c32]);
    cases.iter().for_each(|case| case(executor));
}
