//! Many small systems at once, on devices: a block of threads each.

use vcycle_kernels::compiled_fn;

use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::Executor;
use crate::launch;
pub use crate::launch::batch::{BatchArrays, BatchEnded, BatchEnding, BatchIteration, BatchRun};
use crate::scalar::Scalar;

compiled_fn! {
    /// Solves all systems, starting from `x`; right-hand sides and solutions lie one behind the other.
    pub fn solve[any T: Scalar](run: &BatchRun, a: &BatchArrays<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<Vec<BatchEnded>> {
        match x.executor().clone() {
            Executor::Gpu(gpu) => launch::batch::solve(&gpu, run, a, b, x),
            host => Err(host.lacks("batches of devices", "any of them")),
        }
    }
}
