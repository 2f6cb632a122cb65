//! Block-diagonal matrices: inverted where the matrix is, and multiplied with there.

use vcycle_kernels::{Transpose, compiled_fn};

use super::on_device;
use crate::arrays::{Csr, Vector};
use crate::cpu;
use crate::error::Result;
use crate::executor::Executor;
use crate::launch::setup::blocks as device;
use crate::reference;
use crate::reference::blocks::BlockArrays;
use crate::scalar::Scalar;

pub use crate::launch::blocks::DeviceBlocks;

compiled_fn! {
    /// The inverted diagonal blocks of a matrix, of at most so many rows, or the first row of one that is singular.
    pub fn inverted[any T: Scalar](
        a: &Csr<T>,
        most: usize,
        is_adaptive: bool,
    ) -> Result<Option<std::result::Result<DeviceBlocks<T>, usize>>> {
        on_device(a.executor(), |queue| {
            device::inverted(queue, a, most, is_adaptive)
        })
    }
}

/// The Frobenius norms of the blocks of so many rows and columns, negative beside the diagonal; none on the host, and for blocks
/// that are too large for kernels.
pub fn norms(a: &Csr<f64>, rows: usize) -> Result<Option<Csr<f64>>> {
    let norms = on_device(a.executor(), |queue| queue.block_norms(a, rows))?;
    Ok(norms.flatten())
}

/// Blocks, where they are.
pub enum Blocks<'a, T> {
    /// On the host, with the rows where threads take turns.
    Host(BlockArrays<'a, T>, &'a [usize]),
    /// On a device.
    Device(&'a DeviceBlocks<T>),
}

compiled_fn! {
    /// `y = B x`, or with the transpose of every block.
    ///
    /// # Panics
    /// When the vectors are not where the blocks are.
    pub fn apply[any T: Scalar](
        blocks: Blocks<'_, T>,
        transpose: Option<Transpose>,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let cols = x.cols();
        match (blocks, x.executor()) {
            (Blocks::Device(blocks), Executor::Gpu(gpu)) => {
                blocks.apply(gpu, transpose.is_some(), x, y)
            }
            (Blocks::Device(_), _) => unreachable!("made on a device"),
            (Blocks::Host(arrays, pieces), Executor::Cpu(threads)) => {
                let (x, y) = (x.host()?, y.host_mut()?);
                cpu::blocks::apply(threads, pieces, transpose, arrays, x, y, cols);
                Ok(())
            }
            (Blocks::Host(arrays, _), _) => {
                reference::blocks::apply(transpose, arrays, x.host()?, y.host_mut()?, cols);
                Ok(())
            }
        }
    }
}
