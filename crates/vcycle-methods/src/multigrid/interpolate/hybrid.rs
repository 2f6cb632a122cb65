//! Interpolation from strong coarse neighbours, and from as few coarse unknowns at distance two as are needed.

use super::couplings::Couplings;
use super::prolongation::{Weighing, weighted_by_host};
use super::registration::{InterpolationMethod, InterpolationRegistration};
use super::row::Row;
use crate::error::Result;
use crate::matrix::Csr;
use crate::multigrid::coarsen::most_common;
use crate::operations::{HostStage, on_host};

/// What the host does for devices.
const ON_HOST: HostStage = HostStage {
    name: "hybrid interpolation",
};

/// The weights of [`extended_i`](super::extended_i) on a smaller set, that of algorithm 4 in the thesis on the Chronos
/// solver (section 2.2.3 there).
///
/// The set starts as `C_i`. As long as strong fine neighbours have no strong coupling to it, the
/// coarse unknown that most of these are strongly coupled to is added, of equal ones the first.
///
/// **Choose it** when `extended+i` makes the coarse matrices too dense and `classical` converges slowly.
pub(super) const HYBRID: InterpolationRegistration = InterpolationRegistration {
    name: "hybrid",
    summary: "As `extended+i`, from as few distant unknowns as are needed.",
    reads: &["strength", "truncation"],
    on_host: &[ON_HOST],
    over_ranks: true,
    method: InterpolationMethod::Weights {
        real: weights,
        complex: None,
    },
};

fn weights(given: &Weighing<'_>) -> Result<Csr<f64>> {
    on_host(given.a.executor(), ON_HOST);
    weighted_by_host(given, |row, level, i| {
        row.add(i as u32);
        row.add_neighbours(level, i);
        cover(row, level);
        row.weigh(level, i);
    })
}

/// Adds coarse unknowns until every strong fine neighbour that has some is coupled to one.
fn cover(row: &mut Row, level: &Couplings<'_>) {
    let coarse = |k: u32| level.strong_coarse(k).iter().copied();
    let mut open = row.fine.clone();
    let mut candidates = Vec::new();
    loop {
        open.retain(|&k| !coarse(k).any(|l| row.place(l).is_some()));
        candidates.clear();
        candidates.extend(open.iter().flat_map(|&k| coarse(k)));
        match most_common(&mut candidates) {
            Some(point) => row.add(point),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Truncation, testing};
    use super::*;

    #[test]
    fn one_distant_point_that_covers_two_neighbours_is_enough() {
        // Point 0 with fine neighbours 1 and 2; 3, 4 and 5 are coarse, 4 a neighbour of both.
        let rows = [
            vec![(0, 2.0), (1, -1.0), (2, -1.0)],
            vec![(0, -1.0), (1, 3.0), (3, -1.0), (4, -1.0)],
            vec![(0, -1.0), (2, 3.0), (4, -1.0), (5, -1.0)],
            vec![(3, 1.0)],
            vec![(4, 1.0)],
            vec![(5, 1.0)],
        ];
        let a = testing::matrix(&rows);
        let splitting = testing::choose(&[false, false, false, true, true, true]);
        let none = Truncation::none();
        let given = Weighing::new(&a, a.pattern(), &splitting, &none);
        let p = weights(&given).unwrap();
        assert_eq!(p.row(0), (&[1][..], &[1.0][..]));
    }
}
