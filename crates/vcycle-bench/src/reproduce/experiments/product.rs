//! Products of a matrix and a vector.

use std::cell::RefCell;

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::{Coo, Csr, Ell, Hybrid, SellP};
use vcycle::scalar::{Mixes, Scalar};
use vcycle::vector::Vector;

use super::super::experiment::Scope;
use crate::common::{Result, threads};
use crate::gpu::timing::microseconds;
use crate::mkl::Mkl;
use crate::problem::BenchSystem;
use crate::timing::Candidate;

/// Seconds of a product of an operator, the best within some.
pub(super) fn timed<X: Scalar, Y: Scalar>(a: &dyn LinOp<X, Y>, seconds: f64) -> Result<f64> {
    let (executor, ws) = (a.executor(), Workspace::new());
    let ones = Vector::<f64>::filled(executor, a.size().cols, 1, 1.0)?;
    let mut x = Vector::<X>::zeros(executor, a.size().cols, 1)?;
    x.copy_from(&ones)?;
    let mut y = Vector::<Y>::zeros(executor, a.size().rows, 1)?;
    work(executor, seconds, || Ok(a.apply(&x, &mut y, &ws)?))
}

/// Seconds of some work: on a device those of its clock, else the best within some.
pub(super) fn work(
    executor: &Executor,
    seconds: f64,
    mut one: impl FnMut() -> Result<()>,
) -> Result<f64> {
    match executor.device() {
        Some(device) => Ok(microseconds(device, 1, &mut one)? * 1e-6),
        None => one.best_within(seconds),
    }
}

/// Seconds of a product in five formats; CSR comes first.
pub(super) fn in_formats<V: Mixes<V, V>>(
    a: &Csr<V>,
    seconds: f64,
) -> Result<[(&'static str, f64); 5]> {
    Ok([
        ("csr", timed::<V, V>(a, seconds)?),
        ("coo", timed::<V, V>(&Coo::from_csr(a)?, seconds)?),
        ("ell", timed::<V, V>(&Ell::from_csr(a)?, seconds)?),
        ("sellp", timed::<V, V>(&SellP::from_csr(a)?, seconds)?),
        ("hybrid", timed::<V, V>(&Hybrid::from_csr(a)?, seconds)?),
    ])
}

/// The shortest of some times.
pub(super) fn fastest(times: &[(&str, f64)]) -> f64 {
    let times = times.iter().map(|(_, time)| *time);
    times.fold(f64::INFINITY, f64::min)
}

/// Matrices of the gallery whose products are timed, and how large.
pub(super) const MATRICES: [(&str, [&str; 3]); 5] = [
    ("poisson7", ["poisson7:8", "poisson7:40", "poisson7:100"]),
    ("poisson27", ["poisson27:6", "poisson27:32", "poisson27:72"]),
    ("beam", ["beam:o2,l1", "beam:o3,l2", "beam:o3,l3"]),
    ("tet", ["tet:8", "tet:24", "tet:64"]),
    (
        "elasticity",
        ["elasticity:4", "elasticity:14", "elasticity:34"],
    ),
];

/// The same of a matrix stored in another precision.
pub(super) fn product<M, X: Scalar, Y: Scalar>(a: &Csr<f64>, seconds: f64) -> Result<f64>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
{
    timed::<X, Y>(&a.convert::<M>()?, seconds)
}

/// Seconds of MKL where it is installed and the matrix on the processor; it may store the matrix a second time.
pub(super) fn mkl(scope: &Scope, a: &Csr<f64>) -> Result<Option<f64>> {
    let Some(python) = scope
        .mkl
        .as_ref()
        .filter(|_| a.executor().device().is_none())
    else {
        return Ok(None);
    };
    let system = BenchSystem::plain(a.clone(), vec![1.0; a.size().cols]);
    let mkl = RefCell::new(Mkl::start(python, &system)?);
    let seconds = ["csr", "copy"].map(|mode| {
        let mut products = Mkl::on(&mkl, mode, threads(None)?);
        products.best_within(scope.seconds())
    });
    let [kept, copied] = seconds;
    Ok(Some(kept?.min(copied?)))
}
