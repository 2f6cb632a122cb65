//! What ranks whose vectors are on devices do with rows they share.

use vcycle_gpu::Address;

use super::Finish;
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::{Gpu, Letter};
use crate::launch;
use crate::launch::halo::Run;
use crate::scalar::{Mixes, Scalar};

pub(crate) use crate::launch::halo::OtherColumns;

/// Copies rows of a vector one after the other, on its device.
pub(crate) fn pack<T: Scalar>(
    rows: &Buffer<u32>,
    x: &Vector<T>,
    packed: &mut Vector<T>,
) -> Result<()> {
    launch::halo::pack(device(x.executor())?, rows, x, packed.device_mut()?)
}

/// Queues that rows of a vector are written to a letter, by way of `packed` where kernels do not reach it.
pub(crate) fn pack_letter<T: Scalar>(
    rows: &Buffer<u32>,
    x: &Vector<T>,
    packed: &mut Vector<T>,
    letter: &Letter,
) -> Result<()> {
    let gpu = device(x.executor())?;
    match letter.block().address() {
        Some(address) => launch::halo::pack(gpu, rows, x, address),
        None => {
            launch::halo::pack(gpu, rows, x, packed.device_mut()?)?;
            write(gpu, letter, 0, &[(packed.device()?, packed.bytes())])
        }
    }
}

/// Queues that a letter is read, from a byte on, into a vector.
pub(crate) fn read_letter<T: Scalar>(
    letter: &Letter,
    first: usize,
    x: &mut Vector<T>,
) -> Result<()> {
    let bytes = x.bytes();
    let executor = x.executor().clone();
    read(
        device(&executor)?,
        letter,
        first,
        &[(x.device_mut()?, bytes)],
    )
}

/// Queues that memory of the device is written to a letter, up to three pieces one after the other.
pub(crate) fn write(
    gpu: &Gpu,
    letter: &Letter,
    first: usize,
    pieces: &[(Address, usize)],
) -> Result<()> {
    by_pieces(gpu, letter, first, pieces, true)
}

/// Queues that pieces of a letter, up to three one after the other, are read into memory of the device.
pub(crate) fn read(
    gpu: &Gpu,
    letter: &Letter,
    first: usize,
    pieces: &[(Address, usize)],
) -> Result<()> {
    by_pieces(gpu, letter, first, pieces, false)
}

fn by_pieces(
    gpu: &Gpu,
    letter: &Letter,
    first: usize,
    pieces: &[(Address, usize)],
    is_written: bool,
) -> Result<()> {
    let (mut runs, mut place) = (Vec::with_capacity(pieces.len()), first);
    for &(there, bytes) in pieces {
        match letter
            .block()
            .address()
            .map(|block| block + place as Address)
        {
            None if is_written => gpu.device().copy_out(letter.block(), place, there, bytes)?,
            None => gpu.device().copy_in(there, letter.block(), place, bytes)?,
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
