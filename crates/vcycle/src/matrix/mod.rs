//! Sparse and dense matrix formats.

mod csr;

pub use csr::{
    Csr, Duplicates, Equilibrated, Facts, Galerkin, Pattern, Permutation, RowLengths, Scaling,
    SpGemm, Symmetry, galerkin, reverse_cuthill_mckee,
};
