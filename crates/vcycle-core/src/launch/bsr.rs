//! Launches of products with dense blocks in sparse rows.

use vcycle_gpu::{Address, Argument};

use super::rows::{ByRows, product_file};
use crate::gpu::{BLOCK, File};
use crate::size::Size;

pub(super) const FILE: File = product_file!(BLOCK, "bsr.c", "by_rows.c");

/// The arrays of a BSR matrix.
pub(crate) struct Blocks {
    pub size: Size,
    pub block: Size,
    /// Number of blocks.
    pub count: usize,
    pub offsets: Address,
    pub columns: Address,
    pub values: Address,
}

/// As the kernel takes it.
pub(crate) fn rows(a: Blocks) -> ByRows {
    let entries = a.count * a.block.rows * a.block.cols;
    ByRows {
        file: FILE,
        size: a.size,
        length: entries / a.size.rows.max(1),
        defines: Vec::new(),
        arguments: vec![
            Argument::U32(a.block.rows as u32),
            Argument::U32(a.block.cols as u32),
            Argument::Address(a.offsets),
            Argument::Address(a.columns),
        ],
        values: a.values,
    }
}
