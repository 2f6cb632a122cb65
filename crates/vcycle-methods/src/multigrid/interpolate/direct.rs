//! Interpolation by the couplings to coarse neighbours alone.

use super::couplings::Couplings;
use super::prolongation::{Weighing, weighted};
use super::registration::{InterpolationMethod, InterpolationRegistration};
use super::row::Row;
use crate::error::Result;
use crate::matrix::Csr;
use crate::operations::interpolate::WeightMethod;

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
    reads: &["strength", "truncation"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Weights {
        real: weights,
        complex: None,
    },
};

fn weights(given: &Weighing<'_>) -> Result<Csr<f64>> {
    weighted(WeightMethod::Direct, given, |row, level, i| {
        row.add_neighbours(level, i);
        weigh(row, level, i);
    })
}

/// The weights of the coarse neighbours in `row`.
fn weigh(row: &mut Row, level: &Couplings<'_>, i: usize) {
    // Sums over the couplings below and above zero.
    let (mut all, mut coarse) = ([0.0; 2], [0.0; 2]);
    let sign = |value: f64| usize::from(value > 0.0);
    let (columns, values) = level.a.row(i);
    for (&j, &value) in columns.iter().zip(values) {
        if j as usize == i {
            continue;
        }
        all[sign(value)] += value;
        if let Some(place) = row.place(j) {
            coarse[sign(value)] += value;
            row.sums[place] = value;
        }
    }
    let mut diagonal = level.diagonal[i];
    for sign in 0..2 {
        if coarse[sign] == 0.0 {
            diagonal += all[sign];
        }
    }
    row.finish(level, |value| {
        let alpha = all[sign(value)] / coarse[sign(value)];
        -alpha * value / diagonal
    });
}

#[cfg(test)]
mod tests {
    use super::super::{Truncation, testing};
    use super::*;

    #[test]
    fn positive_couplings_are_shared_apart_from_negative_ones() {
        let rows = [
            vec![(0, 4.0), (1, -1.0), (2, -2.0), (3, 0.5), (4, 0.5)],
            vec![(1, 1.0)],
            vec![(2, 1.0)],
            vec![(3, 1.0)],
            vec![(4, 1.0)],
        ];
        let a = testing::matrix(&rows);
        let splitting = testing::choose(&[false, true, false, true, false]);
        let none = Truncation::none();
        let given = Weighing::new(&a, a.pattern(), &splitting, &none);
        let p = weights(&given).unwrap();
        assert_eq!(p.row(0), (&[0, 1][..], &[0.75, -0.25][..]));
    }
}
