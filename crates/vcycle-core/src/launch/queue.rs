//! The queue of a device.
//!
//! A stage that has kernels is an operation of `operations`, which gives it the [`Queue`] of its matrix; it
//! works with buffers of the device. One that has none asks for host slices, which are copied then. How kernels are added is described in
//! `docs/kernels.md`.

use crate::executor::Element;
use crate::gpu::{Define, Gpu, Launch, kernels, literal};
use crate::launch::rows::threads_for;
use crate::prelude::*;

/// Blocks for every compute unit: enough to hide the latency of memory.
const BLOCKS_PER_UNIT: usize = 32;

/// A device with what set-ups do on it; everything is queued in order.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'e> {
    /// The device and its kernels.
    pub gpu: &'e Arc<Gpu>,
    /// The executor that is on it, for new memory.
    pub executor: &'e Executor,
}

impl<'e> Queue<'e> {
    /// That of an executor; none on the host.
    pub fn of(executor: &'e Executor) -> Option<Self> {
        match executor {
            Executor::Gpu(gpu) => Some(Self { gpu, executor }),
            _ => None,
        }
    }

    /// `len` values that are not initialised.
    pub(crate) fn uninit<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::room(self.executor, len)
    }

    /// `len` zeros.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::filled(self.executor, len, T::default())
    }

    /// `len` times `value`.
    pub(crate) fn filled(&self, len: usize, value: u32) -> Result<Buffer<u32>> {
        let mut values = self.uninit(len)?;
        kernels::arrays::fill(len, value, &mut values)?.items(self, len)?;
        Ok(values)
    }

    /// Blocks that keep the device busy.
    pub(crate) fn most_blocks(&self) -> usize {
        self.gpu.device().properties().compute_units * BLOCKS_PER_UNIT
    }
}

impl Launch {
    /// Queues a kernel that shares `items` among its threads with `FOR_ITEMS`.
    pub(crate) fn items(&self, queue: &Queue<'_>, items: usize) -> Result<()> {
        let blocks = items.div_ceil(self.file.block as usize);
        self.run(queue.gpu, blocks.min(queue.most_blocks()))
    }
}

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

#[cfg(test)]
pub(crate) mod tests;
