//! Products with matrices in compressed rows.

use vcycle_kernels::{Transpose, compiled};

use super::Finish;
use crate::cpu;
use crate::cpu::csr::{Operands, Product};
use crate::launch::layout::Purpose;
use crate::launch::prelude::*;
use crate::launch::rows::DeviceProduct;
use crate::reference;
use crate::reference::csr::SweepArrays;
use crate::scalar::Element;

/// Vectors that the products with a transpose are summed up in.
type Sums<'w, M, X, Y> = Scratch<'w, Vector<<M as Mixes<X, Y>>::Accumulator>>;

/// Makes what products with the matrix take on its device.
pub(crate) fn prepare<T: Scalar>(a: &Csr<T>) -> Result<()> {
    if a.executor().is_device() && !a.copies.plain && !T::KIND.is_complex() {
        a.placed(1)?;
    }
    Ok(())
}

/// The blocks in which the device of a matrix multiplies it with vectors of so many columns; none where it does so row by row, and on
/// the host.
pub(crate) fn device_block<T: Scalar>(a: &Csr<T>, cols: usize) -> Result<Option<Size>> {
    match a.executor().is_device() && !a.copies.plain && !T::KIND.is_complex() {
        true => Ok(a
            .pattern
            .layout(Purpose::new(size_of::<T>(), cols))?
            .block()),
        false => Ok(None),
    }
}

/// What a device multiplies with, by its name.
pub(crate) fn stored_as<T: Scalar>(a: &Csr<T>) -> Result<String> {
    match a.executor().is_device() && !a.copies.plain && !T::KIND.is_complex() {
        true => Ok(a.pattern.layout(Purpose::of_bytes(size_of::<T>()))?.name()),
        false => Ok("csr".to_owned()),
    }
}

/// The matrix with which its device multiplies in blocks of a size, or in rows; itself on the host.
pub(crate) fn laid_out<T: Scalar>(a: &Csr<T>, block: Option<Size>) -> Result<Csr<T>> {
    match Queue::of(a.executor()) {
        Some(queue) => {
            let pattern = Arc::new(a.pattern.laid_out(&queue, block)?);
            Ok(Csr::of_buffers(&pattern, a.values.clone()))
        }
        None => Ok(a.clone()),
    }
}

/// The product and what becomes of it.
pub(crate) fn multiply<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Csr<M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    compiled!(products M, X, Y: fn(&Csr<M>, &Vector<X>, &Finish<'_, Y>, &mut Vector<Y>) -> Result<()>
        = multiply_anywhere)(a, x, finish, y)
}

fn multiply_anywhere<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Csr<M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    match a.executor() {
        Executor::Reference => {
            reference::csr::product(a.arrays()?, &operands(x, finish)?, y.host_mut()?);
            Ok(())
        }
        Executor::Cpu(threads) => {
            let mut product = Product {
                a: a.arrays()?,
                nodes: &[],
                vectors: operands(x, finish)?,
            };
            let mut runs: &[_] = &[];
            if product.goes_by_runs() {
                (runs, product.nodes) = (&a.pattern().runs().list, &a.pattern().runs().nodes);
            }
            let (size, pieces) = (a.size(), a.pattern().pieces());
            assert!((x.rows(), y.rows(), x.cols()) == (size.cols, size.rows, y.cols()));
            // SAFETY: a pattern has columns below those of the matrix, and runs and pieces of its own; the vectors fit, as
            // was just checked.
            unsafe { product.run(threads, pieces, runs, y.host_mut()?) };
            Ok(())
        }
        Executor::Gpu(gpu) => {
            let types = [M::NAME, M::Accumulator::NAME];
            a.multiply_on(&DeviceProduct::new(gpu, types, x, finish, y)?, false)
        }
    }
}

/// The vectors as kernels of the host take them.
pub(super) fn operands<'a, X: Scalar, Y: Scalar>(
    x: &'a Vector<X>,
    finish: &Finish<'a, Y>,
) -> Result<Operands<'a, X, Y>> {
    let mut vectors = Operands::new(x.host()?, x.cols());
    match finish {
        Finish::Apply => {}
        Finish::Combine { alpha, beta, z } => {
            vectors.alpha = alpha.on_host()?;
            vectors.beta = beta.on_host()?;
            vectors.z = z.map(Vector::host).transpose()?;
        }
        Finish::Relax(sweep) => {
            vectors.sweep = Some(SweepArrays {
                b: sweep.b.host()?,
                d: sweep.d.host()?,
                alpha: sweep.alpha,
                beta: sweep.beta,
                gamma: sweep.gamma,
            });
        }
    }
    Ok(vectors)
}

/// `y = A^T x`, or `A^H x`. A device multiplies with the transpose, which the matrix keeps.
pub(crate) fn multiply_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Csr<M>,
    mode: Transpose,
    x: &Vector<X>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    compiled!(products M, X, Y: fn(&Csr<M>, Transpose, &Vector<X>, &mut Vector<Y>, &Workspace) -> Result<()>
        = transposed_anywhere)(a, mode, x, y, ws)
}

fn transposed_anywhere<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Csr<M>,
    mode: Transpose,
    x: &Vector<X>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    let (conjugate, rows, cols) = (mode == Transpose::Conjugate, a.size().cols, x.cols());
    match a.executor() {
        Executor::Gpu(gpu) => {
            let types = [M::NAME, M::Accumulator::NAME];
            let product = DeviceProduct::new(gpu, types, x, &Finish::Apply, y)?;
            kept_transpose(a)?.multiply_on(&product, conjugate)
        }
        Executor::Reference => {
            let mut sums = sums::<M, X, Y>(a, rows, cols, ws)?;
            let (sums, x, y) = (sums.host_mut()?, x.host()?, y.host_mut()?);
            reference::csr::apply_transposed(conjugate, a.arrays()?, x, y, cols, sums);
            Ok(())
        }
        Executor::Cpu(threads) => {
            let slices = a.pattern().slices();
            let rows = slices.iter().map(|slice| slice.columns.len()).sum();
            let mut sums = sums::<M, X, Y>(a, rows, cols, ws)?;
            let (sums, x, y) = (sums.host_mut()?, x.host()?, y.host_mut()?);
            let a = a.arrays()?;
            cpu::csr::apply_transposed(threads, slices, conjugate, a, x, y, cols, sums);
            Ok(())
        }
    }
}

/// The transpose, kept for the next time.
fn kept_transpose<T: Scalar>(a: &Csr<T>) -> Result<&Csr<T>> {
    Ok(kept(&a.copies.transposed, || Ok(Arc::new(a.transpose()?)))?)
}

fn sums<'w, M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &Csr<M>,
    rows: usize,
    cols: usize,
    ws: &'w Workspace,
) -> Result<Sums<'w, M, X, Y>> {
    ws.vector(a.executor(), rows, cols)
}
