//! What ranks whose vectors are on devices do with rows they share.

use super::Finish;
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::Gpu;
use crate::launch;
use crate::scalar::{Mixes, Scalar};

pub(crate) use crate::launch::halo::OtherColumns;

/// Copies rows of a vector one after the other, on its device.
pub(crate) fn pack<T: Scalar>(
    rows: &Buffer<u32>,
    x: &Vector<T>,
    packed: &mut Vector<T>,
) -> Result<()> {
    launch::halo::pack(device(x.executor())?, rows, x, packed)
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
