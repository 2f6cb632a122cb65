//! Classical interpolation of complex matrices.

use super::classical::classical_row;
use super::extended::extended_row;
use super::extended_i::extended_i_row;
use super::kind::Interpolation;
use super::prolongation::{Weighing, weighted};
use crate::error::{Error, Result};
use crate::matrix::Csr;
use crate::operations::interpolate::WeightMethod;
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
        Interpolation::Classical => weighted(WeightMethod::Classical, given, classical_row),
        Interpolation::Extended => weighted(WeightMethod::Extended, given, extended_row),
        Interpolation::ExtendedI => weighted(WeightMethod::ExtendedI, given, extended_i_row),
        other => Err(Error::Unsupported {
            component: format!("interpolation `{other}`"),
            operation: "complex matrices".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::matrix::Pattern;
    use crate::multigrid::coarsen::{self, Splitting};
    use crate::multigrid::interpolate::Truncation;
    use crate::multigrid::strength::Strength;

    /// The weights of a method; the choice goes by the entries of a real matrix of the same pattern.
    fn weights(
        method: Interpolation,
        a: &Csr<c64>,
        (strength, splitting): (&Pattern, &Splitting),
        truncation: &Truncation,
    ) -> Csr<c64> {
        complex_weights(method, &Weighing::new(a, strength, splitting, truncation)).unwrap()
    }

    #[test]
    fn weights_of_devices_are_those_of_the_host() {
        let Some(device) = vcycle_core::testing::device() else {
            return;
        };
        let real = gallery::build("poisson5:9", &Executor::reference())
            .unwrap()
            .matrix;
        let strength = Strength::default().graph(&real).unwrap();
        let splitting = coarsen::pmis(&strength, 1).unwrap();
        let there = Strength::default()
            .graph(&real.copy_to(&device).unwrap())
            .unwrap();
        for spec in ["helmholtz:9,6,0.5", "magnetic:9,0.05"] {
            let a = gallery::build_complex(spec, &Executor::reference())
                .unwrap()
                .matrix;
            for method in [
                Interpolation::Classical,
                Interpolation::Extended,
                Interpolation::ExtendedI,
            ] {
                for truncation in [Truncation::none(), Truncation::default()] {
                    let expected = weights(method, &a, (&strength, &splitting), &truncation);
                    let copy = a.copy_to(&device).unwrap();
                    let found = weights(method, &copy, (&there, &splitting), &truncation);
                    assert_eq!(found.columns(), expected.columns(), "{spec} {method}");
                    for (found, expected) in found.values().iter().zip(expected.values()) {
                        let apart = (found - expected).norm();
                        assert!(apart < 1e-12, "{spec} {method}: {found} {expected}");
                    }
                }
            }
        }
    }
}
