//! Interpolation from strong coarse neighbours, and from those of strong fine neighbours: one formula for three sets of
//! points.
//!
//! A fine unknown `i` interpolates from a set `Ĉ_i` of coarse unknowns, with `ā_kj = a_kj` where its sign is not that of
//! `a_kk`, else zero:
//!
//! `w_ij = -(a_ij + Σ_{k∈F_i\F_i*} a_ik ā_kj / Σ_{l∈Ĉ_i} ā_kl) / (a_ii + Σ_{n∈(N_i^w\Ĉ_i)∪F_i*} a_in)` for `j` in `Ĉ_i`.
//!
//! `F_i*` are the strong fine neighbours without a coupling `ā_kl` to the set.

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

/// Classical interpolation: `Ĉ_i` is `C_i`.
///
/// **Choose it** for coarsenings that make fine neighbours share coarse ones; after PMIS it loses
/// much and [`EXTENDED_I`] is better.
pub(super) const CLASSICAL: InterpolationRegistration = InterpolationRegistration {
    name: "classical",
    summary: "Classical interpolation (Ruge and Stüben 1987), modified for coarsenings where strongly coupled fine unknowns need not share a coarse one (Henson and Yang 2002).",
    reads: &["strength", "truncation"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Weights {
        real: classical_weights,
        complex: Some(classical_weights),
    },
};

/// Extended interpolation: `Ĉ_i` is `C_i ∪ ⋃_{k∈F_i} C_k`.
///
/// **Choose it** after PMIS when [`EXTENDED_I`] does worse; mostly it does better.
pub(super) const EXTENDED: InterpolationRegistration = InterpolationRegistration {
    name: "extended",
    summary: "Extended interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.5), from `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`.",
    method: InterpolationMethod::Weights {
        real: extended_weights,
        complex: Some(extended_weights),
    },
    ..CLASSICAL
};

/// Extended+i interpolation: that of [`extended_i`].
pub(super) const EXTENDED_I: InterpolationRegistration = InterpolationRegistration {
    name: "extended+i",
    summary: "Extended+i interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.6), from `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`.",
    method: InterpolationMethod::Weights {
        real: extended_i_weights,
        complex: Some(extended_i_weights),
    },
    ..CLASSICAL
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
    extended_i_weights(&Weighing::new(a, strength, splitting, truncation))
}

fn classical_weights<V: Field>(given: &Weighing<'_, V>) -> Result<Csr<V>> {
    weighted(WeightMethod::Classical, given, |row, level, i| {
        row.add_neighbours(level, i);
        row.weigh(level, i);
    })
}

fn extended_weights<V: Field>(given: &Weighing<'_, V>) -> Result<Csr<V>> {
    weighted(WeightMethod::Extended, given, |row, level, i| {
        row.add_neighbours(level, i);
        row.add_distant(level);
        row.weigh(level, i);
    })
}

/// The rows that are asked for.
pub(super) fn extended_i_weights<V: Field>(given: &Weighing<'_, V>) -> Result<Csr<V>> {
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
    use super::super::{Interpolation, testing};
    use super::*;

    #[test]
    fn weights_on_a_line_of_every_third_point() {
        let a = testing::line(7);
        let [one, both] = [&[0][..], &[0, 1]];
        let (third, half) = (1.0 / 3.0, 0.5);
        // Fine neighbours without common coarse ones go to the diagonal; without the point itself both sides count alike;
        // with it the weights are those of linear interpolation.
        for (method, row, columns, weights) in [
            (Interpolation::Classical, 1, one, &[1.0][..]),
            (Interpolation::Classical, 2, &[1], &[1.0]),
            (Interpolation::Extended, 1, both, &[half, half]),
            (Interpolation::ExtendedI, 1, both, &[2.0 * third, third]),
            (Interpolation::ExtendedI, 2, both, &[third, 2.0 * third]),
        ] {
            let every = testing::every(3, 7);
            let p = method.prolongation(&a, a.pattern(), &every, &Truncation::none());
            let p = p.unwrap();
            assert_eq!(p.row(row).0, columns, "{method}");
            testing::assert_close(p.row(row).1, weights);
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
