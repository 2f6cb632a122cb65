//! The format that devices store the matrices of levels in.

use std::sync::Arc;

use crate::error::Result;
use crate::matrix::{Csr, ProductWay, Tiles};
use crate::scalar::Scalar;
use crate::text;

/// How a device stores matrices, prolongations and restrictions of levels for the cycle. Processors keep compressed rows.
///
/// | | |
/// |---|---|
/// | `auto` | slices of rows, or of blocks where a matrix is made of them |
/// | `csr` | slices of rows |
/// | `mbsr` | tiles of 4 by 4 with bitmaps and all their values, as AmgT has them; Galerkin products are formed in tiles, too |
/// | `mbsr-packed` | the same with the values of entries alone |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LevelFormat {
    /// Slices of rows, or of blocks where a matrix is made of them.
    #[default]
    Auto,
    /// Slices of rows.
    Csr,
    /// Tiles of 4 by 4 with bitmaps and all their values; Galerkin products are formed in tiles, too.
    Mbsr,
    /// The same with the values of entries alone.
    MbsrPacked,
}

impl LevelFormat {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Csr, Self::Mbsr, Self::MbsrPacked];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Csr => "csr",
            Self::Mbsr => "mbsr",
            Self::MbsrPacked => "mbsr-packed",
        }
    }

    /// A matrix with which its device multiplies in this format.
    pub(super) fn stored<V: Scalar>(self, a: &Arc<Csr<V>>) -> Result<Arc<Csr<V>>> {
        Ok(match self {
            Self::Auto => Arc::clone(a),
            Self::Csr => Arc::new(a.on_device_in(None)?),
            Self::Mbsr => Arc::new(a.in_tiles(Tiles::Dense)?),
            Self::MbsrPacked => Arc::new(a.in_tiles(Tiles::Packed)?),
        })
    }

    /// `R A P`, formed in tiles where levels of a device are in these; else nothing.
    pub(super) fn galerkin(
        self,
        r: &Csr<f64>,
        a: &Csr<f64>,
        p: &Csr<f64>,
    ) -> Result<Option<Csr<f64>>> {
        let is_tiled = matches!(self, Self::Mbsr | Self::MbsrPacked);
        if !is_tiled || !a.executor().is_device() {
            return Ok(None);
        }
        let in_tiles = |a: &Csr<f64>, b: &Csr<f64>| a.multiply_in_way(b, ProductWay::Tiles);
        in_tiles(r, &in_tiles(a, p)?).map(Some)
    }
}

text::named!(LevelFormat, "format");
