//! Interpolation from coarse unknowns at distance two.

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
pub(super) const EXTENDED: InterpolationRegistration = InterpolationRegistration {
    name: "extended",
    summary: "Extended interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.5), from `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`.",
    reads: &["strength", "truncation"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Weights {
        real: weights,
        complex: Some(weights),
    },
};

/// Extended interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.5), from
/// `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`:
///
/// `w_ij = -(a_ij + Σ_{k∈F_i} a_ik ā_kj / Σ_{l∈Ĉ_i} ā_kl) / (a_ii + Σ_{n∈N_i^w\Ĉ_i} a_in)`
///
/// with `ā_kj = a_kj` where its sign is not that of `a_kk`, else zero.
///
/// **Choose it** after PMIS when [`extended_i`](super::extended_i) does worse; mostly it does
/// better.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::coarsen::{NONE, Splitting}};
/// use vcycle::multigrid::interpolate::{Truncation, extended};
/// let a = gallery::build("poisson5:3x1", &Executor::cpu())?.matrix;
/// let splitting = Splitting { coarse_index: vec![0, NONE, 1].into(), coarse_count: 2 };
/// let p = extended(&a, a.pattern(), &splitting, &Truncation::default())?;
/// assert_eq!(p.row(1), (&[0, 1][..], &[0.25, 0.25][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// Unless the arguments fit together; when memory is short.
pub fn extended(
    a: &Csr<f64>,
    strength: &Arc<Pattern>,
    splitting: &Splitting,
    truncation: &Truncation,
) -> Result<Csr<f64>> {
    weights(&Weighing::new(a, strength, splitting, truncation))
}

fn weights<V: Field>(given: &Weighing<'_, V>) -> Result<Csr<V>> {
    weighted(WeightMethod::Extended, given, extended_row)
}

/// The weights of one fine unknown.
pub(super) fn extended_row<V: Field>(row: &mut Row<V>, level: &Couplings<'_, V>, i: usize) {
    row.add_neighbours(level, i);
    row.add_distant(level);
    row.weigh(level, i);
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn without_the_point_itself_both_sides_count_alike() {
        let a = testing::line(7);
        let p = extended(&a, a.pattern(), &testing::every(3, 7), &Truncation::none()).unwrap();
        assert_eq!(p.row(1), (&[0, 1][..], &[0.5, 0.5][..]));
    }
}
