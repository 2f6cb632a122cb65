//! Interpolation from strong coarse neighbours, and from those of strong fine neighbours: one formula for three sets of
//! points.
//!
//! A fine unknown `i` interpolates from a set `Ĉ_i` of coarse unknowns, with `ā_kj = a_kj` where its sign is not that of
//! `a_kk`, else zero:
//!
//! `w_ij = -(a_ij + Σ_{k∈F_i\F_i*} a_ik ā_kj / Σ_{l∈Ĉ_i} ā_kl) / (a_ii + Σ_{n∈(N_i^w\Ĉ_i)∪F_i*} a_in)` for `j` in `Ĉ_i`.
//!
//! `F_i*` are the strong fine neighbours without a coupling `ā_kl` to the set.

use super::prolongation::{Weighing, weighted};
use super::registration::{InterpolationMethod, InterpolationRegistration};
use super::row::Formula;
use super::truncation::Truncation;
use crate::host_stages;
use crate::multigrid::coarsen::Splitting;
use crate::prelude::*;

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
        formula: Formula::Classical,
        complex: true,
    },
};

/// Extended interpolation: `Ĉ_i` is `C_i ∪ ⋃_{k∈F_i} C_k`.
///
/// **Choose it** after PMIS when [`EXTENDED_I`] does worse; mostly it does better.
pub(super) const EXTENDED: InterpolationRegistration = InterpolationRegistration {
    name: "extended",
    summary: "Extended interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.5), from `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`.",
    method: InterpolationMethod::Weights {
        formula: Formula::Extended,
        complex: true,
    },
    ..CLASSICAL
};

pub(super) const EXTENDED_I: InterpolationRegistration = InterpolationRegistration {
    name: "extended+i",
    summary: "Extended+i interpolation (De Sterck, Falgout, Nolting and Yang 2008, section 4.6), from `Ĉ_i = C_i ∪ ⋃_{k∈F_i} C_k`.",
    method: InterpolationMethod::Weights {
        formula: Formula::ExtendedI,
        complex: true,
    },
    ..CLASSICAL
};

/// The weights of [`extended_i`] on a smaller set, that of algorithm 4 in the thesis on the Chronos
/// solver (section 2.2.3 there).
///
/// The set starts as `C_i`. As long as strong fine neighbours have no strong coupling to it, the
/// coarse unknown that most of these are strongly coupled to is added, of equal ones the first.
///
/// **Choose it** when `extended+i` makes the coarse matrices too dense and `classical` converges slowly.
pub(super) const HYBRID: InterpolationRegistration = InterpolationRegistration {
    name: "hybrid",
    summary: "As `extended+i`, from as few distant unknowns as are needed.",
    on_host: &[host_stages::HYBRID],
    method: InterpolationMethod::Weights {
        formula: Formula::Hybrid,
        complex: false,
    },
    ..CLASSICAL
};

/// Direct interpolation (Stüben 1999, section 4.2.1):
///
/// `w_ij = -α_i a_ij / a_ii` for `j` in `C_i` with `a_ij < 0`, where
/// `α_i = Σ_{k∈N_i} a_ik^- / Σ_{k∈C_i} a_ik^-`,
///
/// and the same with the positive couplings. Couplings of a sign that `C_i` has none of are added
/// to `a_ii`. A fine unknown without strong coarse neighbours gets an empty row.
///
/// **Choose it** when the set-up has to be cheap and every fine unknown has several strong coarse
/// neighbours.
pub(super) const DIRECT: InterpolationRegistration = InterpolationRegistration {
    name: "direct",
    summary: "Direct interpolation (Stüben 1999, section 4.2.1).",
    method: InterpolationMethod::Weights {
        formula: Formula::Direct,
        complex: false,
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
    let given = Weighing::new(a, strength, splitting, truncation);
    weighted(Formula::ExtendedI, &given)
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

    /// The first row by a method, from unknowns some of which are coarse.
    fn first_row(
        method: Interpolation,
        rows: &[Vec<(u32, f64)>],
        strong: Option<&[Vec<(u32, f64)>]>,
        coarse: &[bool],
    ) -> (Vec<u32>, Vec<f64>) {
        let (a, strong) = (
            testing::matrix(rows),
            testing::matrix(strong.unwrap_or(rows)),
        );
        let (splitting, none) = (testing::choose(coarse), Truncation::none());
        let p = method.prolongation(&a, strong.pattern(), &splitting, &none);
        let p = p.unwrap();
        (p.row(0).0.to_vec(), p.row(0).1.to_vec())
    }

    #[test]
    fn weak_couplings_within_the_set_keep_their_place() {
        let rows = [
            vec![(0, 3.0), (1, -1.0), (2, -0.5), (3, -0.25)],
            vec![(0, -1.0), (1, 2.0), (2, -1.0)],
            vec![(2, 1.0)],
            vec![(3, 1.0)],
        ];
        let strong = [vec![(1, 1.0)], vec![(0, 1.0), (2, 1.0)], vec![], vec![]];
        let coarse = [false, false, true, true];
        let (columns, values) = first_row(Interpolation::ExtendedI, &rows, Some(&strong), &coarse);
        // Half of the coupling to 1 comes back to 0, half goes to 2; that to 3 is lumped.
        assert_eq!(columns, [0]);
        testing::assert_close(&values, &[1.0 / 2.25]);
    }

    #[test]
    fn positive_couplings_are_shared_apart_from_negative_ones() {
        let mut rows = vec![vec![(0, 4.0), (1, -1.0), (2, -2.0), (3, 0.5), (4, 0.5)]];
        rows.extend((1..5).map(|row| vec![(row, 1.0)]));
        let coarse = [false, true, false, true, false];
        let row = first_row(Interpolation::Direct, &rows, None, &coarse);
        assert_eq!(row, (vec![0, 1], vec![0.75, -0.25]));
    }

    #[test]
    fn one_distant_point_that_covers_two_neighbours_is_enough() {
        // Point 0 with fine neighbours 1 and 2; 3, 4 and 5 are coarse, 4 a neighbour of both.
        let mut rows = vec![
            vec![(0, 2.0), (1, -1.0), (2, -1.0)],
            vec![(0, -1.0), (1, 3.0), (3, -1.0), (4, -1.0)],
            vec![(0, -1.0), (2, 3.0), (4, -1.0), (5, -1.0)],
        ];
        rows.extend((3..6).map(|row| vec![(row, 1.0)]));
        let coarse = [false, false, false, true, true, true];
        let row = first_row(Interpolation::Hybrid, &rows, None, &coarse);
        assert_eq!(row, (vec![1], vec![1.0]));
    }
}
