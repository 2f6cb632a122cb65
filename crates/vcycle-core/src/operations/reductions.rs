//! Sums over the rows of vectors: dot products and norms, alone or together with an update.
//!
//! A vector has the rows of its own process. All sums over rows that solvers and their stopping criteria use are
//! formed here and nowhere else: where several processes share a system, each adds the sums of the others here,
//! before square roots are taken.

use vcycle_kernels::compiled_fn;

use super::halo;
use super::vector::{axpby, square_root};
use crate::arrays::{Coefficient, Scalars, Vector};
use crate::communicator::Communicator;
use crate::error::Result;
use crate::executor::Executor;
use crate::gpu::Gpu;
use crate::launch;
use crate::scalar::{Field, Real, Scalar, bytes as scalar_bytes, bytes_mut, c64};
use crate::{cpu, reference};

/// Columns whose sums travel together.
const FEW: usize = 8;
/// Numbers that may travel with sums.
const MOST_BESIDES: usize = 2;

compiled_fn! {
    /// Takes sums, one a column, that another operation has formed over the rows of this process.
    pub fn take_sums[any T: Scalar](sums: &[<T as Scalar>::Arith], out: &mut Scalars<T>) -> Result<()> {
        out.write(sums)?;
        add_team(out)
    }
}

/// Adds the sums of all other ranks, where the executor is one of several.
fn add_team<T: Scalar>(sums: &mut Scalars<T>) -> Result<()> {
    let executor = sums.executor().clone();
    if executor.team().is_none() {
        return Ok(());
    }
    match executor.recording_rank() {
        Some(gpu) => queue_sums(gpu, &mut [sums], false),
        None => add_team_sums(&executor, sums.host_mut()?),
    }
}

/// The same for sums that a kernel of the host has formed.
pub(super) fn add_team_sums<A: Field>(executor: &Executor, sums: &mut [A]) -> Result<()> {
    match executor.team() {
        Some(team) => sum_over(team.as_ref(), sums, &mut []),
        None => Ok(()),
    }
}

/// Sums over the ranks of a team, and of a few numbers that travel with them.
fn sum_over<A: Field>(team: &dyn Communicator, sums: &mut [A], besides: &mut [f64]) -> Result<()> {
    let mut doubles = [0.0; 2 * FEW + MOST_BESIDES];
    let last = sums.len().div_ceil(FEW).saturating_sub(1);
    for (turn, sums) in sums.chunks_mut(FEW).enumerate() {
        let besides = if turn == last { &mut *besides } else { &mut [] };
        let parts = &mut doubles[..2 * sums.len() + besides.len()];
        let (pairs, more) = parts.split_at_mut(2 * sums.len());
        for (pair, sum) in pairs.chunks_exact_mut(2).zip(&*sums) {
            let sum = sum.to_c64();
            pair.copy_from_slice(&[sum.re, sum.im]);
        }
        more.copy_from_slice(besides);
        team.sum(parts)?;
        let (pairs, more) = parts.split_at(2 * sums.len());
        besides.copy_from_slice(more);
        for (pair, sum) in pairs.chunks_exact(2).zip(sums) {
            *sum = A::from_c64(c64::new(pair[0], pair[1]));
        }
    }
    Ok(())
}

/// Queues that sums over own rows are replaced by those over all ranks, or norms by norms; all of them travel together.
fn queue_sums<T: Scalar>(gpu: &Gpu, all: &mut [&mut Scalars<T>], are_norms: bool) -> Result<()> {
    let callbacks = gpu.callbacks().expect("a rank that records has them");
    let mut pieces = Vec::with_capacity(all.len() + 1);
    for sums in &mut *all {
        pieces.push((sums.device_mut()?, sums.len() * size_of::<T::Arith>()));
    }
    let bytes = pieces.iter().map(|(_, bytes)| bytes).sum();
    let count = all.iter().map(|sums| sums.len()).sum();
    let key = (T::Arith::KIND, count, are_norms);
    let buffer = callbacks.sum_buffer(key, bytes, move |bytes, team, requests| {
        let mut sums = vec![T::Arith::default(); count];
        bytes_mut(&mut sums).copy_from_slice(bytes);
        match are_norms {
            true => join_over(team, &mut sums, requests),
            false => sum_over(team, &mut sums, requests),
        }?;
        bytes.copy_from_slice(scalar_bytes(&sums));
        Ok(())
    })?;
    let requests = 2 * size_of::<f64>();
    halo::write(gpu, &buffer, requests, &pieces)?;
    buffer.begin()?;
    buffer.end()?;
    pieces.insert(0, (callbacks.stop_requests(), requests));
    halo::read(gpu, &buffer, 0, &pieces)
}

/// The same for any number of sums, and what else there is, which travel together while other work is done. Without other ranks that is
/// all that is done.
pub(super) fn add_team_sums_while<A: Field>(
    executor: &Executor,
    sums: &mut [A],
    besides: &mut [f64],
    doubles: &mut Vec<f64>,
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let Some(team) = executor.team() else {
        return meanwhile();
    };
    let parts = if A::KIND.is_complex() { 2 } else { 1 };
    doubles.clear();
    for sum in &*sums {
        let sum = sum.to_c64();
        doubles.extend_from_slice(&[sum.re, sum.im][..parts]);
    }
    doubles.extend_from_slice(besides);
    team.sum_while(doubles, meanwhile)?;
    besides.copy_from_slice(&doubles[doubles.len() - besides.len()..]);
    for (parts, sum) in doubles.chunks_exact(parts).zip(sums) {
        let imaginary = parts.get(1).copied().unwrap_or_default();
        *sum = A::from_c64(c64::new(parts[0], imaginary));
    }
    Ok(())
}

/// The norms over all ranks, where the executor is one of several, of norms over own rows.
fn join_norms<T: Scalar>(norms: &mut Scalars<T>) -> Result<()> {
    let executor = norms.executor().clone();
    if executor.team().is_none() {
        return Ok(());
    }
    match executor.recording_rank() {
        Some(gpu) => queue_sums(gpu, &mut [norms], true),
        None => join_team_norms(&executor, norms.host_mut()?),
    }
}

/// The same for norms that the host has.
pub(super) fn join_team_norms<A: Field>(executor: &Executor, norms: &mut [A]) -> Result<()> {
    match executor.team() {
        Some(team) => join_over(team.as_ref(), norms, &mut []),
        None => Ok(()),
    }
}

fn join_over<A: Field>(
    team: &dyn Communicator,
    norms: &mut [A],
    besides: &mut [f64],
) -> Result<()> {
    let square = |norm: &A| norm.real().to_f64().powi(2);
    let mut squares: Vec<f64> = norms.iter().map(square).collect();
    squares.extend_from_slice(besides);
    team.sum(&mut squares)?;
    let (squares, more) = squares.split_at(norms.len());
    besides.copy_from_slice(more);
    let roots = squares.iter().map(|sum| A::from_f64(sum.sqrt()));
    norms
        .iter_mut()
        .zip(roots)
        .for_each(|(norm, root)| *norm = root);
    Ok(())
}

/// As [`take_sums`] of two vectors, which travel together.
fn take_both<T: Scalar>(sums: [T::Arith; 2], [first, second]: [&mut Scalars<T>; 2]) -> Result<()> {
    let Some(team) = first.executor().team().cloned() else {
        first.write(&sums[..1])?;
        return second.write(&sums[1..]);
    };
    let [a, b] = sums.map(|sum| sum.to_c64());
    let mut parts = [a.re, a.im, b.re, b.im];
    team.sum(&mut parts)?;
    let number = |re, im| <T::Arith as Scalar>::from_c64(c64::new(re, im));
    first.write(&[number(parts[0], parts[1])])?;
    second.write(&[number(parts[2], parts[3])])
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
        add_team(out)
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
                take_both(products, [with_y, with_z])
            }
            (Executor::Gpu(gpu), 1) => {
                launch::vector::dot2(gpu, x, (y, with_y), (z, with_z))?;
                match (x.executor().team(), x.executor().recording_rank()) {
                    (None, _) => Ok(()),
                    (_, Some(gpu)) => queue_sums(gpu, &mut [with_y, with_z], false),
                    _ => take_both([with_y.get(0)?, with_z.get(0)?], [with_y, with_z]),
                }
            }
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
            launch::vector::norm(gpu, x, out)?;
            return join_norms(out);
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
            (Executor::Gpu(gpu), _) => {
                launch::vector::axpy_norm(gpu, alpha, x, y, out)?;
                join_norms(out)
            }
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
        if let Executor::Gpu(gpu) = p.executor() {
            launch::vector::advance(gpu, (alpha, p, x), (beta, q, r), out)?;
            return join_norms(out);
        }
        axpby(alpha, p, Coefficient::one(), x)?;
        axpy_norm(beta, q, r, out)
    }
}
