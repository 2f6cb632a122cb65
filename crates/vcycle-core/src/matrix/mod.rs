//! Sparse and dense matrix formats.
//!
//! [`Csr`] is the format everything converts to and from; the others are for products. Which of
//! them suits a matrix, [`choose_format`] finds from its row lengths.

mod bsr;
mod coo;
mod csr;
mod dense;
mod distributed;
mod finished;
mod format;
mod hybrid;
mod indices;
mod mbsr;
mod rowwise;
mod slots;
mod stored;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::csr::testing::of_rows;
pub use bsr::Bsr;
pub use coo::Coo;
pub use csr::{
    Accumulator, Rows, RowsOf, ShortRow, balance, build, check_product, cut_rows, fill_rows,
    fill_rows_with, ranges, zeroed,
};
pub use csr::{
    Assembly, Csr, Defects, Duplicates, Equilibrated, Facts, Galerkin, Matching, Nodes, Numbering,
    Pattern, Permutation, Scaling, SpGemm, galerkin, reverse_cuthill_mckee,
};
#[cfg(feature = "metis")]
pub use csr::{dissect, nested_dissection, recursive_bisection};
pub use dense::Dense;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub use distributed::testing::on_parts;
pub use distributed::{
    CellBox, CellMoves, CellOrder, DeviceHalo, Distributed, Gathered, GridOrder, GridPart, Halo,
    LocalNumbers, Overlap, Partition, galerkin_in_blocks, galerkin_shared,
};
pub use format::{Format, FormatCosts, choose_format, convert_to};
pub use hybrid::Hybrid;
pub use mbsr::Mbsr;
pub use slots::{Ell, SellP};
pub use stored::{Arrangement, StoredMatrix, WorkingScalar};
