//! Model problems and odd operators for the tests of the solvers.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    Bicg, Bicgstab, BlockCg, BlockGmres, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, GcroDr, Gmres, Idr,
    Ir, Method, Minres, Numbers, PipeCg, PipeGmres, Recycling, Solver,
};
use crate::linop::MatrixFree;
use crate::precond::testing::{five_points, from_entries, real};
use crate::prelude::*;
use crate::stop::{Outcome, Stop};

pub(super) type Methods<T> = Vec<Arc<dyn Method<T>>>;

/// For symmetric positive definite problems alone.
pub(super) fn definite<T: Scalar>() -> Methods<T> {
    vec![
        Arc::new(Cg::default()),
        Arc::new(Fcg::default()),
        Arc::new(PipeCg::default()),
        Arc::new(Chebyshev::default()),
        Arc::new(BlockCg::default()),
    ]
}

/// For any regular matrix.
pub(super) fn general<T: Scalar>() -> Methods<T> {
    vec![
        Arc::new(Bicg::default()),
        Arc::new(Bicgstab::default()),
        Arc::new(Cgs::default()),
        Arc::new(gmres(20)),
        Arc::new(Fgmres {
            restart: 20,
            ..Fgmres::default()
        }),
        Arc::new(PipeGmres { restart: 20 }),
        Arc::new(Idr::default()),
        Arc::new(Gcr { restart: 20 }),
        Arc::new(BlockGmres { restart: 20 }),
        Arc::new(Recycling::<T>::new(GcroDr::default())),
    ]
}

pub(super) fn gmres(restart: usize) -> Gmres {
    Gmres {
        restart,
        ..Gmres::default()
    }
}

/// Whose right-hand sides help each other.
pub(super) const SHARED: [&str; 3] = ["block-cg", "block-gmres", "gcro-dr"];

pub(super) fn symmetric<T: Scalar>() -> Methods<T> {
    vec![Arc::new(Minres::default())]
}

pub(super) fn all<T: Scalar>() -> Methods<T> {
    let mut all = definite();
    all.extend(symmetric());
    all.extend(general());
    all.push(Arc::new(Ir {
        relaxation: 0.2,
        ..Ir::default()
    }));
    all
}

/// A tridiagonal matrix of constant diagonals: below, on and above.
pub(super) fn tridiagonal<T: Scalar>(executor: &Executor, n: usize, d: [c64; 3]) -> Arc<Csr<T>> {
    let near = |row: usize| [row.wrapping_sub(1), row, row + 1].into_iter().zip(d);
    let entries =
        (0..n).flat_map(|row| near(row).map(move |(column, d)| (row, column, T::from_c64(d))));
    let entries = entries.filter(|entry| entry.1 < n);
    Arc::new(from_entries(executor, n, entries))
}

/// `-1 2 -1`.
pub(super) fn laplacian_1d<T: Scalar>(executor: &Executor, n: usize) -> Arc<Csr<T>> {
    tridiagonal(executor, n, real([-1.0, 2.0, -1.0]))
}

/// `-1 0.9 -1`: eigenvalues of both signs.
pub(super) fn indefinite<T: Scalar>(executor: &Executor, n: usize) -> Arc<Csr<T>> {
    tridiagonal(executor, n, real([-1.0, 0.9, -1.0]))
}

/// Hermitian, positive definite, and complex where `T` is.
pub(super) fn hermitian<T: Scalar>(executor: &Executor, n: usize) -> Arc<Csr<T>> {
    let off = c64::new(-0.6, 0.8);
    tridiagonal(executor, n, [off.conj(), c64::new(2.0, 0.0), off])
}

/// Skew-symmetric, so that `<x, A x>` is zero.
pub(super) fn rotation(executor: &Executor, n: usize) -> Arc<Csr<f64>> {
    tridiagonal(executor, n, real([-1.0, 0.0, 1.0]))
}

/// Five points on an `n` by `n` grid: centre, west, east, south, north.
fn grid<T: Scalar>(executor: &Executor, n: usize, stencil: [c64; 5]) -> Arc<Csr<T>> {
    Arc::new(five_points(executor, n, |i, j| i + n * j, stencil))
}

/// Poisson's equation on a square.
pub(super) fn laplacian_2d<T: Scalar>(executor: &Executor, n: usize) -> Arc<Csr<T>> {
    grid(executor, n, real([4.0, -1.0, -1.0, -1.0, -1.0]))
}

/// Upwind convection to the north-east with diffusion: nonsymmetric.
pub(super) fn convection_diffusion<T: Scalar>(executor: &Executor, n: usize) -> Arc<Csr<T>> {
    grid(executor, n, real([7.0, -3.0, -1.0, -2.0, -1.0]))
}

/// `Laplacian - (1 - i/2)`: complex symmetric, neither Hermitian nor definite.
pub(super) fn shifted_laplacian<T: Scalar>(executor: &Executor, n: usize) -> Arc<Csr<T>> {
    let off = c64::new(-1.0, 0.0);
    grid(executor, n, [c64::new(3.0, 0.5), off, off, off, off])
}

/// Values that look random, for known solutions.
pub(super) fn values<T: Scalar>(count: usize, seed: u64) -> Vec<T> {
    let mut numbers = Numbers(seed);
    let mut next = || T::from_c64(c64::new(numbers.next(), numbers.next()));
    (0..count).map(|_| next()).collect()
}

/// A method bound to a matrix.
pub(super) fn solver<T: Scalar>(method: &Arc<dyn Method<T>>, a: Arc<dyn LinOp<T>>) -> Solver<T> {
    Solver::from_shared(method.clone(), a).unwrap()
}

/// Columns of ones that fit a matrix.
pub(super) fn ones<T: Scalar>(a: &Arc<Csr<T>>, cols: usize) -> Vector<T> {
    Vector::filled(a.executor(), a.size().rows, cols, 1.0).unwrap()
}

/// A solve from zero: how it ended, and the solution.
pub(super) fn solved<T: Scalar>(
    method: &Arc<dyn Method<T>>,
    a: Arc<dyn LinOp<T>>,
    b: &Vector<T>,
    stop: Stop,
) -> (Outcome, Vec<T>) {
    let mut x = Vector::zeros_like(b).unwrap();
    let outcome = solver(method, a).stopping(stop).solve(b, &mut x).unwrap();
    (outcome, x.to_vec())
}

/// Solves for a right-hand side of ones, with 2000 iterations allowed.
pub(super) fn solve_with(
    method: Arc<dyn Method<f64>>,
    a: &Arc<Csr<f64>>,
    preconditioner: Option<Arc<dyn LinOp<f64>>>,
) -> Outcome {
    let stop = Stop::relative(1e-10).max_iterations(2000);
    let mut solver = solver(&method, a.clone()).stopping(stop);
    if let Some(preconditioner) = preconditioner {
        solver = solver.with_preconditioner(preconditioner).unwrap();
    }
    let b = ones(a, 1);
    let mut x = Vector::zeros_like(&b).unwrap();
    solver.solve(&b, &mut x).unwrap()
}

/// A positive diagonal that is another one each time it is applied.
pub(super) fn alternating(like: &Csr<f64>) -> MatrixFree<f64> {
    let applications = AtomicU64::new(0);
    MatrixFree::new(like.executor(), like.size(), move |x, y, _| {
        let time = applications.fetch_add(1, Ordering::Relaxed);
        let weights = values::<f64>(x.rows(), time);
        for ((y, x), weight) in y.host_mut()?.iter_mut().zip(x.host()?).zip(weights) {
            *y = x * (1.0 + 0.4 * weight);
        }
        Ok(())
    })
}

/// An operator that can only be applied.
pub(super) fn without_transpose(a: &Arc<Csr<f64>>) -> MatrixFree<f64> {
    let own = a.clone();
    let apply = move |x: &Vector<f64>, y: &mut Vector<f64>, ws: &Workspace| own.apply(x, y, ws);
    MatrixFree::new(a.executor(), a.size(), apply)
}

/// The identity for some applications, NaN from then on.
pub(super) fn breaks_after<T: Scalar>(like: &Csr<T>, applications: u64) -> MatrixFree<T> {
    let made = Arc::new(AtomicU64::new(0));
    let apply = move |x: &Vector<T>, y: &mut Vector<T>| match made.fetch_add(1, Ordering::Relaxed) {
        made if made < applications => y.copy_from(x),
        _ => y.fill(T::from_c64(c64::new(f64::NAN, 0.0))),
    };
    let adjoint = apply.clone();
    MatrixFree::new(like.executor(), like.size(), move |x, y, _| apply(x, y))
        .with_transposed(move |_, x, y, _| adjoint(x, y))
}

/// A solver in single precision as an operator on double precision.
pub(super) fn in_single(solver: Solver<f32>) -> MatrixFree<f64> {
    let (executor, size) = (solver.executor().clone(), solver.size());
    MatrixFree::new(&executor, size, move |x, y, ws| {
        let mut narrow_x = ws.vector_like::<f32, f64>(x)?;
        let mut narrow_y = ws.vector_like::<f32, f64>(x)?;
        narrow_x.copy_from(x)?;
        solver.apply(&narrow_x, &mut narrow_y, ws)?;
        y.copy_from(&*narrow_y)
    })
}

/// Multiplies without an end.
#[derive(Debug)]
pub struct Endless(pub Arc<dyn LinOp<f64>>);

impl LinOp<f64> for Endless {
    forward!(0: size, executor);

    fn apply(&self, r: &Vector<f64>, z: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        loop {
            self.0.apply(r, z, ws)?;
        }
    }
}
