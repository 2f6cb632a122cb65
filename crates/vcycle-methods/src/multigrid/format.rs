//! The format that devices store the matrices of levels in.

use crate::prelude::*;
use crate::text;

/// How a device stores matrices, prolongations and restrictions of levels for the cycle. Processors keep compressed rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LevelFormat {
    /// Slices of rows, or of blocks where a matrix is made of them.
    #[default]
    Auto,
    /// Slices of rows.
    Csr,
    /// Tiles of 4 by 4 with bitmaps and all their values, as AmgT has them; Galerkin products are formed in tiles, too.
    Mbsr,
}

impl LevelFormat {
    /// A matrix with which its device multiplies in this format.
    pub(super) fn stored<V: Scalar>(self, a: &Arc<Csr<V>>) -> Result<Arc<Csr<V>>> {
        Ok(match self {
            Self::Auto => Arc::clone(a),
            Self::Csr => Arc::new(a.on_device_in(None)?),
            Self::Mbsr => Arc::new(a.in_tiles()?),
        })
    }

    /// `R A P`, formed in tiles where levels of a device are in these; else nothing.
    pub(super) fn galerkin(
        self,
        r: &Csr<f64>,
        a: &Csr<f64>,
        p: &Csr<f64>,
    ) -> Result<Option<Csr<f64>>> {
        if self != Self::Mbsr || !a.executor().is_device() {
            return Ok(None);
        }
        r.multiply_in_tiles(&a.multiply_in_tiles(p)?).map(Some)
    }
}

text::named!(LevelFormat, "format": Auto = "auto", Csr = "csr", Mbsr = "mbsr");
