//! Vector operations.

use vcycle::executor::Executor;
use vcycle::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use vcycle::vector::{Coefficient, Scalars, Vector};

use super::matrices::vector;

const SIZES: [(usize, usize); 7] = [
    (0, 1),
    (1, 1),
    (5, 3),
    (17, 1),
    (4099, 2),
    (40_003, 1),
    (6_000, 5),
];

/// A check of two types, for all pairs of them.
macro_rules! all_pairs {
    ($check:ident($executor:expr); $($a:ty),*; $bs:tt) => {
        $(all_pairs!(@with $check($executor); $a; $bs);)*
    };
    (@with $check:ident($executor:expr); $a:ty; [$($b:ty),*]) => {
        $($check::<$a, $b>($executor);)*
    };
}

/// `operation` on this executor gives the bits it gives on the reference.
fn same<T: Scalar>(
    executor: &Executor,
    (rows, cols): (usize, usize),
    operation: impl Fn(&Vector<T>, &mut Vector<T>),
) {
    let on = |executor: &Executor| {
        let x = vector(executor, rows, cols, 3);
        let mut y = vector(executor, rows, cols, 5);
        operation(&x, &mut y);
        y.to_vec()
    };
    assert_eq!(on(executor), on(&Executor::reference()), "{rows} x {cols}");
}

fn elementwise<T: Mixes<T, T>>(executor: &Executor) {
    for size in SIZES {
        for (a, b) in [
            (1.0, 1.0),
            (0.5, 0.0),
            (0.0, 2.0),
            (-1.0, 0.25),
            (0.0, 1.0),
            (0.0, 0.0),
        ] {
            same::<T>(executor, size, |x, y| {
                y.axpby(Coefficient::real(a), x, Coefficient::real(b))
                    .unwrap();
            });
            for conjugate in [false, true] {
                same::<T>(executor, size, |x, y| {
                    let d = vector::<T>(x.executor(), x.rows(), 1, 7);
                    let (a, b) = (Coefficient::real(a), Coefficient::real(b));
                    y.combine_rows(a, (&d, conjugate), x, b).unwrap();
                });
            }
        }
        same::<T>(executor, size, |x, y| {
            y.axpy(Coefficient::real(-2.0), x).unwrap()
        });
        same::<T>(executor, size, |_, y| {
            y.scale(Coefficient::real(0.5)).unwrap()
        });
        same::<T>(executor, size, |x, y| y.copy_from(x).unwrap());
        same::<T>(executor, size, |_, y| y.fill(T::default()).unwrap());
    }
}

pub fn axpby_scale_and_fill(executor: &Executor) {
    elementwise::<f64>(executor);
    elementwise::<f32>(executor);
    elementwise::<f16>(executor);
    elementwise::<bf16>(executor);
}

pub fn complex_axpby_scale_and_fill(executor: &Executor) {
    elementwise::<c64>(executor);
    elementwise::<c32>(executor);
}

fn scaled_rows<D: Mixes<T, T>, T: Scalar>(executor: &Executor) {
    for size in SIZES {
        same::<T>(executor, size, |x, y| {
            let d = vector::<D>(x.executor(), x.rows(), 1, 7);
            y.scale_rows(&d, false, x).unwrap();
        });
    }
}

pub fn rows_of_other_types(executor: &Executor) {
    all_pairs!(scaled_rows(executor); f64, f32, f16, bf16; [f64, f32, f16, bf16]);
}

fn dots<T: Scalar>(executor: &Executor) {
    for (rows, cols) in SIZES {
        let on = |executor: &Executor| {
            let x = vector::<T>(executor, rows, cols, 3);
            let mut y = vector::<T>(executor, rows, cols, 5);
            let scalars = || Scalars::<T>::filled(executor, cols, T::default().load()).unwrap();
            let [mut dot, mut with_y, mut with_x, mut norm] = std::array::from_fn(|_| scalars());
            let plain = y.clone();
            y.flip_signs(&plain).unwrap();
            x.dot(&y, &mut dot).unwrap();
            x.dot2(&y, &x, &mut with_y, &mut with_x).unwrap();
            y.axpy_norm(-Coefficient::one(), &x, &mut norm).unwrap();
            let results = [dot, with_y, with_x, norm];
            let results = results.map(|scalars| scalars.host().unwrap().to_vec());
            (results, x.norms().unwrap(), y.to_vec())
        };
        assert_eq!(on(executor), on(&Executor::reference()), "{rows} x {cols}");
    }
}

pub fn reductions(executor: &Executor) {
    dots::<f64>(executor);
    dots::<f32>(executor);
    dots::<f16>(executor);
    dots::<bf16>(executor);
}

pub fn complex_reductions(executor: &Executor) {
    dots::<c64>(executor);
    dots::<c32>(executor);
}

fn converts<S: Scalar, T: Scalar>(executor: &Executor) {
    for (rows, cols) in SIZES {
        let x = vector::<S>(executor, rows, cols, 9);
        let mut y = Vector::<T>::zeros_like(&x).unwrap();
        y.copy_from(&x).unwrap();
        let expected: Vec<T> = x
            .to_vec()
            .iter()
            .map(|&v| vcycle::scalar::convert(v))
            .collect();
        assert_eq!(y.to_vec(), expected, "{} to {}", S::KIND, T::KIND);
    }
}

pub fn conversions(executor: &Executor) {
    all_pairs!(converts(executor); f64, f32, f16, bf16; [f64, f32, f16, bf16]);
}

pub fn complex_conversions(executor: &Executor) {
    all_pairs!(converts(executor); f64, f32, f16, bf16, c64, c32; [c64, c32]);
}

/// A few of them, where every pair is a program to compile.
pub fn complex_conversions_on_a_device(executor: &Executor) {
    converts::<c64, c32>(executor);
    converts::<c32, c64>(executor);
    converts::<f64, c64>(executor);
    converts::<f16, c32>(executor);
}

pub fn zero_coefficients(executor: &Executor) {
    for cols in [1, 3] {
        let nan = Vector::<f64>::filled(executor, 50, cols, f64::NAN).unwrap();
        let one = Vector::<f64>::filled(executor, 50, cols, 1.0).unwrap();
        let mut y = one.clone();
        y.axpy(Coefficient::zero(), &nan).unwrap();
        assert_eq!(y.to_vec(), one.to_vec());
        let mut y = nan.clone();
        y.axpby(Coefficient::one(), &one, Coefficient::zero())
            .unwrap();
        assert_eq!(y.to_vec(), one.to_vec());
    }
}
