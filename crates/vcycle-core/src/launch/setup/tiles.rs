//! Kernels whose threads share the rows of a matrix, as in `kernels/tiles.h`.

use vcycle_gpu::{Address, Argument};

use super::Queue;
use crate::arrays::Pattern;
use crate::error::Result;
use crate::gpu::{Define, Launch};
use crate::launch::rows::{power, threads_for};
use crate::scalar::Scalar;

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
}

impl<const N: usize> Launch<'_, N> {
    /// Queues a kernel for rows of `length` entries in the mean, with as many threads for each as pay off.
    pub(super) fn rows(self, queue: &Queue<'_>, (rows, length): (usize, usize)) -> Result<()> {
        let lanes = queue.tile(threads_for(queue.gpu, length));
        let further = [self.defines(), &[("LANES", power(lanes))]].concat();
        self.with(&further).items(queue, rows * lanes)
    }
}

/// Rows of a graph and their mean length.
pub(super) fn shape(graph: &Pattern) -> (usize, usize) {
    let rows = graph.size().rows;
    (rows, graph.nonzeros().div_ceil(rows.max(1)))
}

/// The definition of the type of values where they are complex.
pub(super) fn number_of<V: Scalar>() -> &'static [Define] {
    match V::KIND.is_complex() {
        true => &[("NUMBER", "c64")],
        false => &[],
    }
}

/// The address of the number at a place of an array of such.
pub(super) fn at(array: Address, place: usize) -> Argument {
    Argument::Address(array + (place * size_of::<u32>()) as u64)
}
