//! Model problems and odd operators for the tests of the solvers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::random::Numbers;
use super::{
    Bicg, Bicgstab, BlockCg, BlockGmres, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, GcroDr, Gmres, Idr,
    Ir, Method, Minres, PipeCg, PipeGmres, Recycling, Solver,
};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Size};
use crate::matrix::Csr;
use crate::precond::testing::{five_points, from_entries, real};
use crate::scalar::{Scalar, c64};
use crate::stop::{Outcome, Stop};
use crate::vector::Vector;

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
#[derive(Debug)]
pub(super) struct Alternating {
    like: Arc<Csr<f64>>,
    applications: AtomicUsize,
}

impl Alternating {
    pub(super) fn new(like: &Arc<Csr<f64>>) -> Self {
        Self {
            like: like.clone(),
            applications: AtomicUsize::new(0),
        }
    }
}

impl LinOp<f64> for Alternating {
    fn size(&self) -> Size {
        self.like.size()
    }
    fn executor(&self) -> &Executor {
        self.like.executor()
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, _ws: &Workspace) -> Result<()> {
        let time = self.applications.fetch_add(1, Ordering::Relaxed) as u64;
        let weights = values::<f64>(x.rows(), time);
        for ((y, x), weight) in y.host_mut()?.iter_mut().zip(x.host()?).zip(weights) {
            *y = x * (1.0 + 0.4 * weight);
        }
        Ok(())
    }
}

/// An operator that can only be applied.
#[derive(Debug)]
pub(super) struct NoTranspose(pub(super) Arc<Csr<f64>>);

impl LinOp<f64> for NoTranspose {
    fn size(&self) -> Size {
        self.0.size()
    }
    fn executor(&self) -> &Executor {
        self.0.executor()
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        LinOp::<f64>::apply(self.0.as_ref(), x, y, ws)
    }
}

/// The identity for some applications, NaN from then on.
#[derive(Debug)]
pub(super) struct BreaksAfter<T> {
    like: Arc<Csr<T>>,
    left: AtomicUsize,
}

impl<T> BreaksAfter<T> {
    pub(super) fn new(like: &Arc<Csr<T>>, applications: usize) -> Self {
        Self {
            like: like.clone(),
            left: AtomicUsize::new(applications),
        }
    }
}

impl<T: Scalar> LinOp<T> for BreaksAfter<T> {
    fn size(&self) -> Size {
        self.like.size()
    }
    fn executor(&self) -> &Executor {
        self.like.executor()
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        y.copy_from(x)?;
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            y.fill(T::from_c64(c64::new(f64::NAN, 0.0)))?;
        }
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        Ok(())
    }
    fn apply_transposed(
        &self,
        _mode: crate::linop::Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.apply(x, y, ws)
    }
}

/// A solver in single precision as an operator on double precision.
#[derive(Debug)]
pub(super) struct InSingle(pub(super) Solver<f32>);

impl LinOp<f64> for InSingle {
    fn size(&self) -> Size {
        self.0.size()
    }
    fn executor(&self) -> &Executor {
        self.0.executor()
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let mut narrow_x = ws.vector_like::<f32, f64>(x)?;
        let mut narrow_y = ws.vector_like::<f32, f64>(x)?;
        narrow_x.copy_from(x)?;
        self.0.apply(&narrow_x, &mut narrow_y, ws)?;
        y.copy_from(&*narrow_y)
    }
}
