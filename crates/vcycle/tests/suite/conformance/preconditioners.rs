//! Every preconditioner is the same operator on every executor.

use std::sync::Arc;

use vcycle::config::PreconditionerConfig;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{Factory, LinOp, Transpose};
use vcycle::scalar::{Field, Mixes, c64};
use vcycle::vector::Vector;
use vcycle::{Error, Result};

use super::matrices::{tridiagonal, vector};

const ROWS: usize = 1000;

const NAMES: &str = "jacobi l1-jacobi block-jacobi sor ssor multicolour-gs hybrid-gs ilu0 ic0 iluk ilut parilu parilut \
                     parict isai fsai";

fn factory<T: Mixes<T, T>>(name: &str) -> Arc<dyn Factory<T>> {
    let component: PreconditionerConfig = name.parse().unwrap();
    component.factory().unwrap().expect("it is not `none`")
}

/// `M x` and `M^H x` on two columns.
fn applied<T: Mixes<T, T>>(
    factory: &dyn Factory<T>,
    executor: &Executor,
) -> Result<Vec<Vector<T>>> {
    let ws = Workspace::new();
    let a: Arc<dyn LinOp<T>> = Arc::new(tridiagonal::<T>(executor, ROWS, -1.0, -1.0));
    let m = factory.generate(&a, &ws)?;
    let x = vector(executor, ROWS, 2, 3);
    let mut y = Vector::zeros_like(&x).unwrap();
    let mut z = Vector::zeros_like(&x).unwrap();
    m.apply(&x, &mut y, &ws).unwrap();
    m.apply_transposed(Transpose::Conjugate, &x, &mut z, &ws)
        .unwrap();
    Ok(vec![y, z])
}

fn check<T: Mixes<T, T>>(executor: &Executor) {
    for factory in NAMES.split_whitespace().map(factory::<T>) {
        let here = match applied(factory.as_ref(), executor) {
            // Devices have no blocks of complex numbers.
            Err(Error::Unsupported { .. }) if T::KIND.is_complex() && executor.is_device() => {
                continue;
            }
            here => here.unwrap(),
        };
        let there = applied(factory.as_ref(), &Executor::reference()).unwrap();
        for (here, there) in here.iter().zip(&there) {
            let pairs = here.to_vec().into_iter().zip(there.to_vec());
            let worst = pairs
                .map(|(a, b)| (a.to_c64() - b.to_c64()).modulus())
                .fold(0.0, f64::max);
            assert!(worst < 1e-12, "{factory:?} differs by {worst}");
        }
    }
}

pub fn every_preconditioner_matches_the_reference(executor: &Executor) {
    check::<f64>(executor);
}

pub fn every_preconditioner_matches_the_reference_complex(executor: &Executor) {
    check::<c64>(executor);
}
