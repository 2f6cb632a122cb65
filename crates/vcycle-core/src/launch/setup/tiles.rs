//! Kernels whose threads share the rows of a matrix, as in `kernels/tiles.h`.

use vcycle_gpu::{Address, Argument};

use super::Queue;
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::gpu::{Define, File};
use crate::launch::rows::{power, threads_for};
use crate::scalar::Scalar;

/// Includes files of `kernels/` after the words for rows that threads share.
macro_rules! tile_file {
    ($name:literal $(, $before:literal)*) => {
        crate::gpu::File {
            name: $name,
            text: concat!(
                include_str!("../../gpu/kernels/tiles.h"),
                $(include_str!(concat!("../../gpu/kernels/", $before)),)*
                include_str!(concat!("../../gpu/kernels/", $name)),
            ),
            block: crate::gpu::BLOCK,
        }
    };
}
pub(super) use tile_file;

/// The null pointer, for what a kernel does not read.
pub(super) const NOTHING: Argument = Argument::Address(0);

impl Queue<'_> {
    /// As many of `lanes` threads as may go their own way together: one where none can.
    pub(super) fn tile(&self, lanes: usize) -> usize {
        let name = &self.gpu.device().properties().name;
        match name.starts_with("cuda") || name.starts_with("hip") {
            true => lanes,
            false => 1,
        }
    }

    /// Queues a kernel for rows of `length` entries in the mean.
    pub(super) fn rows(
        &self,
        file: File,
        name: &'static str,
        defines: &[Define],
        (rows, length): (usize, usize),
        arguments: &[Argument],
    ) -> Result<()> {
        let lanes = self.tile(threads_for(self.gpu, length));
        let defines = [defines, &[("LANES", power(lanes))]].concat();
        self.items(file, name, &defines, rows * lanes, arguments)
    }
}

/// Rows of a graph and their mean length.
pub(super) fn shape(graph: &Pattern) -> (usize, usize) {
    let rows = graph.size().rows;
    (rows, graph.nonzeros().div_ceil(rows.max(1)))
}

/// Row offsets and columns.
pub(super) fn graph(graph: &Pattern) -> Result<[Argument; 2]> {
    Ok(graph.device()?.map(Argument::Address))
}

/// Row offsets, columns and values.
pub(super) fn matrix<V: Scalar>(a: &Csr<V>) -> Result<[Argument; 3]> {
    let [offsets, columns] = graph(a.pattern())?;
    Ok([
        offsets,
        columns,
        Argument::Address(a.values_buffer().device()?),
    ])
}

/// The definition of the type of values where they are complex.
pub(super) fn number_of<V: Scalar>() -> &'static [Define] {
    match V::KIND.is_complex() {
        true => &[("NUMBER", "c64")],
        false => &[],
    }
}

/// A `u32`.
pub(super) fn word(value: usize) -> Argument {
    Argument::U32(value as u32)
}

/// The address of the number at a place of an array of such.
pub(super) fn at(array: Address, place: usize) -> Argument {
    Argument::Address(array + (place * size_of::<u32>()) as u64)
}
