//! What ranks whose vectors are on devices do with rows they share.

use vcycle_gpu::Address;

use super::Finish;
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::{Gpu, MessageBuffer};
use crate::launch;
use crate::launch::halo::Run;
use crate::scalar::{Mixes, Scalar};

pub(crate) use crate::launch::halo::OtherColumns;

/// Copies rows of a vector one after the other, to an address on its device.
pub(crate) fn pack<T: Scalar>(rows: &Buffer<u32>, x: &Vector<T>, packed: Address) -> Result<()> {
    launch::halo::pack(device(x.executor())?, rows, x, packed)
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
            None if is_written => gpu.device().copy_out(buffer.block(), place, there, bytes)?,
            None => gpu.device().copy_in(there, buffer.block(), place, bytes)?,
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
        false => launch::halo::copy(gpu, &runs),
    }
}

/// Queues a copy from one place on the device to another.
pub(crate) fn copy(gpu: &Gpu, from: Address, to: Address, bytes: usize) -> Result<()> {
    launch::halo::copy(gpu, &[Run { bytes, from, to }])
}

/// Adds to a product that is finished what the columns of other ranks have to it, on their device.
pub(crate) fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &OtherColumns<'_, M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    launch::halo::add(device(x.executor())?, a, x, finish, y)
}

fn device(executor: &Executor) -> Result<&Gpu> {
    match executor {
        Executor::Gpu(gpu) => Ok(gpu),
        host => Err(host.lacks("rows that are sent", "packing; the host copies them")),
    }
}
