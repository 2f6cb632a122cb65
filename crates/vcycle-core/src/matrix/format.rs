//! Chooses a storage format from the row lengths of a matrix.

use super::hybrid::smallest_width;
use super::rowwise::check_padding;
use super::slots::{SLICE_ROWS, longest_row, slice_offsets};
use super::{Coo, Dense, Ell, Hybrid, SellP};
use crate::linop::LinOp;
use crate::prelude::*;

/// The formats sparse matrices are multiplied in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// [`Csr`].
    Csr,
    /// [`Ell`].
    Ell,
    /// [`SellP`].
    SellP,
    /// [`Hybrid`].
    Hybrid,
    /// [`Coo`].
    Coo,
    /// [`Dense`].
    Dense,
}

impl Format {
    /// The name, as options have it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csr => "csr",
            Format::Ell => "ell",
            Format::SellP => "sellp",
            Format::Hybrid => "hybrid",
            Format::Coo => "coo",
            Format::Dense => "dense",
        }
    }
}

/// The format in which a product with this pattern moves the fewest bytes.
///
/// A product waits for memory, so what it reads decides. CSR reads a column and a value for every
/// entry and an offset for every row; ELL and SELL-P read no row offsets but padding, the hybrid
/// format padding for few rows and a row index for each entry beyond. So rows of equal length ask
/// for ELL, rows that are alike in places for SELL-P, a few long rows among short ones for the
/// hybrid format, and rows without order for CSR. COO reads nothing for empty rows, and dense rows
/// have no columns to read. Values are counted as doubles. [`FormatCosts`] has the bytes of each.
///
/// ```
/// use vcycle::{executor::Executor, matrix::{choose_format, convert_to, Csr, Format}};
/// let a = Csr::<f64>::identity(&Executor::cpu(), 1000);
/// let format = choose_format(a.pattern());
/// assert_eq!(format, Format::Ell);
/// let fast = convert_to(&a, format)?;
/// assert_eq!(fast.size(), a.size());
/// # Ok::<(), vcycle::Error>(())
/// ```
pub fn choose_format(pattern: &Pattern) -> Format {
    FormatCosts::new(pattern).cheapest()
}

/// The bytes that a product reads of a matrix of doubles in each format: the measure [`choose_format`] goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatCosts {
    /// Formats and their bytes, the cheapest first.
    pub bytes: Vec<(Format, usize)>,
}

impl FormatCosts {
    /// Counts the entries of the rows of a pattern.
    pub fn new(pattern: &Pattern) -> Self {
        const VALUE: usize = size_of::<f64>();
        const INDEX: usize = size_of::<u32>();
        const OFFSET: usize = size_of::<usize>();
        let (size, entries, offsets) = (pattern.size(), pattern.nonzeros(), pattern.offsets());
        let csr = entries * (VALUE + INDEX) + offsets.len() * OFFSET;
        if entries == 0 {
            let bytes = vec![(Format::Csr, csr)];
            return Self { bytes };
        }
        let longest = longest_row(offsets).saturating_mul(VALUE + INDEX);
        let slices = slice_offsets(offsets, SLICE_ROWS);
        let slots = slices[slices.len() - 1].saturating_mul(VALUE + INDEX);
        let width = smallest_width(offsets, VALUE);
        let beyond = |row: &[usize]| (row[1] - row[0]).saturating_sub(width);
        let rest: usize = offsets.windows(2).map(beyond).sum();
        let dense = size.rows.saturating_mul(size.cols).saturating_mul(VALUE);
        let mut bytes = vec![
            (Format::Ell, size.rows.saturating_mul(longest)),
            (Format::SellP, slots + slices.len() * OFFSET),
            // Before the hybrid format, which is the same where no slots are worth it.
            (Format::Coo, entries * (VALUE + 2 * INDEX)),
            (
                Format::Hybrid,
                size.rows * width * (VALUE + INDEX) + rest * (VALUE + 2 * INDEX),
            ),
            (Format::Csr, csr),
            (Format::Dense, dense),
        ];
        bytes.sort_by_key(|&(_, bytes)| bytes);
        Self { bytes }
    }

    /// The format with the fewest bytes.
    pub fn cheapest(&self) -> Format {
        self.bytes[0].0
    }
}

/// The matrix in another format, as an operator.
///
/// # Errors
/// When the format would need [too much padding](crate::Error::TooMuchPadding) or memory; never
/// for the one [`choose_format`] names, unless memory is short.
pub fn convert_to<T: Mixes<T, T>>(a: &Csr<T>, format: Format) -> Result<Arc<dyn LinOp<T>>> {
    arranged(&Arc::new(a.clone()), format)
}

/// The same for vectors of another type; the matrix is shared where its format stays.
pub(super) fn arranged<M: Mixes<W, W>, W: Scalar>(
    a: &Arc<Csr<M>>,
    format: Format,
) -> Result<Arc<dyn LinOp<W>>> {
    Ok(match format {
        Format::Csr => Arc::clone(a) as _,
        Format::Ell => Arc::new(Ell::from_csr(a)?),
        Format::SellP => Arc::new(SellP::from_csr(a)?),
        Format::Hybrid => Arc::new(Hybrid::from_csr(a)?),
        Format::Coo => Arc::new(Coo::from_csr(a)?),
        Format::Dense => {
            // Zeros count as the padding of dense rows.
            let slots = a.size().rows.saturating_mul(a.size().cols);
            check_padding("dense", slots, a.nonzeros())?;
            Arc::new(Dense::from_csr(a)?)
        }
    })
}
