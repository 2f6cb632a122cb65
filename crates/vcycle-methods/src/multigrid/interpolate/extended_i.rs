//! Interpolation from coarse unknowns at distance two and the point itself.

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
pub(super) const EXTENDED_I: InterpolationRegistration = InterpolationRegistration {
    name: "extended+i",
    summary: "Extended+i interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.6), from `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`.",
    reads: &["strength", "truncation"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Weights {
        real: weights,
        complex: Some(weights),
    },
};

/// Extended+i interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.6), from
/// `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`:
///
/// `w_ij = -(a_ij + Σ_{k∈F_i} a_ik ā_kj / b_ik) / ã_ii`, `b_ik = Σ_{l∈Ĉ_i∪{i}} ā_kl`,
/// `ã_ii = a_ii + Σ_{n∈N_i^w\Ĉ_i} a_in + Σ_{k∈F_i} a_ik ā_ki / b_ik`
///
/// with `ā_kj = a_kj` where its sign is not that of `a_kk`, else zero. That fine neighbours lead
/// back to `i` counts as a coupling of `i` with itself, which makes the weights of a 1-D Laplacian
/// those of linear interpolation.
///
/// **Choose it** after PMIS and other sparse coarsenings: it is the most accurate of the methods
/// for scalar problems. Truncation keeps its complexity low.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::coarsen::{NONE, Splitting}};
/// use vcycle::multigrid::interpolate::{Truncation, extended_i};
/// let a = gallery::build("poisson5:3x1", &Executor::cpu())?.matrix;
/// let splitting = Splitting { coarse_index: vec![0, NONE, 1].into(), coarse_count: 2 };
/// let p = extended_i(&a, a.pattern(), &splitting, &Truncation::default())?;
/// assert_eq!(p.row(1), (&[0, 1][..], &[0.25, 0.25][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// Unless the arguments fit together; when memory is short.
pub fn extended_i(
    a: &Csr<f64>,
    strength: &Arc<Pattern>,
    splitting: &Splitting,
    truncation: &Truncation,
) -> Result<Csr<f64>> {
    weights(&Weighing::new(a, strength, splitting, truncation))
}

/// The rows that are asked for.
pub(super) fn weights<V: Field>(given: &Weighing<'_, V>) -> Result<Csr<V>> {
    weighted(WeightMethod::ExtendedI, given, extended_i_row)
}

/// The weights of one fine unknown.
pub(super) fn extended_i_row<V: Field>(row: &mut Row<V>, level: &Couplings<'_, V>, i: usize) {
    row.add(i as u32);
    row.add_neighbours(level, i);
    row.add_distant(level);
    row.weigh(level, i);
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn on_a_line_it_is_linear_interpolation() {
        let a = testing::line(7);
        let p = extended_i(&a, a.pattern(), &testing::every(3, 7), &Truncation::none()).unwrap();
        for (row, expected) in [(1, [2.0 / 3.0, 1.0 / 3.0]), (2, [1.0 / 3.0, 2.0 / 3.0])] {
            let (columns, values) = p.row(row);
            assert_eq!(columns, [0, 1]);
            testing::assert_close(values, &expected);
        }
    }

    #[test]
    fn weak_couplings_within_the_set_keep_their_place() {
        let rows = [
            vec![(0, 3.0), (1, -1.0), (2, -0.5), (3, -0.25)],
            vec![(0, -1.0), (1, 2.0), (2, -1.0)],
            vec![(2, 1.0)],
            vec![(3, 1.0)],
        ];
        let a = testing::matrix(&rows);
        let strong = testing::matrix(&[vec![(1, 1.0)], vec![(0, 1.0), (2, 1.0)], vec![], vec![]]);
        let splitting = testing::choose(&[false, false, true, true]);
        let p = extended_i(&a, strong.pattern(), &splitting, &Truncation::none()).unwrap();
        // Half of the coupling to 1 comes back to 0, half goes to 2; that to 3 is lumped.
        let (columns, values) = p.row(0);
        assert_eq!(columns, [0]);
        testing::assert_close(values, &[1.0 / 2.25]);
    }
}
