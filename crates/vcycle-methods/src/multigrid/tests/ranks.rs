//! Levels over ranks beside the same without.

use std::sync::Arc;

use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::linop::LinOp;
use crate::matrix::{Csr, Distributed, Partition};
use crate::multigrid::clock::Clock;
use crate::multigrid::matrices::{LevelMatrix, Matrices};
use crate::multigrid::setup::{Levels, analysed, coarsen};
use crate::multigrid::testing;
use crate::multigrid::wide::Wide;
use crate::multigrid::{Amg, NearNullspace};
use crate::scalar::{Field, Mixes, Real, c32, c64};
use crate::solver::{Cg, Fgmres, Solver};
use crate::stop::{Outcome, Stop};
use crate::vector::Vector;
use vcycle_core::communicator::threads;

const RANKS: [usize; 5] = [1, 2, 3, 7, 64];

fn amg(text: &str) -> Amg {
    let amg: Amg = serde_json::from_str(text).unwrap();
    // Most levels of small problems are to be shared.
    Amg {
        gather_rows: 20,
        coarsest_rows: 20,
        ..amg
    }
}

type Part = (Arc<dyn LinOp<f64>>, NearNullspace, Vector<f64>);

/// The own rows of a problem, its own part of the near-nullspace and of the right-hand side.
fn part(rank: &Executor, problem: &gallery::Problem) -> Result<Part> {
    let near = problem.near_nullspace.clone();
    let near = near.unwrap_or(NearNullspace::components(1)?);
    let (block, ranks) = (near.block_size(), rank.team().unwrap().size());
    let rows = Partition::even(problem.rhs.len() as u64, block as u64, ranks);
    let own = rows.range(rank.team().unwrap().rank());
    let own = own.start as usize..own.end as usize;
    let a = Distributed::part_of(rank, &problem.matrix, rows)?;
    let vectors = near.vectors().iter().map(|all| all[own.clone()].to_vec());
    let near = NearNullspace::new(block, vectors.collect())?;
    let b = Vector::from_column(rank, problem.rhs[own].to_vec());
    Ok((Arc::new(a), near, b))
}

/// A solve with conjugate gradients.
fn outcome(amg: &Amg, (a, near, b): Part) -> Result<Outcome> {
    let hierarchy = amg.hierarchy_with(&a, &near, &Workspace::new())?;
    let solver = Solver::new(Cg::default(), a)?.with_preconditioner(Arc::new(hierarchy))?;
    solver.solve(&b, &mut Vector::zeros_like(&b)?)
}

/// Levels of ranks beside those without: the same bits, but on GPUs to rounding, where the kernel that sums up depends on the rows
/// that a rank has.
struct Beside<'t> {
    is_exact: bool,
    told: &'t str,
}

impl<'t> Beside<'t> {
    fn new(rank: &Executor, told: &'t str) -> Self {
        let device = rank.device();
        Self {
            is_exact: device.is_none_or(|device| device.properties().is_cpu),
            told,
        }
    }

    fn assert_same<V: Field>(&self, found: &Csr<V>, expected: &Csr<V>, part: &str) {
        let what = format!("{}, {part}", self.told);
        assert_eq!(found.size(), expected.size(), "{what}");
        assert_eq!(found.offsets(), expected.offsets(), "{what}");
        assert_eq!(found.columns(), expected.columns(), "{what}");
        if self.is_exact {
            return assert_eq!(found.values(), expected.values(), "{what}");
        }
        let size = |value: V| value.modulus().to_f64();
        let largest = expected
            .values()
            .iter()
            .fold(0.0, |a: f64, b| a.max(size(*b)));
        let mut pairs = found.values().iter().zip(expected.values());
        assert!(
            pairs.all(|(a, b)| size(*a - *b) <= 1e-12 * largest),
            "{what}"
        );
    }
}

/// All levels of a matrix.
fn set_up<V: Wide>(amg: &Amg, a: &Arc<dyn LinOp<V>>, near: &NearNullspace) -> Result<Levels<V>> {
    let ws = Workspace::new();
    let clock = Clock::new(&ws, a.executor());
    let (amg, finest, unknowns) = analysed::<V, V>(amg, a, near, &clock)?;
    let mut set = Levels::new(finest);
    coarsen(&amg, &mut set, unknowns, (a.executor(), &clock), None)?;
    Ok(set)
}

/// Compares the levels of all ranks with those without ranks.
fn compare<V: Wide>(made: &Levels<V>, whole: &[Matrices<V>], told: &str) -> Result<()> {
    let is_shared = |level: &&Matrices<V>| level.a.is_of_ranks();
    assert!(
        made.levels.iter().any(|level| is_shared(&level)),
        "{told}: nothing is shared"
    );
    let beside = Beside::new(made.levels[0].a.executor(), told);
    for (number, (level, whole)) in made.levels.iter().zip(whole).enumerate() {
        let transfers = level.transfer.as_ref().zip(whole.transfer.as_ref());
        let [mut p, mut r] = [None, None];
        if let Some((found, expected)) = transfers {
            p = Some((&found.prolongation, &expected.prolongation));
            r = Some((&found.restriction, &expected.restriction));
        }
        for (name, pair) in [
            ("matrix", Some((&level.a, &whole.a))),
            ("prolongation", p),
            ("restriction", r),
        ] {
            let Some((found, expected)) = pair else {
                continue;
            };
            let what = format!("level {number}, {name}");
            let expected = expected.local();
            match found {
                LevelMatrix::Here(found) => beside.assert_same(found, expected, &what),
                LevelMatrix::OfRanks(found) => {
                    if let Some(found) = found.gathered()? {
                        beside.assert_same(&found, expected, &what);
                    }
                }
            }
        }
    }
    if made
        .gathered
        .as_ref()
        .is_some_and(|gathered| gathered.leads)
    {
        assert_eq!(made.levels.len(), whole.len(), "{told}");
    }
    Ok(())
}

/// A problem, with what is known of its unknowns.
fn built(problem: &str) -> (gallery::Problem, NearNullspace) {
    let alone = Executor::cpu_with_threads(1).unwrap();
    let problem = gallery::build(problem, &alone).unwrap();
    let near = problem.near_nullspace.clone();
    let near = near.unwrap_or(NearNullspace::components(1).unwrap());
    (problem, near)
}

/// Levels of ranks beside those without.
fn check_levels(problem: &str, text: &str, ranks: &[usize]) {
    check_levels_on(
        &Executor::cpu_with_threads(1).unwrap(),
        problem,
        amg(text),
        ranks,
    );
}

/// The same on an executor, the host or a device.
fn check_levels_on(executor: &Executor, problem: &str, amg: Amg, ranks: &[usize]) {
    let (problem, near) = built(problem);
    let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix.copy_to(executor).unwrap());
    let whole = set_up(&amg, &a, &near).unwrap().levels;
    for &ranks in ranks {
        let (name, coarsening) = (&problem.name, amg.coarsening);
        let told = format!("{name} {coarsening} on {ranks} ranks of {executor:?}");
        threads::run(ranks, |team| {
            let rank = executor.with_team(&team)?;
            let (a, near, _) = part(&rank, &problem)?;
            compare(&set_up(&amg, &a, &near)?, &whole, &told)
        })
        .unwrap();
    }
}

/// Levels and iterations.
fn check(problem: &str, text: &str, ranks: &[usize]) {
    check_levels(problem, text, ranks);
    let ((problem, near), amg) = (built(problem), amg(text));
    let b = Vector::from_column(problem.matrix.executor(), problem.rhs.clone());
    let whole = (Arc::new(problem.matrix.clone()) as _, near, b);
    let expected = outcome(&amg, whole).unwrap();
    assert!(expected.converged());
    for &ranks in ranks {
        let told = format!("{} {text} on {ranks} ranks", problem.name);
        threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let outcome = outcome(&amg, part(&rank, &problem)?)?;
            let apart = outcome.iterations.abs_diff(expected.iterations);
            assert!(outcome.converged() && apart <= 1, "{told}: {outcome}");
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn classical_levels_have_the_bits_they_have_without_ranks() {
    let text = r#"{"coarsening": "pmis"}"#;
    check("poisson7:9", text, &RANKS);
    check("jump7:9,1e6", text, &[2, 64]);
    let mutual = r#"{"coarsening": "pmis", "strength": {"kind": "mutual"}}"#;
    check("jump7:9,1e6", mutual, &[2, 7]);
    let text = r#"{"coarsening": "pmis", "interpolation": "classical", "smoother": "jacobi:0.7"}"#;
    check("poisson27:7", text, &[3, 7]);
}

#[test]
fn every_choice_of_unknowns_has_the_bits_it_has_without_ranks() {
    check_levels("poisson7:7", r#"{"coarsening": "hmis"}"#, &RANKS);
    check_levels("poisson7:9", r#"{"coarsening": "pmis-aggressive"}"#, &RANKS);
    let mutual = r#"{"coarsening": "pmis-aggressive", "strength": {"kind": "mutual"}}"#;
    check_levels("jump7:8,1e6", mutual, &[7]);
}

#[test]
fn matched_groups_have_the_bits_they_have_without_ranks() {
    check_levels("poisson7:6", r#"{"coarsening": "pgm"}"#, &RANKS);
    let eight = r#"{"coarsening": "pgm", "aggregate-size": 8, "interpolation": "smoothed"}"#;
    check_levels("aniso7:7,0.01", eight, &[3, 64]);
    check_levels(
        "elasticity:6x3x3",
        r#"{"coarsening": "pgm", "aggregate-size": 4}"#,
        &[7],
    );
    check_levels(
        "poisson5:12",
        r#"{"coarsening": "uniform", "aggregate-size": 3}"#,
        &[2, 7],
    );
}

#[test]
fn test_vectors_are_interpolated_as_they_are_without_ranks() {
    let bamg = |more: &str| {
        format!(
            r#"{{"coarsening": "pmis", "strength": {{"kind": "symmetric", "threshold": 0.01}}, {more}}}"#
        )
    };
    let given = bamg(r#""interpolation": "bamg""#);
    check("elasticity:6x3x3", &given, &[1, 3, 64]);
    let filtered = bamg(r#""interpolation": "fbamg", "bamg": {"max-distance": 2}"#);
    check_levels("poisson7:7", &filtered, &[2, 7]);
    let found = bamg(
        r#""interpolation": "sbamg", "energy-steps": 1, "test-space": {"vectors": 2, "steps": 5}"#,
    );
    check_levels("jump7:7,1e3", &found, &[2, 7]);
}

#[test]
fn numbers_of_couplings_and_filters_go_over_all_ranks() {
    let few = r#"{"coarsening": "pmis", "strength": {"kind": "classical", "connections": 3}}"#;
    check_levels("aniso7:7,0.1", few, &[3, 64]);
    let nodes = r#"{"coarsening": "mis2", "strength": {"kind": "symmetric", "connections": 5}}"#;
    check_levels("elasticity:6x3x3", nodes, &[7]);
    let affinity = r#"{"coarsening": "pmis", "strength": {"kind": "affinity", "connections": 4}}"#;
    check_levels("poisson5:15", affinity, &[2, 7]);
    let affinity = r#"{"coarsening": "mis2", "strength": {"kind": "affinity"}}"#;
    check_levels("aniso7:6,0.1", affinity, &[3]);
    let lower = r#"{"coarsening": "mis2", "energy-steps": 2}"#;
    check_levels("elasticity:6x3x3", lower, &[3]);
    check_levels("aniso7:7,0.01", lower, &[7]);
    check_levels(
        "poisson7:7",
        r#"{"coarsening": "pmis", "coarse-filter": 0.9}"#,
        &[2, 7],
    );
}

#[test]
fn restrictions_of_their_own_are_those_without_ranks() {
    let own = r#"{"coarsening": "pmis", "restriction": "own"}"#;
    check_levels("convdiff7:7,10", own, &[3, 7]);
    let own = r#"{"coarsening": "mis2", "restriction": "own"}"#;
    check_levels("convdiff7:8,10", own, &[3]);
}

#[test]
fn approximate_inverses_are_made_of_rows_nearby() {
    let text = r#"{"coarsening": "pmis", "smoother": "fsai:3"}"#;
    check("poisson7:9", text, &[1, 3, 7]);
}

#[test]
fn smoothed_aggregation_has_the_bits_it_has_without_ranks() {
    let text = r#"{"coarsening": "mis2"}"#;
    check("poisson7:10", text, &RANKS);
    check("aniso7:9,0.01", text, &[2, 7]);
}

#[test]
fn nodes_and_their_rigid_bodies_stay_together() {
    let text = r#"{"coarsening": "mis2"}"#;
    check("elasticity:6x3x3", text, &RANKS);
    check("elasticity:6x3x3", r#"{"coarsening": "pmis"}"#, &[3]);
}

#[test]
fn other_values_are_taken_over_ranks_as_without() {
    for (problem, options) in [
        ("poisson5:24", r#"{"coarsening": "pmis"}"#),
        ("elasticity:6x3x3", r#"{"coarsening": "mis2"}"#),
    ] {
        let problem = gallery::build(problem, &Executor::cpu()).unwrap();
        let mut other = gallery::build("poisson5:2", &Executor::cpu()).unwrap();
        (other.near_nullspace, other.rhs) = (problem.near_nullspace.clone(), problem.rhs.clone());
        other.matrix = problem.matrix.scale(3.0).unwrap();
        threads::run(3, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let (ws, amg) = (Workspace::new(), amg(options));
            let (a, near, b) = part(&rank, &problem)?;
            let (setup, first) = amg.setup_with(&a, &near, &ws)?;
            let (scaled, ..) = part(&rank, &other)?;
            let renewed = setup.update_values(&scaled, &ws)?;
            assert!(renewed.report().levels.len() > 1);
            let rows = |report: &crate::multigrid::Report| -> Vec<usize> {
                report.levels.iter().map(|level| level.rows).collect()
            };
            assert_eq!(rows(renewed.report()), rows(first.report()));
            // A cycle of 3 A is a third of one of A.
            let (mut x, mut y) = (Vector::zeros_like(&b)?, Vector::zeros_like(&b)?);
            first.apply(&b, &mut x, &ws)?;
            renewed.apply(&b, &mut y, &ws)?;
            let pairs = x.to_vec().into_iter().zip(y.to_vec());
            let largest = x.norms()?[0];
            assert!(
                pairs
                    .into_iter()
                    .all(|(x, y)| (x - 3.0 * y).abs() <= 1e-5 * largest)
            );
            // Another pattern is refused on all ranks.
            let smaller = gallery::build("poisson5:23", &Executor::cpu())?;
            let (smaller, ..) = part(&rank, &smaller)?;
            assert!(setup.update_values(&smaller, &ws).is_err());
            Ok(())
        })
        .unwrap();
    }
}

/// Levels and iterations of ranks that share a device beside those of ranks of the host.
fn check_device(device: &Executor, problem: &str, text: &str, gather_rows: usize) {
    let problem = gallery::build(problem, &Executor::cpu()).unwrap();
    let amg = Amg {
        gather_rows,
        host_rows: 100,
        ..amg(text)
    };
    let solved = |rank: &Executor| -> Result<(Vec<[usize; 2]>, usize)> {
        let (a, near, b) = part(rank, &problem)?;
        let ws = Workspace::new();
        let hierarchy = amg.hierarchy_with(&a, &near, &ws)?;
        let levels = hierarchy.report().levels.iter();
        let levels = levels.map(|level| [level.rows, level.nonzeros]).collect();
        let solver = Solver::new(Cg::default(), a)?;
        let solver = solver.with_preconditioner(Arc::new(hierarchy))?;
        let replays = || rank.device().map_or(0, |device| device.counts().replays);
        let before = replays();
        let outcome = solver.solve(&b, &mut Vector::zeros_like(&b)?)?;
        assert!(outcome.converged(), "{} {text}: {outcome}", problem.name);
        // A process with more streams than a GPU has queues does not replay.
        let device = rank.device();
        if device.is_some_and(|device| device.properties().is_cpu) {
            let replayed = (replays() - before) as usize;
            assert!(
                replayed + 2 > outcome.iterations,
                "{text}: {replayed}, {outcome}"
            );
        }
        Ok((levels, outcome.iterations))
    };
    let ranks = 2;
    threads::run(ranks, |team| {
        let host = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let (expected, here) = solved(&host)?;
        let (found, there) = solved(&host.with_device(device.name())?)?;
        if team.rank() == 0 {
            assert_eq!(found, expected, "{} {text} on {ranks}", problem.name);
        }
        assert!(there.abs_diff(here) <= 1, "{text}: {there}, not {here}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn ranks_on_a_device_have_the_levels_and_iterations_of_the_host() {
    let Some(device) = vcycle_core::testing::device() else {
        return;
    };
    let narrow = r#"{"coarsening": "pmis", "precision": "dp-sp"}"#;
    check_device(&device, "poisson7:9", narrow, 0);
    // The first rank has all levels.
    check_device(&device, "poisson7:9", narrow, 1);
    check_device(&device, "elasticity:6x3x3", r#"{"coarsening": "mis2"}"#, 0);
    check_device(
        &device,
        "jump7:8,1e6",
        r#"{"coarsening": "pmis", "smoother": "fsai:3"}"#,
        0,
    );
}

#[test]
fn levels_of_ranks_with_devices_are_those_of_one_device() {
    let Some(device) = vcycle_core::testing::device() else {
        return;
    };
    let of = |text: &str| Amg {
        gather_rows: 0,
        host_rows: 50,
        ..amg(text)
    };
    let groups = r#"{"coarsening": "mis2"}"#;
    check_levels_on(&device, "jump7:8,100", of(groups), &[1, 2, 3]);
    check_levels_on(&device, "elasticity:6x3x3", of(groups), &[3]);
    let chosen = r#"{"coarsening": "pmis"}"#;
    check_levels_on(&device, "poisson7:8", of(chosen), &[3]);
}

#[test]
fn a_matrix_that_one_rank_gathers_as_a_whole() {
    let problem = gallery::build("poisson5:12", &Executor::cpu()).unwrap();
    for precision in ["dp", "sp", "dp-sp"] {
        let amg = testing::amg(&format!("precision={precision}, coarsest-rows=20"));
        threads::run(2, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let outcome = outcome(&amg, part(&rank, &problem)?)?;
            assert!(outcome.converged(), "{precision}: {outcome}");
            Ok(())
        })
        .unwrap();
    }
}

/// The rows that a rank has of a matrix, with values of another type.
fn complex_part<T: Mixes<T, T>>(rank: &Executor, whole: &Csr<c64>) -> Result<Arc<dyn LinOp<T>>> {
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
        let given: Arc<dyn LinOp<c64>> = Arc::new(whole.clone());
        let expected = set_up(&amg, &given, &near).unwrap().levels;
        for &ranks in ranks {
            let told = format!("{spec} {text} on {ranks} ranks");
            threads::run(ranks, |team| {
                let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                let a = complex_part::<c64>(&rank, &whole)?;
                compare(&set_up(&amg, &a, &near)?, &expected, &told)
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
        let a = complex_part::<T>(&rank, &whole.matrix)?;
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
