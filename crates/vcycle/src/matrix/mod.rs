//! Sparse and dense matrix formats.

mod csr;

pub use csr::{Csr, Duplicates, Galerkin, Pattern, SpGemm, galerkin};
