//! Copies of numbers at equal distances.

use vcycle_gpu::Argument;

use crate::arrays::Vector;
use crate::error::Result;
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("strided.c");

/// Where numbers are: at `first`, `first + stride`, ...
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The place of the first number.
    pub first: usize,
    /// The distance between two.
    pub stride: usize,
}

impl Places {
    /// The numbers of column `place` of `count`, row after row.
    pub fn column(place: usize, count: usize) -> Self {
        Self {
            first: place,
            stride: count,
        }
    }

    /// Numbers side by side.
    pub fn from(first: usize) -> Self {
        Self { first, stride: 1 }
    }
}

/// Copies `n` numbers of a vector to places of another.
pub fn copy<T: Scalar>(
    gpu: &Gpu,
    n: usize,
    (x, from): (&Vector<T>, Places),
    (y, to): (&mut Vector<T>, Places),
) -> Result<()> {
    let kernel = gpu.kernel(FILE, "strided_copy", &[("T", T::KIND.name())])?;
    let at = |address: u64, places: Places| {
        let first = address + (places.first * size_of::<T>()) as u64;
        [
            Argument::U64(places.stride as u64),
            Argument::Address(first),
        ]
    };
    let mut arguments = vec![Argument::U64(n as u64)];
    arguments.extend(at(x.device()?, from));
    arguments.extend(at(y.device_mut()?, to));
    gpu.launch(
        &kernel,
        n.div_ceil(BLOCK as usize).max(1) as u32,
        &arguments,
    )
}
