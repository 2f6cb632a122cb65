//! Launches of products with rows in slots: ELL and SELL-P.

use vcycle_gpu::{Address, Argument};

use super::rows::{ByRows, product_file};
use crate::gpu::{BLOCK, File};
use crate::size::Size;

pub(super) const FILE: File = product_file!(BLOCK, "ell.c", "by_rows.c");

/// The arrays of an ELL or a SELL-P matrix.
pub(crate) struct Slots {
    pub size: Size,
    pub slice_rows: usize,
    /// Slots of a row, without slices.
    pub width: usize,
    /// First slots of the slices; null without.
    pub offsets: Address,
    pub columns: Address,
    pub values: Address,
}

/// As the kernel takes it: neighbouring threads have neighbouring rows.
pub(crate) fn rows(a: Slots) -> ByRows {
    ByRows {
        file: FILE,
        size: a.size,
        length: 1,
        defines: Vec::new(),
        arguments: vec![
            Argument::U64(a.slice_rows as u64),
            Argument::U32(a.width as u32),
            Argument::Address(a.offsets),
            Argument::Address(a.columns),
        ],
        values: a.values,
    }
}
