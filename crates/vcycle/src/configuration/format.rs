//! The format of the matrix.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use super::components::unknown_name;
use crate::error::ConfigError;
use crate::matrix::Format;

/// The format of the matrix a solver multiplies with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MatrixFormat {
    /// The one that moves the fewest bytes; a device chooses between slices of rows and of blocks.
    Auto,
    /// Compressed rows, as it was read: nothing is copied. A device multiplies in slices of rows.
    #[default]
    Csr,
    /// Rows of equal length.
    Ell,
    /// Slices of rows of equal length.
    Sellp,
    /// Rows of equal length, and what is longer apart.
    Hybrid,
    /// Row, column and value of every entry. A device shares entries evenly, however long rows are.
    Coo,
    /// Every entry, zeros too; refused where these would be too many.
    Dense,
    /// Dense blocks of the unknowns of a node, of a system that has several.
    Bsr,
    /// Tiles of 4 by 4 with bitmaps and all their values, as AmgT has them.
    Mbsr,
}

/// Every format and its name.
const NAMES: [(MatrixFormat, &str); 9] = [
    (MatrixFormat::Auto, "auto"),
    (MatrixFormat::Csr, "csr"),
    (MatrixFormat::Ell, "ell"),
    (MatrixFormat::Sellp, "sellp"),
    (MatrixFormat::Hybrid, "hybrid"),
    (MatrixFormat::Coo, "coo"),
    (MatrixFormat::Dense, "dense"),
    (MatrixFormat::Bsr, "bsr"),
    (MatrixFormat::Mbsr, "mbsr"),
];

impl FromStr for MatrixFormat {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let found = NAMES.iter().find(|(_, name)| *name == text);
        found
            .map(|&(format, _)| format)
            .ok_or_else(|| unknown_name("format", text, &NAMES.map(|(_, name)| name), &["stencil"]))
    }
}

impl Display for MatrixFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = NAMES.iter().find(|(format, _)| format == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl MatrixFormat {
    pub(super) fn from_value(value: Value) -> Result<Self, ConfigError> {
        value.as_str().unwrap_or_default().parse()
    }
}

impl From<Format> for MatrixFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Csr => Self::Csr,
            Format::Ell => Self::Ell,
            Format::SellP => Self::Sellp,
            Format::Hybrid => Self::Hybrid,
            Format::Coo => Self::Coo,
            Format::Dense => Self::Dense,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MatrixFormat;

    #[test]
    fn the_nearest_name_is_told() {
        let error = "elll".parse::<MatrixFormat>().unwrap_err();
        assert!(error.to_string().contains("`ell`"));
    }
}
