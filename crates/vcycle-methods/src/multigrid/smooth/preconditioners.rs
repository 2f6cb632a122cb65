//! Preconditioners as smoothers: the registration of each.

use super::damped::Damped;
use super::registration::SmootherRegistration;
use crate::host_stages;
use crate::precond::{self, ChebyshevBase, ChebyshevPolynomial, HybridGs, MulticolourGs};
use crate::prelude::*;
use crate::registration::{Need, Symmetry};

/// The diagonal, damped: [`precond::Jacobi`].
pub(super) const JACOBI: SmootherRegistration<f64> = SmootherRegistration {
    names: &["jacobi"],
    summary: "for Poisson-like problems, where it is a little faster",
    parameter: "weight",
    default: 2.0 / 3.0,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: true,
    needs: &[Need::Diagonal],
    over_ranks: true,
    on_host: &[],
    factory: |weight, _| Arc::new(precond::Jacobi { weight }),
};

/// The diagonal of absolute row sums: [`precond::L1Jacobi`].
///
/// No eigenvalue of a matrix over its absolute row sums is above 1: any weight below 2 converges, and
/// 1.5 damps those from a third on best, to a half. A sixth to a quarter fewer iterations than 1.
pub(super) const L1_JACOBI: SmootherRegistration<f64> = SmootherRegistration {
    names: &["l1-jacobi"],
    summary: "for nonsymmetric and classical hierarchies: converges for every symmetric positive definite matrix",
    default: 1.5,
    writes_default: false,
    needs: &[Need::Entries],
    factory: |weight, _| Arc::new(precond::L1Jacobi { weight }),
    ..JACOBI
};

/// [`ChebyshevPolynomial`] over the diagonal.
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

/// [`precond::Sor`]; Gauss-Seidel for `omega = 1`.
pub(super) const SOR: SmootherRegistration<f64> = SmootherRegistration {
    names: &["gs", "sor"],
    summary: "on few threads; backward after the correction if the matrix is symmetric",
    parameter: "omega",
    default: 1.0,
    writes_default: false,
    symmetry: Symmetry::OneSided,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::Diagonal],
    over_ranks: false,
    on_host: &[host_stages::TRIANGLES],
    factory: |omega, _| {
        Arc::new(precond::Sor {
            omega,
            ..precond::Sor::default()
        })
    },
};

/// [`precond::Ssor`]; symmetric Gauss-Seidel for `omega = 1`.
pub(super) const SSOR: SmootherRegistration<f64> = SmootherRegistration {
    names: &["sgs", "ssor"],
    summary: "on few threads, where one sweep has to be symmetric",
    symmetry: Symmetry::Symmetric,
    factory: |omega, _| {
        Arc::new(precond::Ssor {
            omega,
            ..precond::Ssor::default()
        })
    },
    ..SOR
};

/// Gauss-Seidel colour by colour: [`MulticolourGs`].
pub(super) const MULTICOLOUR_GS: SmootherRegistration<f64> = SmootherRegistration {
    names: &["mcgs"],
    summary: "in place of `gs` on many threads, where blocks are too few",
    writes_default: true,
    on_host: &[host_stages::COLOURS],
    factory: |omega, _| {
        Arc::new(MulticolourGs {
            omega,
            symmetric: false,
            ..MulticolourGs::default()
        })
    },
    ..SOR
};

/// [`MulticolourGs`], forward and backward.
pub(super) const MULTICOLOUR_SGS: SmootherRegistration<f64> = SmootherRegistration {
    names: &["mcsgs"],
    summary: "in place of `sgs` on many threads, where blocks are too few",
    symmetry: Symmetry::Symmetric,
    factory: |omega, _| {
        Arc::new(MulticolourGs {
            omega,
            symmetric: true,
            ..MulticolourGs::default()
        })
    },
    ..MULTICOLOUR_GS
};

/// Gauss-Seidel within blocks of rows: [`HybridGs`].
pub(super) const HYBRID_GS: SmootherRegistration<usize> = SmootherRegistration {
    names: &["hgs"],
    summary: "in place of `gs` on more threads; converges as `l1-jacobi` does",
    parameter: "rows of a block",
    default: 4096,
    writes_default: true,
    symmetry: Symmetry::OneSided,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::Diagonal],
    over_ranks: false,
    on_host: &[],
    factory: |block_rows, _| {
        Arc::new(HybridGs {
            block_rows,
            symmetric: false,
            ..HybridGs::default()
        })
    },
};

/// [`HybridGs`], forward and backward.
pub(super) const HYBRID_SGS: SmootherRegistration<usize> = SmootherRegistration {
    names: &["hsgs"],
    summary: "in place of `sgs` on more threads",
    symmetry: Symmetry::Symmetric,
    factory: |block_rows, _| {
        Arc::new(HybridGs {
            block_rows,
            symmetric: true,
            ..HybridGs::default()
        })
    },
    ..HYBRID_GS
};

/// Incomplete LU factorisation: [`precond::Ilu0`].
pub(super) const ILU0: SmootherRegistration<usize> = SmootherRegistration {
    names: &["ilu0"],
    summary: "for anisotropy and convection; a few sweeps on a device",
    parameter: "sweeps in place of a triangular solve, 0 for none",
    default: 0,
    writes_default: false,
    symmetry: Symmetry::Symmetric,
    on_host: &[host_stages::ILU0],
    factory: |sweeps, _| Arc::new(precond::Ilu0 { sweeps, isai: 0 }),
    ..HYBRID_GS
};

/// Blocks on the diagonal: [`precond::BlockJacobi`]. Undamped, blocks overcorrect as points do.
pub(super) const BLOCK_JACOBI: SmootherRegistration<usize> = SmootherRegistration {
    names: &["block-jacobi"],
    summary: "for several unknowns a node; damped by 2/3",
    parameter: "block size",
    default: 8,
    symmetry: Symmetry::Symmetric,
    needs: &[Need::Entries],
    factory: |block_size, _| {
        Arc::new(precond::BlockJacobi {
            block_size,
            weight: 2.0 / 3.0,
            ..precond::BlockJacobi::default()
        })
    },
    ..HYBRID_GS
};

/// Factorised sparse approximate inverse: [`precond::Fsai`], damped so that it converges.
pub(super) const FSAI: SmootherRegistration<precond::Fsai> = SmootherRegistration {
    names: &["fsai"],
    summary: "for ill-conditioned symmetric positive definite matrices on many threads; damped by itself",
    parameter: "steps:step-size:tolerance or any key=value of the preconditioner",
    default: precond::Fsai::DEFAULT,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::DefiniteMatrix],
    over_ranks: true,
    on_host: &[],
    factory: |parameters, _| Arc::new(Damped(OfLevel(parameters))),
};

/// An FSAI of a level: its matrix is symmetric where the finest is, but for rounding and what was filtered.
#[derive(Clone, Debug)]
struct OfLevel(precond::Fsai);

impl<T: Mixes<T, T>> Factory<T> for OfLevel {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        self.0.unchecked(a.as_ref(), ws)
    }
}
