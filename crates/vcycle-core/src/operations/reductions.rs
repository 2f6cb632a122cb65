//! Sums over the rows of vectors: dot products and norms, alone or together with an update.
//!
//! A vector has the rows of its own process. All sums over rows that solvers and their stopping criteria use are
//! formed here and nowhere else: where several processes share a system, each adds the sums of the others here,
//! before square roots are taken.

use vcycle_kernels::compiled_fn;

use super::halo;
use super::vector::{axpby, square_root, tiles, values};
use crate::communicator::Communicator;
use crate::gpu::kernels::vector as kernels;
use crate::gpu::{BLOCK, Null, PARTIAL_SUMS};
use crate::launch::prelude::*;
use crate::scalar::{bytes as scalar_bytes, bytes_mut};
use crate::{cpu, reference};

/// Most blocks of a reduction: enough for any device, few enough to run at once.
const REDUCTION_BLOCKS: usize = 1024;
/// The same for many columns, whose sums the last block adds.
const COLUMN_BLOCKS: usize = 512;
/// Rows that a thread of these takes at a time, as in the kernels.
const LEAPS: usize = 4;
/// Columns whose sums travel together.
const FEW: usize = 8;
/// Numbers that may travel with sums.
const MOST_BESIDES: usize = 2;

compiled_fn! {
    /// Takes sums, one a column, that another operation has formed over the rows of this process.
    pub fn take_sums[any T: Scalar](sums: &[<T as Scalar>::Arith], out: &mut Scalars<T>) -> Result<()> {
        out.write(sums)?;
        over_team(out, false)
    }
}

/// What sums or norms over own rows are over those of all ranks, where the executor is one of several.
fn over_team<T: Scalar>(numbers: &mut Scalars<T>, are_norms: bool) -> Result<()> {
    let executor = numbers.executor().clone();
    if executor.team().is_none() {
        return Ok(());
    }
    match executor.recording_rank() {
        Some(gpu) => queue_sums(gpu, &mut [numbers], are_norms),
        None if are_norms => join_team_norms(&executor, numbers.host_mut()?),
        None => add_team_sums(&executor, numbers.host_mut()?),
    }
}

/// Adds the sums of all other ranks to those that a kernel of the host has formed.
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

/// The norms over all ranks of norms over own rows that the host has.
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
fn take_both<T: Scalar>(
    mut sums: [T::Arith; 2],
    [first, second]: [&mut Scalars<T>; 2],
) -> Result<()> {
    add_team_sums(first.executor(), &mut sums)?;
    first.write(&sums[..1])?;
    second.write(&sums[1..])
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
            Executor::Gpu(gpu) if cols == 1 => {
                let (partials, counter) = (gpu.partials(), gpu.counter());
                kernels::vector_dot(values(x), x, y, &mut *out, partials, counter)?
                    .run(gpu, reduction(x))?;
            }
            Executor::Gpu(gpu) => dot_columns(gpu, false, x, y, out)?,
        }
        over_team(out, false)
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
                let (partials, counter) = (gpu.partials(), gpu.counter());
                let (to_y, to_z) = (&mut *with_y, &mut *with_z);
                kernels::vector_dot2(values(x), x, y, z, to_y, to_z, partials, counter)?
                    .run(gpu, reduction(x))?;
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
            match x.cols() {
                1 => {
                    // With a zero coefficient nothing is added, and so nothing written.
                    let nothing = Coefficient::<T>::zero();
                    let unchanged = x.buffer().pointer()?.writable();
                    let (n, partials, counter) = (values(x), gpu.partials(), gpu.counter());
                    kernels::vector_axpy_norm(n, nothing, Null, unchanged, &mut *out, partials, counter)?
                        .run(gpu, reduction(x))?;
                }
                _ => dot_columns(gpu, true, x, x, out)?,
            }
            return over_team(out, true);
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
                match y.cols() {
                    1 => {
                        let (partials, counter) = (gpu.partials(), gpu.counter());
                        kernels::vector_axpy_norm(values(x), alpha, x, y, &mut *out, partials, counter)?
                            .run(gpu, reduction(x))?;
                    }
                    _ => advance_columns(gpu, None, (alpha, x, y), out)?,
                }
                over_team(out, true)
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
            match r.cols() {
                1 => {
                    let (n, partials, counter) = (values(p), gpu.partials(), gpu.counter());
                    kernels::vector_advance(n, alpha, p, x, beta, q, r, &mut *out, partials, counter)?
                        .run(gpu, reduction(p))?;
                }
                _ => advance_columns(gpu, Some((alpha, p, x)), (beta, q, r), out)?,
            }
            return over_team(out, true);
        }
        axpby(alpha, p, Coefficient::one(), x)?;
        axpy_norm(beta, q, r, out)
    }
}

/// The blocks follow from the size alone, so that sums are the same on every device.
fn reduction<T: Scalar>(x: &Vector<T>) -> usize {
    tiles::<T>(x.rows()).min(REDUCTION_BLOCKS)
}

/// An operand of an update: its coefficient, what is added and to what.
type Update<'a, T> = (Coefficient<'a, T>, &'a Vector<T>, &'a mut Vector<T>);

/// `x += alpha p` if that is asked for, `r += beta q` and the norm of `r`, column by column.
fn advance_columns<T: Scalar>(
    gpu: &Gpu,
    first: Option<Update<'_, T>>,
    (beta, q, r): Update<'_, T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    let (alpha, p, mut x) = match first {
        Some((alpha, p, x)) => (alpha, Some(p), Some(x)),
        None => (Coefficient::zero(), None, None),
    };
    for (column, count, blocks) in column_blocks(q) {
        kernels::vector_advance_columns(
            q.rows(),
            q.cols(),
            column,
            count,
            alpha,
            p,
            x.as_deref_mut(),
            beta,
            q,
            &mut *r,
            &mut *out,
            gpu.partials(),
            gpu.counter(),
        )?
        .run(gpu, blocks)?;
    }
    Ok(())
}

/// The products of the columns of `x` and `y`, or their square roots.
fn dot_columns<T: Scalar>(
    gpu: &Gpu,
    root: bool,
    x: &Vector<T>,
    y: &Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    for (first, count, blocks) in column_blocks(x) {
        let (partials, counter, out) = (gpu.partials(), gpu.counter(), &mut *out);
        let (rows, cols) = (x.rows(), x.cols());
        kernels::vector_dot_columns(rows, cols, first, count, root, x, y, out, partials, counter)?
            .run(gpu, blocks)?;
    }
    Ok(())
}

/// As many columns at a time as a block has threads: the first, their number and blocks, which follow from the sizes alone, as
/// those of one column.
fn column_blocks<T: Scalar>(x: &Vector<T>) -> impl Iterator<Item = (usize, usize, usize)> + use<T> {
    let (rows, cols) = (x.rows(), x.cols());
    (0..cols).step_by(BLOCK as usize).map(move |first| {
        let count = (cols - first).min(BLOCK as usize);
        let rows_of_block = LEAPS * (BLOCK as usize / count);
        let most = COLUMN_BLOCKS.min(PARTIAL_SUMS / count);
        (first, count, rows.div_ceil(rows_of_block).clamp(1, most))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::convert;

    fn wave<T: Scalar>(
        executor: &Executor,
        (rows, cols): (usize, usize),
        shift: usize,
    ) -> Vector<T> {
        let value = |i: usize| convert(((i * 7 + shift) % 17) as f64 * 0.25 - 2.0);
        Vector::from_rows(executor, cols, (0..rows * cols).map(value).collect()).unwrap()
    }

    /// `x += p / 2`, `r -= q` and the norms of `r`.
    fn advanced<T: Scalar>(
        executor: &Executor,
        size: (usize, usize),
    ) -> (Vec<T>, Vec<T>, Vec<T::Arith>) {
        let wave = |shift| wave::<T>(executor, size, shift);
        let (p, q, mut x, mut r) = (wave(1), wave(2), wave(3), wave(4));
        let mut norms = Scalars::filled(executor, size.1, T::default().load()).unwrap();
        let (alpha, beta) = (Coefficient::real(0.5), Coefficient::real(-1.0));
        x.advance((alpha, &p), (beta, &q), &mut r, &mut norms)
            .unwrap();
        let norms = (0..size.1).map(|column| norms.get(column).unwrap());
        (x.to_vec(), r.to_vec(), norms.collect())
    }

    fn check<T: Scalar>(executor: &Executor) {
        let one = [0, 1, 5, 20_011].map(|rows| (rows, 1));
        let many = [(1, 2), (700, 3), (611, 32), (3, 300)];
        for size in one.into_iter().chain(many) {
            let expected = advanced::<T>(&Executor::reference(), size);
            assert_eq!(
                advanced::<T>(executor, size),
                expected,
                "{size:?} {}",
                T::KIND
            );
        }
    }

    #[test]
    fn one_pass_advances_as_three_do() {
        let Some(executor) = device() else { return };
        check::<f64>(&executor);
        check::<f32>(&executor);
        check::<f16>(&executor);
        check::<bf16>(&executor);
        check::<c64>(&executor);
        check::<c32>(&executor);
    }
}
