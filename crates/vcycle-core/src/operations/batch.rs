//! Many small systems at once, on devices: a block of threads each.

use vcycle_kernels::compiled_fn;

use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::launch;
pub use crate::launch::batch::{
    BatchArrays, BatchEnded, BatchEnding, BatchEndings, BatchInverse, BatchIteration, BatchPattern,
    BatchRun,
};
use crate::launch::setup::Queue;
use crate::scalar::Scalar;

compiled_fn! {
    /// Queues the solves of all systems, starting from `x`; right-hand sides and solutions lie one behind the other.
    pub fn solve[any T: Scalar](run: &BatchRun, a: &BatchArrays<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<BatchEndings> {
        match x.executor().clone() {
            Executor::Gpu(gpu) => launch::batch::solve(&gpu, run, a, b, x),
            host => Err(host.lacks("batches of devices", "any of them")),
        }
    }
}

compiled_fn! {
    /// Matrices of a pattern with these values, row by row and one matrix after the other, in the memory of a device.
    pub fn arrays[any T: Scalar](pattern: BatchPattern, values: &Buffer<T>) -> Result<BatchArrays<T>> {
        match Queue::of(values.executor()) {
            Some(queue) => queue.padded(pattern, values),
            None => Err(values.executor().lacks("batches of devices", "any of them")),
        }
    }
}
