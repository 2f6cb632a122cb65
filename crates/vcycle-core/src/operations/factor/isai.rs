//! Incomplete sparse approximate inverses.

use vcycle_kernels::compiled_fn;

use crate::gpu::{BLOCK, kernels::isai as kernels};
use crate::launch::prelude::*;

/// Entries of a row, at most, whose system a thread solves.
const LONGEST: usize = 64;
/// Bytes that the systems of all threads may take together.
const BYTES: usize = 256 << 20;

compiled_fn! {
    /// The values of an approximate inverse of `a` on a pattern of row offsets and columns, each row solved for alone. Where the system
    /// of a row is singular they are not finite. None, too, where a row is too long for a thread.
    pub fn isai[any T: Scalar](a: &Csr<T>, offsets: &[usize], columns: &[u32]) -> Result<Option<Vec<T>>> {
        let lengths = offsets.windows(2).map(|ends| ends[1] - ends[0]);
        let longest = lengths.max().unwrap_or(0);
        let Some(queue) = Queue::of(a.executor()).filter(|_| longest <= LONGEST) else {
            return Ok(None);
        };
        let rows = a.size().rows;
        let of_thread = (longest * (longest + 1)).max(1);
        let of_block = of_thread * BLOCK as usize;
        let fitting = BYTES / (of_block * size_of::<T::Arith>());
        let blocks = rows.div_ceil(BLOCK as usize);
        let blocks = blocks.min(queue.most_blocks()).min(fitting.max(1));
        let mut rooms = queue.uninit::<T::Arith>((blocks * of_block).max(1))?;
        let starts = Buffer::from_vec(queue.executor, offsets.to_vec());
        let pattern = Buffer::from_vec(queue.executor, columns.to_vec());
        let mut out = queue.uninit(columns.len())?;
        kernels::isai_rows(rows, a, &starts, &pattern, &mut rooms, &mut out)?
            .run(queue.gpu, blocks)?;
        Ok(Some(out.into_vec()))
    }
}
