//! Methods over ranks with rows of different numbers, some of them without any: all ranks have to decide alike.

use std::time::Duration;

use super::testing::{self, all};
use super::*;
use crate::gallery;
use crate::matrix::Partition;

/// Iterations and the solution of a system of so many rows and points, all of it or the rows of a rank.
fn solved(
    method: &Arc<dyn Method<f64>>,
    a: Arc<dyn LinOp<f64>>,
    own: std::ops::Range<usize>,
) -> Result<(usize, Vec<f64>)> {
    let b = testing::values::<f64>(own.end, 1)[own].to_vec();
    let b = Vector::from_column(a.executor(), b);
    let solver = Solver::from_shared(method.clone(), a)?.stopping(Stop::relative(1e-11));
    let mut x = Vector::zeros_like(&b)?;
    let outcome = solver.solve(&b, &mut x)?;
    assert!(outcome.converged(), "{method:?}: {outcome}");
    Ok((outcome.iterations, x.to_vec()))
}

/// As [`solved`], for ranks that share the matrix.
fn solved_over(
    ranks: usize,
    methods: &(dyn Fn() -> Arc<dyn Method<f64>> + Sync),
    problems: &[&str],
) -> Vec<(usize, Vec<f64>)> {
    on_ranks(ranks, |rank, team| {
        let (method, mut last) = (methods(), None);
        for problem in problems {
            let whole = gallery::build(problem, rank)?.matrix;
            let rows = Partition::even(whole.size().rows as u64, 1, ranks);
            let own = rows.range(team.rank());
            let a = Arc::new(Distributed::part_of(rank, &whole, rows)?);
            last = Some(solved(&method, a, own.start as usize..own.end as usize)?);
        }
        Ok(last.expect("there is a problem"))
    })
}

#[test]
fn every_method_takes_the_iterations_of_one_rank() {
    let host = Executor::cpu_with_threads(1).unwrap();
    // 33 or 34 rows a rank; one row or two; one row or none.
    for (problem, ranks) in [("poisson5:10", 3), ("poisson5:2x3", 4), ("poisson5:2x3", 7)] {
        for place in 0..all::<f64>().len() {
            let method = || all::<f64>().swap_remove(place);
            let whole = Arc::new(gallery::build(problem, &host).unwrap().matrix);
            let rows = whole.size().rows;
            let (alone, expected) = solved(&method(), whole, 0..rows).unwrap();
            let parts = solved_over(ranks, &method, &[problem]);
            let name = method().name();
            for (iterations, _) in &parts {
                let apart = iterations.abs_diff(alone);
                assert!(apart <= 2 + alone / 20, "{name}: {iterations} {alone}");
            }
            let found = parts.into_iter().flat_map(|(_, x)| x);
            for (found, expected) in found.zip(expected) {
                assert!((found - expected).abs() < 1e-8, "{name}");
            }
        }
    }
}

#[test]
fn a_space_that_fits_on_some_ranks_only_is_forgotten_by_all() {
    // The last of two ranks has three rows of both systems.
    let recycling = || Arc::new(Recycling::<f64>::new(GcroDr::default())) as Arc<dyn Method<f64>>;
    solved_over(2, &recycling, &["poisson5:1x5", "poisson5:2x3"]);
}

#[test]
fn a_value_that_is_not_finite_on_one_rank_is_refused_by_all() {
    let refused = on_ranks(3, |rank, team| {
        let a = Arc::new(crate::linop::Identity::new(rank, 2));
        let value = if team.rank() == 1 { f64::NAN } else { 1.0 };
        let b = Vector::from_column(rank, vec![1.0, value]);
        let solver = Solver::<f64>::new(Cg::default(), a)?;
        Ok(solver.solve(&b, &mut Vector::zeros_like(&b)?).unwrap_err())
    });
    let is_named = |error: &Error| matches!(error, Error::NonFiniteVector { row: 3, .. });
    assert!(is_named(&refused[1]), "{}", refused[1]);
    assert!(refused[0].to_string().starts_with("rank 1: "));
}

#[test]
fn a_limit_of_time_ends_sweeps_on_all_ranks() {
    let outcomes = on_ranks(3, |rank, team| {
        let whole = gallery::build("poisson5:4", rank)?.matrix;
        let rows = Partition::even(whole.size().rows as u64, 1, 3);
        let a = Arc::new(Distributed::part_of(rank, &whole, rows)?);
        let b = Vector::filled(rank, a.size().rows, 1, 1.0)?;
        let endless = Arc::new(testing::Endless(a.clone()));
        let solver = Solver::<f64>::new(Cg::default(), a)?.with_preconditioner(endless)?;
        // The time of one rank is used up first.
        let limit = Duration::from_millis(if team.rank() == 1 { 1 } else { 100_000 });
        let stop = Stop::default().max_time(limit);
        solver.solve_in(&b, &mut Vector::zeros_like(&b)?, &stop, &Workspace::new())
    });
    for outcome in outcomes {
        assert_eq!(outcome.status, Status::TimeLimit);
        assert_eq!((outcome.iterations, outcome.relative_residual), (0, 1.0));
    }
}
