//! Choices of one word.

use serde::{Serialize, Serializer};

use crate::error::ConfigError;
use crate::matrix::Format;

/// Names of the variants, which options and files have; and those of later versions.
macro_rules! named {
    ($type:ident, $family:literal: $($variant:ident = $name:literal),+; $($later:literal),*) => {
        impl std::str::FromStr for $type {
            type Err = ConfigError;

            fn from_str(text: &str) -> Result<Self, ConfigError> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    $($later => Err(ConfigError::NotAvailable {
                        family: $family,
                        name: text.to_owned(),
                    }),)*
                    _ => Err(ConfigError::unknown_name($family, text, vec![$($name),+])),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self {
                    $(Self::$variant => $name),+
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    };
}

/// What the matrix annihilates, and so no solution can be told from another by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nullspace {
    /// `near-nullspace` if one is known and any of its vectors is annihilated, `constant` if every
    /// row and every column sums to zero, both if both is so, else `none`.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// The constants of the connected parts of the matrix whose rows and columns sum to zero:
    /// pure Neumann conditions. They are taken out of the right-hand side, so that there is a
    /// solution, and out of the solution. The status may then be `converged`, and `outside_range`
    /// in the outcome is what was taken out; by `auto` a right-hand side with such a component is
    /// `inconsistent`.
    Constant,
    /// Those vectors of the near-nullspace that the matrix and its transpose annihilate (the
    /// rigid-body modes of a body that nothing holds), or, without vectors, the constants of the
    /// components of a node.
    NearNullspace,
}

named!(Nullspace, "nullspace": Auto = "auto", None = "none", Constant = "constant", NearNullspace = "near-nullspace";);

/// The format of the matrix a solver multiplies with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

named!(MatrixFormat, "format": Auto = "auto", Csr = "csr", Ell = "ell", Sellp = "sellp", Hybrid = "hybrid", Coo = "coo",
    Dense = "dense", Bsr = "bsr", Mbsr = "mbsr"; "stencil");

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
