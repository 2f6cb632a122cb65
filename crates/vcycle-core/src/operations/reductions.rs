//! Sums over the rows of vectors: dot products and norms, alone or together with an update.
//!
//! A vector has the rows of its own process. All sums over rows that solvers and their stopping criteria use are
//! formed here and nowhere else: where several processes share a system, each adds the sums of the others here,
//! before square roots are taken.

use vcycle_kernels::compiled_fn;

use super::vector::{axpby, square_root};
use crate::arrays::{Coefficient, Scalars, Vector};
use crate::error::Result;
use crate::executor::Executor;
use crate::launch;
use crate::scalar::Scalar;
use crate::{cpu, reference};

compiled_fn! {
    /// Takes sums, one a column, that another operation has formed over the rows of this process.
    pub fn take_sums[any T: Scalar](sums: &[<T as Scalar>::Arith], out: &mut Scalars<T>) -> Result<()> {
        out.write(sums)
    }
}

compiled_fn! {
    /// Column by column, the sum of `conj(x) * y`.
    pub(crate) fn dot[any T: Scalar](x: &Vector<T>, y: &Vector<T>, out: &mut Scalars<T>) -> Result<()> {
        let cols = x.cols();
        match x.executor() {
            Executor::Reference => {
                reference::vector::dot(x.host()?, y.host()?, out.host_mut()?, cols);
            }
            Executor::Cpu(threads) => {
                cpu::vector::dot(threads, x.host()?, y.host()?, out.host_mut()?, cols);
            }
            Executor::Gpu(gpu) => launch::vector::dot(gpu, x, y, out)?,
        }
        Ok(())
    }
}

compiled_fn! {
    /// The products of `x` with `y` and with `z`, in one pass over memory where the executor can.
    pub(crate) fn dot2[any T: Scalar](
        x: &Vector<T>,
        first: (&Vector<T>, &mut Scalars<T>),
        second: (&Vector<T>, &mut Scalars<T>),
    ) -> Result<()> {
        let ((y, with_y), (z, with_z)) = (first, second);
        match (x.executor(), x.cols()) {
            (Executor::Cpu(threads), 1) => {
                let products = cpu::vector::dot2(threads, x.host()?, y.host()?, z.host()?);
                take_sums(&products[..1], with_y)?;
                take_sums(&products[1..], with_z)
            }
            (Executor::Gpu(gpu), 1) => launch::vector::dot2(gpu, x, (y, with_y), (z, with_z)),
            _ => {
                dot(x, y, with_y)?;
                dot(x, z, with_z)
            }
        }
    }
}

compiled_fn! {
    /// Column by column, the Euclidean norm.
    pub(crate) fn norm[any T: Scalar](x: &Vector<T>, out: &mut Scalars<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = x.executor() {
            return launch::vector::norm(gpu, x, out);
        }
        dot(x, x, out)?;
        square_root(out)
    }
}

compiled_fn! {
    /// `y += alpha x`, then the norm of `y`, in one pass over memory where the executor can.
    pub(crate) fn axpy_norm[any T: Scalar](
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        y: &mut Vector<T>,
        out: &mut Scalars<T>,
    ) -> Result<()> {
        match (x.executor(), y.cols()) {
            (Executor::Cpu(threads), 1) => {
                let a = alpha.evaluate(0)?;
                let square = cpu::vector::axpy_square(threads, a, x.host()?, y.host_mut()?);
                take_sums(&[square], out)?;
                square_root(out)
            }
            (Executor::Gpu(gpu), 1) => launch::vector::axpy_norm(gpu, alpha, x, y, out),
            _ => {
                axpby(alpha, x, Coefficient::one(), y)?;
                norm(y, out)
            }
        }
    }
}

compiled_fn! {
    /// `x += alpha p` and `r += beta q`, then the norm of `r`, in one pass over memory where the executor can.
    pub(crate) fn advance[any T: Scalar](
        first: (Coefficient<'_, T>, &Vector<T>, &mut Vector<T>),
        second: (Coefficient<'_, T>, &Vector<T>, &mut Vector<T>),
        out: &mut Scalars<T>,
    ) -> Result<()> {
        let ((alpha, p, x), (beta, q, r)) = (first, second);
        if let (Executor::Gpu(gpu), 1) = (p.executor(), x.cols()) {
            return launch::vector::advance(gpu, (alpha, p, x), (beta, q, r), out);
        }
        axpby(alpha, p, Coefficient::one(), x)?;
        axpy_norm(beta, q, r, out)
    }
}
