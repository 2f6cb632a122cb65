//! Levels of complex matrices that ranks share: the [stages](crate::multigrid::complex) of one process on rows nearby.

use std::ops::Range;
use std::sync::Arc;

use super::analysis::{finest, known};
use super::choice::{Choice, NextNumbers};
use super::groups::{are_some_weak, radius};
use super::setup::Made;
use super::step::{check, rings};
use super::{SharedLevel, SharedWay};
use crate::error::Result;
use crate::linop::{LinOp, Size};
use crate::matrix::{Csr, Distributed, Overlap, Pattern, galerkin_shared};
use crate::multigrid::amg::Amg;
use crate::multigrid::clock::Clock;
use crate::multigrid::coarsen::Nearby;
use crate::multigrid::complex::{self, ComplexRows, levels_from, magnitudes, prolongation};
use crate::multigrid::interpolate::smoothed_complex_near;
use crate::multigrid::near_nullspace::NearNullspace;
use crate::multigrid::stages::SMOOTHING;
use crate::multigrid::steps::STALLED;
use crate::multigrid::systems::{Unknowns, View};
use crate::scalar::{Scalar, c64};

/// Sets up all levels of a complex matrix that ranks share.
pub(in crate::multigrid) fn set_up_complex<T: Scalar>(
    amg: &Amg,
    given: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: &Clock<'_>,
) -> Result<Made<c64>> {
    complex::check(amg, near_nullspace)?;
    let (amg, finest) = {
        let _stage = clock.stage(0, "analysis");
        let a: Arc<Distributed<c64>> = finest(given)?;
        (amg.decided_by(|| known(&a))?, a)
    };
    let (mut a, mut levels, mut stalled) = (Arc::clone(&finest), Vec::new(), None);
    let gathered_rows = amg.gathered_rows(given.executor())?;
    while levels.len() + 1 < amg.max_levels && a.rows().total() > gathered_rows {
        match step(&amg, levels.len(), &a, clock)? {
            Err(reason) => {
                stalled = Some(reason);
                break;
            }
            Ok((level, coarse)) => {
                levels.push(level);
                a = Arc::new(coarse);
            }
        }
    }
    let above = levels.len();
    let whole = {
        let _stage = clock.stage(above, "gathering");
        a.gathered()?
    };
    let limited = Amg {
        // Where ranks cannot go on, one cannot either.
        max_levels: stalled.as_ref().map_or(amg.max_levels, |_| above + 1),
        ..amg.clone()
    };
    let led = match whole {
        Some(matrix) => levels_from(&limited, above, Arc::new(matrix), clock),
        None => Ok((Vec::new(), None)),
    };
    let led = led.map(|(own, reason)| (own, stalled.clone().or(reason)));
    let unknowns = Unknowns::new(&NearNullspace::components(1)?);
    Made::joined((amg, finest, levels), &a, unknowns, stalled, led)
}

/// A level with its ways, and the matrix of the next.
type Step = (SharedLevel<c64>, Distributed<c64>);

/// The next step, or why there is none.
fn step(
    amg: &Amg,
    number: usize,
    a: &Arc<Distributed<c64>>,
    clock: &Clock<'_>,
) -> Result<Result<Step, String>> {
    let stage = |name| clock.stage(number, name);
    let (team, rows) = (a.team(), a.rows().total() as usize);
    let mut amg = amg.for_level(number, rows);
    amg.strength = amg.strength_at(number);
    let interpolation = amg.interpolation.after(amg.coarsening)?;
    team.agree(check(&amg, interpolation))?;
    let near = {
        let _stage = stage("overlap");
        a.surrounded(rings(&amg, interpolation), 1)?
    };
    let sizes = team.agree(magnitudes(&near.matrix))?;
    let view = {
        let _stage = stage("strength");
        let unknowns = Unknowns::new(&NearNullspace::components(1)?);
        let (seen, measure) = ((&sizes, &Nearby::of(&near.halo)), Some(amg.strength));
        let view = View::of_ranks(amg.systems, amg.coarsening, measure, seen, &unknowns);
        team.agree(view)?
    };
    let choice = {
        let _stage = stage("coarsening");
        Choice::new(a.executor(), &amg, &view, &near.halo)?
    };
    let NextNumbers { numbers, partition } = &choice.next;
    let count = partition.total() as usize;
    if count == 0 || count as f64 > STALLED * rows as f64 {
        return Ok(Err(format!(
            "coarsening stalled on level {number}: {count} of {rows} unknowns are coarse"
        )));
    }
    let (p, radius) = {
        let _stage = stage("interpolation");
        let (strength, by) = (view.strength(), OwnRows { a, near: &near });
        let made = prolongation(&amg, &near.matrix, strength, &choice.coarsened, &by);
        let (own, radius) = team.agree(made)?;
        let made = Distributed::of_numbered(a.executor(), a.rows(), partition, numbers, own)?;
        (made, radius)
    };
    let _stage = stage("galerkin");
    let r = match amg.restriction_scaling {
        1.0 => p.adjoint()?,
        factor => p.adjoint()?.scale(factor.into())?,
    };
    let coarse = galerkin_shared(&r, a, &p)?.without_empty_rows()?;
    let way = SharedWay {
        restriction: Arc::new(r),
        prolongation: Arc::new(p),
        block: Size::square(1),
        filter: None,
    };
    Ok(Ok((way.level(a, radius)?, coarse)))
}

/// Own rows among those nearby.
struct OwnRows<'a> {
    a: &'a Distributed<c64>,
    near: &'a Overlap<c64>,
}

impl ComplexRows for OwnRows<'_> {
    fn rows(&self, _all: usize) -> Range<usize> {
        self.near.halo.own()
    }

    fn are_some_weak(&self, a: &Pattern, strength: &Pattern) -> Result<bool> {
        are_some_weak(&self.near.halo, a, strength)
    }

    fn smoothed(
        &self,
        a: &Csr<c64>,
        tentative: &Csr<c64>,
        filter: Option<&Arc<Pattern>>,
    ) -> Result<(Csr<c64>, f64)> {
        let radius = radius(self.a)?;
        let largest = |bound| self.a.team().largest(bound);
        let (own, damping) = ((a, self.near.halo.own()), (SMOOTHING, radius));
        let p = smoothed_complex_near(own, tentative, damping, filter, largest)?;
        Ok((p, radius))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::matrix::Partition;
    use crate::multigrid::complex::complex_levels;
    use crate::multigrid::working::Matrices;
    use crate::scalar::{Mixes, c32};
    use crate::solver::{Fgmres, Solver};
    use crate::stop::Stop;
    use crate::vector::Vector;
    use vcycle_core::communicator::threads;

    fn amg(text: &str) -> Amg {
        let amg: Amg = serde_json::from_str(text).unwrap();
        Amg {
            gather_rows: 20,
            coarsest_rows: 20,
            ..amg
        }
    }

    fn assert_equal(found: Option<Csr<c64>>, expected: &Csr<c64>, what: &str) {
        let Some(found) = found else { return };
        assert_eq!(found.offsets(), expected.offsets(), "{what}");
        assert_eq!(found.columns(), expected.columns(), "{what}");
        assert_eq!(found.values(), expected.values(), "{what}");
    }

    fn compare(made: &Made<c64>, whole: &[Matrices<c64>], told: &str) -> Result<()> {
        let shared = &made.shared.levels;
        assert!(!shared.is_empty(), "{told}: nothing is shared");
        for (number, (level, alone)) in shared.iter().zip(whole).enumerate() {
            let what = format!("{told}, level {number}");
            let ways = alone.transfer.as_ref().unwrap();
            assert_equal(level.a.gathered()?, &alone.a, &what);
            assert_equal(
                level.way.prolongation.gathered()?,
                &ways.prolongation,
                &what,
            );
            assert_equal(level.way.restriction.gathered()?, &ways.restriction, &what);
        }
        if made.shared.leads {
            assert_eq!(shared.len() + made.levels.len(), whole.len(), "{told}");
            for (level, alone) in made.levels.iter().zip(&whole[shared.len()..]) {
                assert_eq!(level.a.values(), alone.a.values(), "{told}");
            }
        }
        Ok(())
    }

    /// The rows that a rank has of a matrix, with values of another type.
    fn part<T: Mixes<T, T>>(rank: &Executor, whole: &Csr<c64>) -> Result<Arc<dyn LinOp<T>>> {
        let ranks = rank.team().unwrap().size();
        let rows = Partition::even(whole.size().rows as u64, 1, ranks);
        let a = Distributed::part_of(rank, whole, rows)?;
        Ok(Arc::new(a.convert::<T>()?))
    }

    #[test]
    fn complex_levels_have_the_bits_they_have_without_ranks() {
        let near = NearNullspace::components(1).unwrap();
        for (spec, text, ranks) in [
            (
                "helmholtz:14,5,0.5",
                r#"{"coarsening": "pmis"}"#,
                &[1, 2, 3, 7][..],
            ),
            (
                "magnetic:14,0.05",
                r#"{"coarsening": "mis2"}"#,
                &[1, 2, 3, 7],
            ),
            (
                "magnetic:12,0.05",
                r#"{"coarsening": "pgm", "interpolation": "tentative"}"#,
                &[3],
            ),
            (
                "magnetic:12,0.05",
                r#"{"coarsening": "hmis", "interpolation": "classical"}"#,
                &[2],
            ),
        ] {
            let (amg, alone) = (amg(text), Executor::cpu_with_threads(1).unwrap());
            let whole = gallery::build_complex(spec, &alone).unwrap().matrix;
            let (given, ws): (Arc<dyn LinOp<c64>>, _) = (Arc::new(whole.clone()), Workspace::new());
            let clock = Clock::new(&ws, &alone);
            let (_, expected, _) = complex_levels(&amg, &given, &near, &clock).unwrap();
            for &ranks in ranks {
                let told = format!("{spec} {text} on {ranks} ranks");
                threads::run(ranks, |team| {
                    let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                    let (ws, a) = (Workspace::new(), part::<c64>(&rank, &whole)?);
                    let clock = Clock::new(&ws, &rank);
                    compare(&set_up_complex(&amg, &a, &near, &clock)?, &expected, &told)
                })
                .unwrap();
            }
        }
    }

    /// Iterations of a solve over ranks in the precision of `T`.
    fn iterations<T: Mixes<T, T>>(ranks: usize, amg: &Amg, tolerance: f64) -> usize {
        let alone = Executor::cpu_with_threads(1).unwrap();
        let whole = gallery::build_complex("helmholtz:20,6,0.5", &alone).unwrap();
        let found = threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let a = part::<T>(&rank, &whole.matrix)?;
            let b = Vector::filled(&rank, a.size().rows, 1, 1.0)?;
            let solver = Solver::new(Fgmres::default(), a)?.preconditioned_by(amg)?;
            let solver = solver.stopping(Stop::reduction(tolerance));
            let outcome = solver.solve(&b, &mut Vector::zeros_like(&b)?)?;
            assert!(outcome.converged(), "{outcome}");
            Ok(outcome.iterations)
        });
        found.unwrap()[0]
    }

    #[test]
    fn waves_are_solved_over_ranks_in_both_precisions() {
        let amg = |precision: &str| {
            amg(&format!(
                r#"{{"coarsening": "pmis", "precision": "{precision}"}}"#
            ))
        };
        let alone = iterations::<c64>(1, &amg("dp"), 1e-8);
        assert!(iterations::<c64>(3, &amg("dp"), 1e-8).abs_diff(alone) <= 1);
        assert!(iterations::<c64>(2, &amg("dp-sp"), 1e-8).abs_diff(alone) <= 2);
        let single = iterations::<c32>(1, &amg("sp"), 1e-4);
        assert!(iterations::<c32>(3, &amg("sp"), 1e-4).abs_diff(single) <= 1);
    }
}
