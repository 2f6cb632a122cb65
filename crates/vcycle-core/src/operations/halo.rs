//! What ranks whose vectors are on devices do with rows they share.

use vcycle_gpu::Address;

use super::Finish;
use crate::gpu::{BLOCK, MessageBuffer, kernels::halo as kernels};
use crate::launch::prelude::*;
use crate::scalar::Element;

/// Most blocks of a launch; enough for any device.
const MOST_BLOCKS: usize = 4096;

/// The entries of some rows in columns of other ranks.
#[derive(Debug)]
pub(crate) struct OtherColumns<'a, M> {
    /// Which rows these are.
    pub rows: &'a Buffer<u32>,
    /// Where the entries of each begin.
    pub offsets: &'a Buffer<usize>,
    /// Places among the columns of other ranks.
    pub columns: &'a Buffer<u32>,
    pub values: &'a Buffer<M>,
}

/// Copies rows of a vector one after the other, to an address on its device.
pub(crate) fn pack<T: Scalar>(rows: &Buffer<u32>, x: &Vector<T>, packed: Address) -> Result<()> {
    let gpu = device(x.executor())?;
    gpu.real(T::KIND)?;
    let (count, cols) = (rows.len(), x.cols());
    kernels::halo_pack(count, cols, rows, x, Write::new(packed))?.run(gpu, blocks(count * cols))
}

/// Queues that memory of the device is written to a message buffer, up to three pieces one after the other.
pub(crate) fn write(
    gpu: &Gpu,
    buffer: &MessageBuffer,
    first: usize,
    pieces: &[(Address, usize)],
) -> Result<()> {
    by_pieces(gpu, buffer, first, pieces, true)
}

/// Queues that pieces of a message buffer, up to three one after the other, are read into memory of the device.
pub(crate) fn read(
    gpu: &Gpu,
    buffer: &MessageBuffer,
    first: usize,
    pieces: &[(Address, usize)],
) -> Result<()> {
    by_pieces(gpu, buffer, first, pieces, false)
}

fn by_pieces(
    gpu: &Gpu,
    buffer: &MessageBuffer,
    first: usize,
    pieces: &[(Address, usize)],
    is_written: bool,
) -> Result<()> {
    let (mut runs, mut place) = (Vec::with_capacity(pieces.len()), first);
    for &(there, bytes) in pieces {
        match buffer
            .block()
            .address()
            .map(|block| block + place as Address)
        {
            // SAFETY: pieces are of arrays that the caller holds. What sends the messages waits for the device, and the device
            // for it.
            None => unsafe {
                match is_written {
                    true => gpu.device().copy_out(buffer.block(), place, there, bytes)?,
                    false => gpu.device().copy_in(there, buffer.block(), place, bytes)?,
                }
            },
            Some(here) => {
                let (from, to) = if is_written {
                    (there, here)
                } else {
                    (here, there)
                };
                runs.push(Run { bytes, from, to });
            }
        }
        place += bytes;
    }
    match runs.is_empty() {
        true => Ok(()),
        false => copy_runs(gpu, &runs),
    }
}

/// Queues a copy from one place on the device to another.
pub(crate) fn copy(gpu: &Gpu, from: Address, to: Address, bytes: usize) -> Result<()> {
    copy_runs(gpu, &[Run { bytes, from, to }])
}

/// Adds to a product that is finished what the columns of other ranks have to it, on their device.
pub(crate) fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &OtherColumns<'_, M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    let gpu = device(x.executor())?;
    let (alpha, d) = match finish {
        Finish::Apply => (Coefficient::one(), None),
        Finish::Combine { alpha, .. } => (*alpha, None),
        Finish::Relax(sweep) => (Coefficient::real(-sweep.alpha), Some(sweep.d)),
    };
    for kind in [M::KIND, X::KIND, Y::KIND] {
        gpu.real(kind)?;
    }
    let (rows, cols) = (a.rows.len(), x.cols());
    kernels::halo_add(
        rows, cols, a.rows, a.offsets, a.columns, a.values, x, alpha, d, y,
    )?
    .with(&[("ACC", M::Accumulator::NAME)])
    .run(gpu, blocks(rows * cols))
}

/// So many bytes that are copied from one place to another; those of message buffers that kernels reach, too.
struct Run {
    bytes: usize,
    from: Address,
    to: Address,
}

/// Copies up to three runs of bytes.
fn copy_runs(gpu: &Gpu, runs: &[Run]) -> Result<()> {
    let bits = |bits: u64, run: &Run| bits | run.bytes as u64 | run.from | run.to;
    let (word, width) = match runs.iter().fold(0, bits).trailing_zeros() {
        3.. => ("u64", 8),
        2 => ("u32", 4),
        _ => ("u16", 2),
    };
    let run = |place: usize| match runs.get(place) {
        Some(run) => (run.bytes / width, Read::new(run.from), Write::new(run.to)),
        None => Default::default(),
    };
    let most = runs.iter().map(|run| run.bytes).max().unwrap_or(0);
    kernels::halo_move(run(0), run(1), run(2))?
        .with(&[("WORD", word)])
        .run(gpu, blocks(most / width))
}

/// Blocks for so many items; none for none.
fn blocks(items: usize) -> usize {
    items.div_ceil(BLOCK as usize).min(MOST_BLOCKS)
}

fn device(executor: &Executor) -> Result<&Gpu> {
    match executor {
        Executor::Gpu(gpu) => Ok(gpu),
        host => Err(host.lacks("rows that are sent", "packing; the host copies them")),
    }
}
