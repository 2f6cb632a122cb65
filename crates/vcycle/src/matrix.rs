//! Sparse and dense matrix formats.
//!
//! [`Csr`] is the format everything converts to and from; the others are for products. Which of
//! them suits a matrix, [`choose_format`] tells from its row lengths.
//!
//! ```
//! use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
//! let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 1, 0, 1]);
//! let values = vec![2.0, -1.0, -1.0, 2.0];
//! let a = Csr::from_triplets(
//!     &Executor::cpu(), Size::square(2), rows, columns, values, Duplicates::Refuse,
//! )?;
//! assert_eq!(a.row(1), (&[0, 1][..], &[-1.0, 2.0][..]));
//! # Ok::<(), vcycle::Error>(())
//! ```

#[doc(inline)]
pub use vcycle_core::matrix::{
    Assembly, Bsr, Coo, Csr, Defects, Dense, Distributed, Duplicates, Ell, Equilibrated, Facts,
    Format, FormatCosts, Galerkin, GridOrder, Hybrid, Matching, Mbsr, Nodes, Numbering, Partition,
    Pattern, Permutation, Scaling, SellP, SpGemm, choose_format, convert_to, galerkin,
    reverse_cuthill_mckee,
};
#[doc(hidden)]
#[cfg(feature = "metis")]
#[doc(inline)]
pub use vcycle_core::matrix::{nested_dissection, recursive_bisection};
#[doc(inline)]
pub use vcycle_core::size::Extent;
