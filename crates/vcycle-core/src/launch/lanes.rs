//! Kernels whose threads share the rows of a matrix, as in `kernels/tiles.h`.

use crate::arrays::Pattern;
use crate::error::Result;
use crate::gpu::{Define, Launch, literal};
use crate::launch::Queue;
use crate::launch::rows::threads_for;
use crate::scalar::Scalar;

impl Queue<'_> {
    /// As many of `lanes` threads as may go their own way together: one where none can.
    pub(crate) fn tile(&self, lanes: usize) -> usize {
        let name = &self.gpu.device().properties().name;
        match name.starts_with("cuda") || name.starts_with("hip") {
            true => lanes,
            false => 1,
        }
    }
}

impl Launch {
    /// Queues a kernel for rows of `length` entries in the mean, with as many threads for each as pay off.
    pub(crate) fn rows(self, queue: &Queue<'_>, (rows, length): (usize, usize)) -> Result<()> {
        let lanes = queue.tile(threads_for(queue.gpu, length));
        self.with(&[("LANES", literal(lanes))])
            .items(queue, rows * lanes)
    }
}

/// Rows of a graph and their mean length.
pub(crate) fn shape(graph: &Pattern) -> (usize, usize) {
    let rows = graph.size().rows;
    (rows, graph.nonzeros().div_ceil(rows.max(1)))
}

/// The definition of the type of values where they are complex.
pub(crate) fn number_of<V: Scalar>() -> &'static [Define] {
    match V::KIND.is_complex() {
        true => &[("NUMBER", "c64")],
        false => &[],
    }
}
