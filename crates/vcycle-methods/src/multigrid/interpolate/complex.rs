//! Classical interpolation of complex matrices, by the host.

use super::classical::classical_row;
use super::extended::extended_row;
use super::extended_i::extended_i_row;
use super::kind::Interpolation;
use super::prolongation::{Weighing, weighted_by_host};
use crate::error::{Error, Result};
use crate::matrix::Csr;
use crate::scalar::c64;

/// The weights of an interpolation that has them for complex values.
///
/// # Errors
/// For the others, by their name; when memory is short.
pub(in crate::multigrid) fn complex_weights(
    interpolation: Interpolation,
    given: &Weighing<'_, c64>,
) -> Result<Csr<c64>> {
    match interpolation {
        Interpolation::Classical => weighted_by_host(given, classical_row),
        Interpolation::Extended => weighted_by_host(given, extended_row),
        Interpolation::ExtendedI => weighted_by_host(given, extended_i_row),
        other => Err(Error::Unsupported {
            component: format!("interpolation `{other}`"),
            operation: "complex matrices".to_owned(),
        }),
    }
}
