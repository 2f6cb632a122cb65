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
    /// Compressed rows, of which a device puts those with the same columns side by side, wherever they stand, and multiplies in blocks of these: for high order elements.
    CsrGrouped,
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
    /// Tiles of 4 by 4 with bitmaps and the values of entries alone.
    MbsrPacked,
}

impl FromStr for MatrixFormat {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "auto" => Ok(Self::Auto),
            "csr" => Ok(Self::Csr),
            "csr-grouped" => Ok(Self::CsrGrouped),
            "ell" => Ok(Self::Ell),
            "sellp" => Ok(Self::Sellp),
            "hybrid" => Ok(Self::Hybrid),
            "coo" => Ok(Self::Coo),
            "dense" => Ok(Self::Dense),
            "bsr" => Ok(Self::Bsr),
            "mbsr" => Ok(Self::Mbsr),
            "mbsr-packed" => Ok(Self::MbsrPacked),
            _ => {
                let known = "auto csr csr-grouped ell sellp hybrid coo dense bsr mbsr mbsr-packed";
                let known: Vec<&str> = known.split(' ').collect();
                Err(unknown_name("format", text, &known, &["stencil"]))
            }
        }
    }
}

impl Display for MatrixFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Csr => "csr",
            Self::CsrGrouped => "csr-grouped",
            Self::Ell => "ell",
            Self::Sellp => "sellp",
            Self::Hybrid => "hybrid",
            Self::Coo => "coo",
            Self::Dense => "dense",
            Self::Bsr => "bsr",
            Self::Mbsr => "mbsr",
            Self::MbsrPacked => "mbsr-packed",
        })
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
