//! Chebyshev polynomials over a diagonal.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::precond::{ChebyshevBase, ChebyshevPolynomial};
use crate::registration::{Need, Symmetry};

/// [`ChebyshevPolynomial`].
pub(super) const CHEBYSHEV: SmootherRegistration<usize> = SmootherRegistration {
    names: &["chebyshev"],
    summary: "for few, strong sweeps on many threads",
    parameter: "degree",
    default: 2,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: true,
    needs: &[Need::Diagonal],
    over_ranks: true,
    on_host: &[],
    factory: |degree, radius| {
        Arc::new(ChebyshevPolynomial {
            degree,
            radius,
            ..ChebyshevPolynomial::default()
        })
    },
};

/// [`ChebyshevPolynomial`] over `l1-jacobi`.
pub(super) const CHEBYSHEV_L1: SmootherRegistration<usize> = SmootherRegistration {
    names: &["chebyshev-l1"],
    summary: "where the rows of a matrix are of very different sums",
    needs: &[Need::Entries],
    factory: |degree, _| {
        Arc::new(ChebyshevPolynomial {
            degree,
            base: ChebyshevBase::L1Jacobi,
            ..ChebyshevPolynomial::default()
        })
    },
    ..CHEBYSHEV
};
