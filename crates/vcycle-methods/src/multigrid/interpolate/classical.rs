//! Classical interpolation: from coarse neighbours; couplings to strong fine neighbours are distributed over
//! the coarse ones they share.

use std::sync::Arc;

use super::couplings::Couplings;
use super::prolongation::{Weighing, weighted};
use super::registration::{InterpolationMethod, InterpolationRegistration};
use super::row::Row;
use super::truncation::Truncation;
use crate::error::Result;
use crate::matrix::{Csr, Pattern};
use crate::multigrid::coarsen::Splitting;
use crate::operations::interpolate::WeightMethod;
use crate::scalar::Field;

/// What it says of itself.
pub(super) const CLASSICAL: InterpolationRegistration = InterpolationRegistration {
    name: "classical",
    summary: "Classical interpolation (Ruge and Stüben 1987), modified for coarsenings where strongly coupled fine unknowns need not share a coarse one (Henson and Yang 2002).",
    reads: &["strength", "truncation"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Weights {
        real: weights,
        complex: Some(weights),
    },
};

/// Classical interpolation (Ruge and Stüben 1987), modified for coarsenings where strongly
/// coupled fine unknowns need not share a coarse one (Henson and Yang 2002):
///
/// `w_ij = -(a_ij + Σ_{k∈F_i\F_i*} a_ik ā_kj / Σ_{m∈C_i} ā_km) / (a_ii + Σ_{k∈N_i^w∪F_i*} a_ik)`
///
/// for `j` in `C_i`, with `ā_kj = a_kj` where its sign is not that of `a_kk`, else zero. `F_i*`
/// are the strong fine neighbours without a coupling `ā_km` to `C_i`.
///
/// **Choose it** for coarsenings that make fine neighbours share coarse ones; after PMIS it loses
/// much and [`extended_i`](super::extended_i) is better.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::coarsen::{NONE, Splitting}};
/// use vcycle::multigrid::interpolate::{Truncation, classical};
/// let a = gallery::build("poisson5:3x1", &Executor::cpu())?.matrix;
/// let splitting = Splitting { coarse_index: vec![0, NONE, 1].into(), coarse_count: 2 };
/// let p = classical(&a, a.pattern(), &splitting, &Truncation::default())?;
/// assert_eq!(p.row(1), (&[0, 1][..], &[0.25, 0.25][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// Unless the arguments fit together; when memory is short.
pub fn classical(
    a: &Csr<f64>,
    strength: &Arc<Pattern>,
    splitting: &Splitting,
    truncation: &Truncation,
) -> Result<Csr<f64>> {
    weights(&Weighing::new(a, strength, splitting, truncation))
}

fn weights<V: Field>(given: &Weighing<'_, V>) -> Result<Csr<V>> {
    weighted(WeightMethod::Classical, given, classical_row)
}

/// The weights of one fine unknown.
pub(super) fn classical_row<V: Field>(row: &mut Row<V>, level: &Couplings<'_, V>, i: usize) {
    row.add_neighbours(level, i);
    row.weigh(level, i);
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn fine_neighbours_without_common_coarse_ones_go_to_the_diagonal() {
        let a = testing::line(6);
        let p = classical(&a, a.pattern(), &testing::every(3, 6), &Truncation::none()).unwrap();
        assert_eq!(p.row(1), (&[0][..], &[1.0][..]));
        assert_eq!(p.row(2), (&[1][..], &[1.0][..]));
    }
}
