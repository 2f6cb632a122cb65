//! Sparse and dense matrix formats.

mod csr;

pub(crate) use csr::Slice;
pub use csr::{Csr, Duplicates, Pattern};
