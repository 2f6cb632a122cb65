//! Patterns of approximate inverses: powers of a matrix.

use crate::error::{Error, Result};
use crate::matrix::Pattern;

/// Rows of a pattern longer than this are refused: their dense systems cost the cube of it.
pub(super) const LONGEST_ROW: usize = 512;

/// Row offsets and columns.
pub(super) type Structure = (Vec<usize>, Vec<u32>);

/// The pattern of `a` to a power of at least 1.
pub(super) fn power_pattern(a: &Pattern, power: usize) -> Structure {
    let mut pattern = (a.offsets().to_vec(), a.columns().to_vec());
    for _ in 1..power {
        pattern = product_pattern(&pattern, a);
    }
    pattern
}

fn product_pattern((offsets, columns): &Structure, right: &Pattern) -> Structure {
    let mut seen = vec![usize::MAX; right.size().cols];
    let mut product: Structure = (vec![0], Vec::new());
    for (row, ends) in offsets.windows(2).enumerate() {
        let start = product.1.len();
        for &middle in &columns[ends[0]..ends[1]] {
            for &column in &right.columns()[right.range(middle as usize)] {
                if std::mem::replace(&mut seen[column as usize], row) != row {
                    product.1.push(column);
                }
            }
        }
        product.1[start..].sort_unstable();
        product.0.push(product.1.len());
    }
    product
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
