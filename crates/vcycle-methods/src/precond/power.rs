//! Patterns of powers of a matrix, on which approximate inverses are found.

use crate::matrix::SpGemm;
use crate::prelude::*;

/// Rows of a pattern longer than this are refused: their dense systems cost the cube of it.
pub(super) const LONGEST_ROW: usize = 512;

/// The pattern of a matrix to a power of at least 1.
pub(super) fn power_pattern(a: &Arc<Pattern>, power: usize) -> Result<Arc<Pattern>> {
    let mut product = Arc::clone(a);
    for _ in 1..power {
        product = Arc::clone(SpGemm::symbolic(&product, a)?.pattern());
    }
    Ok(product)
}

/// Fails, naming it, where a row is too long.
pub(super) fn check_lengths(component: &'static str, offsets: &[usize]) -> Result<()> {
    let length = |row: usize| offsets[row + 1] - offsets[row];
    match (0..offsets.len() - 1).find(|&row| length(row) > LONGEST_ROW) {
        None => Ok(()),
        Some(row) => Err(Error::Unsupported {
            component: component.to_owned(),
            operation: format!(
                "patterns of more than {LONGEST_ROW} entries a row (row {row} has {})",
                length(row)
            ),
        }),
    }
}
