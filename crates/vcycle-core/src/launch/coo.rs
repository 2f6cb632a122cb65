//! Launches of products with triplets that are sorted by row.

use vcycle_gpu::{Address, Argument};

use super::rows::{Finish, Operand, multiply, power, product_file, threads_for};
use crate::arrays::Vector;
use crate::error::Result;
use crate::gpu::{BLOCK, File, Gpu};
use crate::scalar::{Mixes, Scalar};

pub(super) const FILE: File = product_file!(BLOCK, "coo.c");

/// Entries of a block, as in the kernel.
pub(crate) const CHUNK: usize = 4 * BLOCK as usize;

/// A list of the rows that have something, and how many they are.
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub count: usize,
    pub rows: Address,
}

/// The arrays of a COO matrix.
pub(crate) struct Triplets {
    /// The row of every entry.
    pub entries: List,
    pub columns: Address,
    pub values: Address,
    /// Rows without entries, if they are to be finished, too.
    pub empty: Option<List>,
    /// Bytes of a sum, at most.
    pub bytes: usize,
    /// Room for two sums of each [`CHUNK`] of entries and each column of the vectors.
    pub parts: Address,
}

impl Triplets {
    fn operand(
        &self,
        kernel: &'static str,
        threads: usize,
        list: List,
        blocks: usize,
        cols: usize,
    ) -> Operand {
        let chunks = self.entries.count.div_ceil(CHUNK);
        let tails = self.parts + (chunks * cols * self.bytes) as u64;
        let mut arguments = vec![Argument::U32(cols as u32), Argument::U64(list.count as u64)];
        arguments.extend([list.rows, self.columns, self.parts, tails].map(Argument::Address));
        Operand {
            file: FILE,
            kernel,
            defines: vec![("THREADS", power(threads))],
            blocks,
            arguments,
            values: self.values,
        }
    }

    /// Queues the product and what becomes of it.
    pub(crate) fn multiply<M, X, Y>(
        &self,
        gpu: &Gpu,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<()>
    where
        M: Mixes<X, Y>,
        X: Scalar,
        Y: Scalar,
    {
        let (entries, cols) = (self.entries, x.cols());
        let items = entries.count.div_ceil(CHUNK) * cols;
        let threads = threads_for(gpu, 4 * gpu.width());
        let blocks_for_ends = (items * threads).div_ceil(BLOCK as usize);
        let mut kernels = vec![
            ("coo", entries, items),
            ("coo_ends", entries, blocks_for_ends),
        ];
        if let Some(empty) = self.empty {
            let blocks = (empty.count * cols).div_ceil(BLOCK as usize);
            kernels.push(("coo_empty", empty, blocks));
        }
        for (kernel, list, blocks) in kernels {
            let operand = self.operand(kernel, threads, list, blocks, cols);
            multiply::<M, X, Y>(gpu, operand, x, finish, y)?;
        }
        Ok(())
    }
}
