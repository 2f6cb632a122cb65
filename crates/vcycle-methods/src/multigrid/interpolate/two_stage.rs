//! Interpolation in two stages, for the distant coarse unknowns of aggressive coarsening.

use super::prolongation::{RankLevel, Weighing, weighted, weighted_to};
use super::row::Formula;
use super::truncation::{Truncation, truncate};
use crate::matrix::LocalNumbers;
use crate::multigrid::coarsen::{Aggressive, NextOfRanks, Splitting};
use crate::operations::interpolate as operations;
use crate::prelude::*;

/// Two-stage interpolation for aggressive coarsening (Yang 2010), `P = P_1 P_2`.
///
/// `P_1` is [`extended_i`](super::extended_i) from the unknowns of `first` to all. `P_2` leads
/// from those of `second` to those of `first`: the rows that [`extended_i`](super::extended_i)
/// gives them if all but the unknowns of `second` are fine. These reach unknowns at distance two,
/// where a coarsening of the distance-two graph puts them. Both factors and the product are
/// truncated.
///
/// `second` numbers some of the coarse unknowns of `first`; it tells so for all unknowns.
///
/// **Choose it** with aggressive coarsening, where one step of distance two does not reach.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::coarsen::{NONE, Splitting}};
/// use vcycle::multigrid::interpolate::{Truncation, two_stage};
/// let a = gallery::build("poisson5:5x1", &Executor::cpu())?.matrix;
/// let first = Splitting { coarse_index: vec![0, NONE, 1, NONE, 2].into(), coarse_count: 3 };
/// let second = Splitting { coarse_index: vec![NONE, NONE, 0, NONE, NONE].into(), coarse_count: 1 };
/// let p = two_stage(&a, a.pattern(), &first, &second, &Truncation::default())?;
/// assert_eq!((p.entry(2, 0), p.offsets()), (Some(1.0), &[0, 1, 2, 3, 4, 5][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// Unless the arguments fit together; when memory is short.
pub fn two_stage(
    a: &Csr<f64>,
    strength: &Arc<Pattern>,
    first: &Splitting,
    second: &Splitting,
    truncation: &Truncation,
) -> Result<Csr<f64>> {
    let near = super::extended_i(a, strength, first, truncation)?;
    let second = Weighing::new(a, strength, second, truncation);
    let far = weighted_to(first, &second)?;
    let limits = (truncation.max_elements, truncation.factor);
    match operations::chained(&near, &far, limits)? {
        Some(product) => Ok(product),
        None => truncate(&near.multiply(&far)?, truncation),
    }
}

/// [`two_stage`] for own rows of a matrix that ranks share, given those nearby; and the unknowns that it leads to. All ranks
/// call it together.
pub(in crate::multigrid) fn two_stage_over_ranks(
    level: RankLevel<'_>,
    NextOfRanks { next, first }: &NextOfRanks,
    (a, strength): (&Csr<f64>, &Pattern),
    both: &Aggressive,
    truncation: &Truncation,
) -> Result<(Csr<f64>, LocalNumbers)> {
    let (own, team) = (level.near.own(), level.near.team());
    let first = first.as_ref().expect("chosen twice");
    let given = Weighing::new(a, strength, &both.first, truncation).of_rows(own.clone());
    let near = team.agree(weighted(Formula::ExtendedI, &given))?;
    let near = level.prolongation((near, &first.numbers), first)?;
    let second = Weighing::new(a, strength, &both.second, truncation);
    let far = team.agree(weighted_to(&both.first.of_rows(own), &second))?;
    let (executor, rows) = (level.executor, &first.partition);
    let far = Distributed::of_numbered(executor, rows, &next.partition, &next.numbers, far)?;
    let (product, numbers) = near.multiplied(&far)?;
    Ok((truncate(&product, truncation)?, numbers))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn on_a_line_it_is_linear_between_points_far_apart() {
        let a = testing::line(9);
        let (first, second) = (testing::every(2, 9), testing::every(4, 9));
        let p = two_stage(&a, a.pattern(), &first, &second, &Truncation::none()).unwrap();
        for (row, expected) in [(1, [0.75, 0.25]), (2, [0.5, 0.5]), (3, [0.25, 0.75])] {
            assert_eq!(p.row(row).0, [0, 1]);
            testing::assert_close(p.row(row).1, &expected);
        }
    }

    #[test]
    fn constants_survive_two_stages_on_a_grid() {
        let a = testing::neumann(9);
        let first = testing::greedy(a.pattern());
        let squared = crate::matrix::SpGemm::symbolic(a.pattern(), a.pattern()).unwrap();
        let second = testing::greedy_among(squared.pattern(), &first);
        assert!(second.coarse_count < first.coarse_count);
        let p = two_stage(&a, a.pattern(), &first, &second, &Truncation::default()).unwrap();
        assert_eq!(p.size().cols, second.coarse_count);
        testing::assert_constants_kept(&p);
    }
}
