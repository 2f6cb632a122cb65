//! Products in every combination of matrix, input and output precision.

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use vcycle::vector::{Coefficient, Vector};

use crate::matrices::{matrix, shapes, vector};

/// `A x` and `-A x + y/2` for one combination, equal to the reference's to the bit.
fn combination<M, X, Y>(executor: &Executor)
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    for (name, size, lengths) in shapes() {
        for cols in [1, 3] {
            let on = |executor: &Executor| {
                let ws = Workspace::new();
                let a: Csr<M> = matrix(executor, size, &lengths);
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

macro_rules! combinations {
    ($executor:expr; $($m:ty),*; $xs:tt; $ys:tt) => {
        $(combinations!(@inputs $executor; $m; $xs; $ys);)*
    };
    (@inputs $executor:expr; $m:ty; [$($x:ty),*]; $ys:tt) => {
        $(combinations!(@outputs $executor; $m; $x; $ys);)*
    };
    (@outputs $executor:expr; $m:ty; $x:ty; [$($y:ty),*]) => {
        $(combination::<$m, $x, $y>($executor);)*
    };
}

pub fn all_real_combinations(executor: &Executor) {
    combinations!(executor; f64, f32, f16, bf16; [f64, f32, f16, bf16]; [f64, f32, f16, bf16]);
}

pub fn complex_combinations(executor: &Executor) {
    combinations!(executor; f64, f32, f16, bf16, c64, c32; [c64, c32]; [c64, c32]);
}
