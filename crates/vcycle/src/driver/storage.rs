//! How the matrix is stored for the products of a solve.

use std::sync::Arc;

use crate::configuration::MatrixFormat;
use crate::error::{ConfigError, Result};
use crate::matrix::{Csr, Format};
use crate::scalar::Kind;
use vcycle_core::matrix::{Arrangement, StoredMatrix, WorkingScalar};
use vcycle_methods::precision::{Unit, bad_precision};

/// `a` for vectors of `W`, stored in `unit` and `format`. A node has `block_size` unknowns.
///
/// # Errors
/// For an entry that does not fit, a format that would need too much padding, and complex matrices in half precision.
pub(super) fn store_matrix<W: WorkingScalar>(
    a: &Arc<Csr<W::Wide>>,
    unit: Unit,
    format: Option<MatrixFormat>,
    block_size: usize,
) -> Result<StoredMatrix<W>> {
    let kind = kind_of::<W>(unit)?;
    let arrangement = match format {
        None => Arrangement::As(Format::Csr),
        Some(format) => arrangement(format, block_size)?,
    };
    W::store_matrix(a, kind, arrangement)
}

/// What a matrix for vectors of `W` is stored in.
pub(super) fn kind_of<W: WorkingScalar>(unit: Unit) -> Result<Kind, ConfigError> {
    let reason = "complex matrices are stored in dp or sp";
    let kind = unit.kind(W::KIND.is_complex());
    kind.ok_or_else(|| bad_precision(unit.name(), reason))
}

fn arrangement(format: MatrixFormat, block_size: usize) -> Result<Arrangement, ConfigError> {
    Ok(match format {
        MatrixFormat::Auto => Arrangement::Auto,
        MatrixFormat::Csr => Arrangement::Rows,
        MatrixFormat::Ell => Arrangement::As(Format::Ell),
        MatrixFormat::Sellp => Arrangement::As(Format::SellP),
        MatrixFormat::Hybrid => Arrangement::As(Format::Hybrid),
        MatrixFormat::Coo => Arrangement::As(Format::Coo),
        MatrixFormat::Dense => Arrangement::As(Format::Dense),
        MatrixFormat::Bsr if block_size == 1 => {
            let reason = "format: `bsr` is for several unknowns a node; tell how many (block size)";
            return Err(ConfigError::Conflict(reason.to_owned()));
        }
        MatrixFormat::Bsr => Arrangement::Blocks(block_size),
        MatrixFormat::Mbsr => Arrangement::Tiles,
    })
}

/// The format of a matrix in reports.
pub(super) fn format_of<W: WorkingScalar>(matrix: &StoredMatrix<W>) -> MatrixFormat {
    let is_in_blocks = |stored: String| stored.starts_with("bsr");
    match matrix.arrangement {
        Arrangement::Tiles => MatrixFormat::Mbsr,
        _ if matrix.operator.stored_as().is_some_and(is_in_blocks) => MatrixFormat::Bsr,
        Arrangement::Auto => MatrixFormat::Auto,
        Arrangement::As(format) => format.into(),
        Arrangement::Rows => MatrixFormat::Csr,
        Arrangement::Blocks(_) => MatrixFormat::Bsr,
    }
}
