//! Levels over ranks beside the same without.

use std::time::{Duration, Instant};

use super::*;
use crate::gallery::Problem;
use crate::matrix::Partition;
use crate::multigrid::clock::Clock;
use crate::multigrid::matrices::{LevelMatrix, Matrices};
use crate::multigrid::setup::{Levels, analysed, coarsen};
use crate::multigrid::wide::Wide;
use crate::solver::Fgmres;
use crate::stop::Stop;
use vcycle_core::communicator::threads;

const RANKS: &[usize] = &[1, 2, 3, 7, 31];

/// Most levels of small problems are to be shared.
fn amg(text: &str) -> Amg {
    with(&testing::amg("gather-rows=20, coarsest-rows=20"), text)
}

fn one_thread() -> Executor {
    Executor::cpu_with_threads(1).unwrap()
}

type Part = (Arc<dyn LinOp<f64>>, NearNullspace, Vector<f64>);

/// The own rows of a problem, its own part of the near-nullspace and of the right-hand side.
fn part(rank: &Executor, problem: &Problem) -> Result<Part> {
    let near = near_nullspace(problem);
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

fn near_nullspace(problem: &Problem) -> NearNullspace {
    let near = problem.near_nullspace.clone();
    near.unwrap_or(NearNullspace::components(1).unwrap())
}

/// Iterations of conjugate gradients, which have to converge, and the levels.
fn solve(amg: &Amg, (a, near, b): Part, what: &str) -> Result<(usize, Report)> {
    let hierarchy = amg.hierarchy_with(&a, &near, &Workspace::new())?;
    let report = hierarchy.report().clone();
    let solver = Solver::new(Cg::default(), a)?.with_preconditioner(Arc::new(hierarchy))?;
    let outcome = solver.solve(&b, &mut Vector::zeros_like(&b)?)?;
    assert!(outcome.converged(), "{what}: {outcome}");
    Ok((outcome.iterations, report))
}

/// The same bits, but on GPUs to rounding, where the kernel that sums up depends on the rows that a rank has.
fn assert_same<V: Field>(found: &Csr<V>, expected: &Csr<V>, is_exact: bool, what: &str) {
    assert_eq!(found.size(), expected.size(), "{what}");
    assert_eq!(found.offsets(), expected.offsets(), "{what}");
    assert_eq!(found.columns(), expected.columns(), "{what}");
    let size = |value: V| value.modulus().to_f64();
    let values = expected.values().iter();
    let largest = values.fold(0.0, |a: f64, b| a.max(size(*b)));
    let within = if is_exact { 0.0 } else { 1e-12 * largest };
    let mut pairs = found.values().iter().zip(expected.values());
    assert!(pairs.all(|(a, b)| size(*a - *b) <= within), "{what}");
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
fn compare<V: Wide>(made: &Levels<V>, whole: &[Matrices<V>], what: &str) -> Result<()> {
    assert!(made.levels[0].a.is_of_ranks(), "{what}: nothing is shared");
    let device = made.levels[0].a.executor().device();
    let is_exact = device.is_none_or(|device| device.properties().is_cpu);
    for (number, (level, whole)) in made.levels.iter().zip(whole).enumerate() {
        let mut pairs = vec![("matrix", &level.a, &whole.a)];
        if let (Some(found), Some(expected)) = (&level.transfer, &whole.transfer) {
            pairs.push(("prolongation", &found.prolongation, &expected.prolongation));
            pairs.push(("restriction", &found.restriction, &expected.restriction));
        }
        for (name, found, expected) in pairs {
            let what = format!("{what}, level {number}, {name}");
            let found = match found {
                LevelMatrix::Here(found) => Some(found.as_ref().clone()),
                LevelMatrix::OfRanks(found) => found.gathered()?,
            };
            if let Some(found) = found {
                assert_same(&found, expected.local(), is_exact, &what);
            }
        }
    }
    let gathered = made.gathered.as_ref();
    if gathered.is_some_and(|gathered| gathered.leads) {
        assert_eq!(made.levels.len(), whole.len(), "{what}");
    }
    Ok(())
}

/// Levels of ranks beside those without, on the host or a device.
fn check_levels(executor: &Executor, problem: &str, amg: &Amg, ranks: &[usize]) {
    let problem = gallery::build(problem, &one_thread()).unwrap();
    let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix.copy_to(executor).unwrap());
    let whole = set_up(amg, &a, &near_nullspace(&problem)).unwrap().levels;
    for &ranks in ranks {
        let (name, coarsening) = (&problem.name, amg.coarsening);
        let what = format!("{name} {coarsening} on {ranks} ranks of {executor:?}");
        threads::run(ranks, |team| {
            let (a, near, _) = part(&executor.with_team(&team)?, &problem)?;
            compare(&set_up(amg, &a, &near)?, &whole, &what)
        })
        .unwrap();
    }
}

/// A problem, options, and numbers of ranks.
type Case<'c> = (&'c str, &'c str, &'c [usize]);

fn check_all_levels(cases: &[Case<'_>]) {
    for (problem, text, ranks) in cases {
        check_levels(&one_thread(), problem, &amg(text), ranks);
    }
}

/// Levels and iterations.
fn check_all(cases: &[Case<'_>]) {
    check_all_levels(cases);
    for (problem, text, ranks) in cases {
        let (problem, amg) = (gallery::build(problem, &one_thread()).unwrap(), amg(text));
        let b = Vector::from_column(problem.matrix.executor(), problem.rhs.clone());
        let whole = (
            Arc::new(problem.matrix.clone()) as _,
            near_nullspace(&problem),
            b,
        );
        let (expected, _) = solve(&amg, whole, text).unwrap();
        for &ranks in *ranks {
            let what = format!("{} {text} on {ranks} ranks", problem.name);
            on_ranks(ranks, |rank, _| {
                let (found, _) = solve(&amg, part(rank, &problem)?, &what)?;
                assert!(found.abs_diff(expected) <= 1, "{what}: {found}");
                Ok(())
            });
        }
    }
}

#[test]
fn classical_levels_have_the_bits_they_have_without_ranks() {
    check_all(&[
        ("poisson7:9", "coarsening=pmis", RANKS),
        ("jump7:9,1e6", "coarsening=pmis", &[2, 31]),
        (
            "jump7:9,1e6",
            r#"coarsening=pmis, strength={"kind":"mutual"}"#,
            &[2, 7],
        ),
        (
            "poisson27:7",
            "coarsening=pmis, interpolation=classical, smoother=jacobi:0.7",
            &[3, 7],
        ),
        // Approximate inverses are made of rows nearby.
        ("poisson7:9", "coarsening=pmis, smoother=fsai:3", &[1, 3, 7]),
    ]);
}

#[test]
fn every_choice_of_unknowns_has_the_bits_it_has_without_ranks() {
    let mutual = r#"coarsening=pmis-aggressive, strength={"kind":"mutual"}"#;
    let few = r#"coarsening=pmis, strength={"kind":"classical","connections":3}"#;
    let affinity = r#"coarsening=pmis, strength={"kind":"affinity","connections":4}"#;
    check_all_levels(&[
        ("poisson7:7", "coarsening=hmis", RANKS),
        ("poisson7:9", "coarsening=pmis-aggressive", RANKS),
        ("jump7:8,1e6", mutual, &[7]),
        ("aniso7:7,0.1", few, &[3, 31]),
        ("poisson5:15", affinity, &[2, 7]),
        ("poisson7:7", "coarsening=pmis, coarse-filter=0.9", &[2, 7]),
        (
            "convdiff7:7,10",
            "coarsening=pmis, restriction=own",
            &[3, 7],
        ),
    ]);
}

#[test]
fn groups_have_the_bits_they_have_without_ranks() {
    let eight = "coarsening=pgm, aggregate-size=8, interpolation=smoothed";
    let nodes = r#"coarsening=mis2, strength={"kind":"symmetric","connections":5}"#;
    let affinity = r#"coarsening=mis2, strength={"kind":"affinity"}"#;
    let lower = "coarsening=mis2, energy-steps=2";
    check_all_levels(&[
        ("poisson7:6", "coarsening=pgm", RANKS),
        ("aniso7:7,0.01", eight, &[3, 31]),
        ("elasticity:6x3x3", "coarsening=pgm, aggregate-size=4", &[7]),
        (
            "poisson5:12",
            "coarsening=uniform, aggregate-size=3",
            &[2, 7],
        ),
        ("elasticity:6x3x3", nodes, &[7]),
        ("aniso7:6,0.1", affinity, &[3]),
        ("elasticity:6x3x3", lower, &[3]),
        ("aniso7:7,0.01", lower, &[7]),
        ("convdiff7:8,10", "coarsening=mis2, restriction=own", &[3]),
    ]);
}

#[test]
fn smoothed_aggregation_and_nodes_have_the_bits_they_have_without_ranks() {
    check_all(&[
        ("poisson7:10", "coarsening=mis2", RANKS),
        ("aniso7:9,0.01", "coarsening=mis2", &[2, 7]),
        ("elasticity:6x3x3", "coarsening=mis2", RANKS),
        ("elasticity:6x3x3", "coarsening=pmis", &[3]),
    ]);
}

#[test]
fn test_vectors_are_interpolated_as_they_are_without_ranks() {
    let few = r#"coarsening=pmis, strength={"kind":"symmetric","threshold":0.01}"#;
    let given = format!("{few}, interpolation=bamg");
    check_all(&[("elasticity:6x3x3", &given, &[1, 3, 31])]);
    let filtered = format!(r#"{few}, interpolation=fbamg, bamg={{"max-distance":2}}"#);
    let found = r#"interpolation=sbamg, energy-steps=1, test-space={"vectors":2,"steps":5}"#;
    check_all_levels(&[
        ("poisson7:7", &filtered, &[2, 7]),
        ("jump7:7,1e3", &format!("{few}, {found}"), &[2, 7]),
    ]);
}

#[test]
fn other_values_are_taken_over_ranks_as_without() {
    for (problem, options) in [
        ("poisson5:24", "coarsening=pmis"),
        ("elasticity:6x3x3", "coarsening=mis2"),
    ] {
        let problem = gallery::build(problem, &Executor::cpu()).unwrap();
        let mut other = gallery::build("poisson5:2", &Executor::cpu()).unwrap();
        (other.near_nullspace, other.rhs) = (problem.near_nullspace.clone(), problem.rhs.clone());
        other.matrix = problem.matrix.scale(3.0).unwrap();
        on_ranks(3, |rank, _| {
            let (ws, amg) = (Workspace::new(), amg(options));
            let (a, near, b) = part(rank, &problem)?;
            let (setup, first) = amg.setup_with(&a, &near, &ws)?;
            let renewed = setup.update_values(&part(rank, &other)?.0, &ws)?;
            assert!(renewed.report().levels.len() > 1);
            assert_eq!(rows(renewed.report()), rows(first.report()));
            // A cycle of 3 A is a third of one of A.
            let (mut x, mut y) = (Vector::zeros_like(&b)?, Vector::zeros_like(&b)?);
            first.apply(&b, &mut x, &ws)?;
            renewed.apply(&b, &mut y, &ws)?;
            let mut pairs = x.to_vec().into_iter().zip(y.to_vec());
            let largest = x.norms()?[0];
            assert!(pairs.all(|(x, y)| (x - 3.0 * y).abs() <= 1e-5 * largest));
            // Another pattern is refused on all ranks.
            let smaller = gallery::build("poisson5:23", &Executor::cpu())?;
            let smaller = part(rank, &smaller)?.0;
            assert!(setup.update_values(&smaller, &ws).is_err());
            Ok(())
        });
    }
}

/// Levels and iterations of ranks that share a device beside those of ranks of the host.
fn check_device(device: &Executor, problem: &str, text: &str, gather_rows: usize) {
    let problem = gallery::build(problem, &Executor::cpu()).unwrap();
    let more = format!("gather-rows={gather_rows}, host-rows=100");
    let amg = with(&amg(text), &more);
    let solved = |rank: &Executor| -> Result<(Vec<[usize; 2]>, usize)> {
        let replays = || rank.device().map_or(0, |device| device.counts().replays);
        let before = replays();
        let (iterations, report) = solve(&amg, part(rank, &problem)?, text)?;
        // A process with more streams than a GPU has queues does not replay.
        let device = rank.device();
        if device.is_some_and(|device| device.properties().is_cpu) {
            let replayed = (replays() - before) as usize;
            assert!(replayed + 2 > iterations, "{text}: {replayed}");
        }
        let levels = report.levels.iter();
        Ok((
            levels.map(|one| [one.rows, one.nonzeros]).collect(),
            iterations,
        ))
    };
    threads::run(2, |team| {
        let host = one_thread().with_team(&team)?;
        let (expected, here) = solved(&host)?;
        let (found, there) = solved(&host.with_device(device.name())?)?;
        if team.rank() == 0 {
            assert_eq!(found, expected, "{} {text}", problem.name);
        }
        assert!(there.abs_diff(here) <= 1, "{text}: {there}, not {here}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn ranks_on_a_device_have_the_levels_and_iterations_of_the_host() {
    let Some(device) = device() else { return };
    let narrow = "coarsening=pmis, precision=dp-sp";
    for (problem, text, gather_rows) in [
        ("poisson7:9", narrow, 0),
        // The first rank has all levels.
        ("poisson7:9", narrow, 1),
        ("elasticity:6x3x3", "coarsening=mis2", 0),
        ("jump7:8,1e6", "coarsening=pmis, smoother=fsai:3", 0),
    ] {
        check_device(&device, problem, text, gather_rows);
    }
}

#[test]
fn levels_of_ranks_with_devices_are_those_of_one_device() {
    let Some(device) = device() else { return };
    for (problem, coarsening, ranks) in [
        ("jump7:8,100", "mis2", &[1, 2, 3][..]),
        ("elasticity:6x3x3", "mis2", &[3]),
        ("poisson7:8", "pmis", &[3]),
    ] {
        let amg = amg(&format!(
            "coarsening={coarsening}, gather-rows=0, host-rows=50"
        ));
        check_levels(&device, problem, &amg, ranks);
    }
}

#[test]
fn a_matrix_that_one_rank_gathers_as_a_whole() {
    let problem = gallery::build("poisson5:12", &Executor::cpu()).unwrap();
    for precision in ["dp", "sp", "dp-sp"] {
        let amg = testing::amg(&format!("precision={precision}, coarsest-rows=20"));
        on_ranks(2, |rank, _| {
            solve(&amg, part(rank, &problem)?, precision).map(|_| ())
        });
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
    let (constant, sparse) = (
        "coarsening=pgm, interpolation=tentative",
        "coarsening=hmis, interpolation=classical",
    );
    for (spec, text, ranks) in [
        ("helmholtz:14,5,0.5", "coarsening=pmis", &[1, 2, 3, 7][..]),
        ("magnetic:14,0.05", "coarsening=mis2", &[1, 2, 3, 7]),
        ("magnetic:12,0.05", constant, &[3]),
        ("magnetic:12,0.05", sparse, &[2]),
    ] {
        let amg = amg(text);
        let whole = gallery::build_complex(spec, &one_thread()).unwrap().matrix;
        let given: Arc<dyn LinOp<c64>> = Arc::new(whole.clone());
        let expected = set_up(&amg, &given, &near).unwrap().levels;
        for &ranks in ranks {
            let what = format!("{spec} {text} on {ranks} ranks");
            threads::run(ranks, |team| {
                let a = complex_part::<c64>(&one_thread().with_team(&team)?, &whole)?;
                compare(&set_up(&amg, &a, &near)?, &expected, &what)
            })
            .unwrap();
        }
    }
}

/// Iterations of a solve over ranks in the precision of `T`.
fn iterations<T: Mixes<T, T>>(ranks: usize, precision: &str, tolerance: f64) -> usize {
    let amg = amg(&format!("coarsening=pmis, precision={precision}"));
    let whole = gallery::build_complex("helmholtz:20,6,0.5", &one_thread()).unwrap();
    let found = on_ranks(ranks, |rank, _| {
        let a = complex_part::<T>(rank, &whole.matrix)?;
        let b = Vector::filled(rank, a.size().rows, 1, 1.0)?;
        let solver = Solver::new(Fgmres::default(), a)?.preconditioned_by(&amg)?;
        let solver = solver.stopping(Stop::reduction(tolerance));
        let outcome = solver.solve(&b, &mut Vector::zeros_like(&b)?)?;
        assert!(outcome.converged(), "{outcome}");
        Ok(outcome.iterations)
    });
    found[0]
}

#[test]
fn waves_are_solved_over_ranks_in_both_precisions() {
    let alone = iterations::<c64>(1, "dp", 1e-8);
    assert!(iterations::<c64>(3, "dp", 1e-8).abs_diff(alone) <= 1);
    assert!(iterations::<c64>(2, "dp-sp", 1e-8).abs_diff(alone) <= 2);
    let single = iterations::<c32>(1, "sp", 1e-4);
    assert!(iterations::<c32>(3, "sp", 1e-4).abs_diff(single) <= 1);
}

#[test]
fn set_ups_end_on_all_ranks_when_the_time_of_one_is_used_up() {
    let ended = on_ranks(3, |rank, team| {
        let problem = gallery::build("poisson5:30", rank)?;
        let (a, near, _) = part(rank, &problem)?;
        let ws = Workspace::new();
        let hour = Duration::from_secs(if team.rank() == 1 { 0 } else { 3600 });
        let _limited = ws.end_by(Some(Instant::now() + hour), Some(team));
        let made = amg("coarsening=pmis").hierarchy_with(&a, &near, &ws);
        Ok(matches!(made, Err(Error::OutOfTime)))
    });
    assert_eq!(ended, [true; 3]);
}
