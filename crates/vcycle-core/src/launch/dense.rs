//! Launches of products with dense matrices.

use vcycle_gpu::{Address, Argument};

use super::rows::{ByRows, product_file};
use crate::gpu::{BLOCK, File};
use crate::size::Size;

pub(super) const FILE: File = product_file!(BLOCK, "dense.c", "by_rows.c");

/// A dense matrix as the kernel takes it.
pub(crate) fn rows(size: Size, values: Address) -> ByRows {
    ByRows {
        file: FILE,
        size,
        length: size.cols,
        defines: Vec::new(),
        arguments: vec![Argument::U32(size.cols as u32)],
        values,
    }
}
