//! Systems whose rows ranks share, which are solved as those of one rank are.

use std::sync::Arc;

use super::Wide;
use super::testing::{assert_has, chosen, config, device, matrix, neumann};
use crate::communicator::threads;
use crate::config::{Config, Prepared, Solution, System, solve_system};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::gallery::{self, Problem};
use crate::linop::LinOp;
use crate::matrix::{Csr, Distributed, Partition};
use crate::multigrid::NearNullspace;
use crate::scalar::Real;
use crate::stop::Status;
use crate::vector::Vector;

fn rank_of(team: &Arc<dyn crate::communicator::Communicator>) -> Result<Executor> {
    Executor::cpu_with_threads(1)?.with_team(team)
}

/// The rows of a rank, with a right-hand side of ones; whole nodes of so many unknowns.
fn part<T: Wide>(rank: &Executor, whole: &Csr<T>, block: u64) -> Result<(System<T>, Vector<T>)> {
    let ranks = rank.team().expect("a rank has a team").size();
    let rows = Partition::even(whole.size().rows as u64, block, ranks);
    let a = Distributed::part_of(rank, whole, rows)?;
    let b = Vector::filled(rank, a.size().rows, 1, 1.0)?;
    Ok((System::new(Arc::new(a)), b))
}

fn alone<T: Wide>(config: &Config, a: &Csr<T>) -> Solution<T> {
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let system = System::new(Arc::new(a.clone()));
    solve_system(config, &system, &b, &Workspace::new()).unwrap()
}

/// Solves on so many ranks, at once and with a set-up that is kept; the solution of rank 0.
fn by_ranks<T: Wide>(config: &Config, whole: &Csr<T>, block: u64, ranks: usize) -> Solution<T> {
    let mut all = threads::run(ranks, |team| {
        let (system, b) = part(&rank_of(&team)?, whole, block)?;
        let ws = Workspace::new();
        let solution = solve_system(config, &system, &b, &ws)?;
        // The residual of what was given, not of what was solved in its place.
        let mut r = Vector::zeros_like(&b)?;
        let a = system.matrix.shared().expect("rows of a rank");
        a.residual(&b, &solution.x, &mut r, &ws)?;
        let (r, b_norm) = (r.norms()?[0].to_f64(), b.norms()?[0].to_f64());
        let limit = 1.1 * config.stop.stop()?.rhs_tolerance.unwrap() * b_norm;
        let outcome = &solution.outcome;
        assert!(outcome.converged() && r <= limit, "{outcome}");
        let kept = Prepared::new(config.clone(), system, &ws)?;
        let again = kept.solve(&b, None, &config.stop, &ws)?;
        assert_eq!(again.outcome.iterations, solution.outcome.iterations);
        assert_eq!(again.x.to_vec(), solution.x.to_vec());
        Ok(solution)
    })
    .unwrap();
    all.swap_remove(0)
}

/// Solves on two ranks.
fn solved(config: &Config, whole: &Csr<f64>) -> Result<Solution<f64>> {
    let solved = threads::run(2, |team| {
        let (system, b) = part(&rank_of(&team)?, whole, 1)?;
        solve_system(config, &system, &b, &Workspace::new())
    });
    solved.map(|mut all| all.swap_remove(0))
}

/// Solves alone and on so many ranks, with as many iterations but for some.
fn compare<T: Wide>(config: &Config, whole: &Csr<T>, ranks: &[usize], apart: usize) {
    let expected = alone(config, whole).outcome.iterations;
    for &ranks in ranks {
        let found = by_ranks(config, whole, 1, ranks);
        let count = found.outcome.iterations;
        assert!(
            count.abs_diff(expected) <= apart,
            "{ranks} ranks: {count}, {expected}"
        );
        assert_eq!(
            found.config.precision.unwrap_or_default(),
            config.precision.unwrap_or_default()
        );
    }
}

#[test]
fn every_precision_is_refined_over_ranks_as_alone() {
    let whole = matrix("poisson5:16");
    for (precision, ranks) in [
        ("sp", &[1, 2, 3, 7][..]),
        ("dp/sp", &[3]),
        ("sp/hp", &[2]),
        ("dp/bf", &[7]),
    ] {
        let amg = "solver=cg preconditioner=amg:mis2,gather-rows=20,coarsest-rows=20 rtol=1e-11";
        let config = config(&format!("{amg} precision={precision}"));
        compare(&config, &whole, ranks, 2);
    }
    let config = config("solver=cg preconditioner=struct-mg precision=sp");
    compare(&config, &matrix("poisson7:17"), &[2], 1);
}

#[test]
fn complex_systems_are_solved_over_ranks_as_alone() {
    for (spec, solver) in [("magnetic:16,0.05", "cg"), ("helmholtz:16,5,0.5", "fgmres")] {
        let whole = gallery::build_complex(spec, &Executor::cpu())
            .unwrap()
            .matrix;
        for (precision, ranks) in [("dp", &[1, 2, 3, 7][..]), ("sp", &[2])] {
            let amg = "amg:pmis,gather-rows=20,coarsest-rows=20";
            let config = format!("solver={solver} preconditioner={amg} precision={precision}");
            let config = self::config(&config);
            compare(&config, &whole, ranks, 1);
        }
        let automatic = by_ranks(&Config::default(), &whole, 1, 2);
        assert_eq!(automatic.config.solver.name(), solver);
    }
}

#[test]
fn what_does_not_fit_is_named_by_its_place_in_the_whole_matrix() {
    let whole = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, 2.0, 3.0, 1e9]);
    let config = config("solver=cg preconditioner=none precision=sp/hp");
    let failed = solved(&config, &whole).unwrap_err();
    assert_has(failed, "entry (3, 3) overflows");
}

#[test]
fn where_a_set_up_fails_the_next_is_tried() {
    // Levels in single precision cannot hold such a value; one rank finds out.
    let mut whole = matrix("poisson5:12");
    *whole.values_mut().last_mut().unwrap() = 1e40;
    let found = solved(&Config::default(), &whole).unwrap();
    assert!(found.outcome.converged(), "{:?}", found.messages);
    assert_has(found.messages.concat(), "set-up failed");
    assert_ne!(found.config.preconditioner.name(), "none");
}

#[test]
fn unknowns_of_a_node_and_signs_are_found_over_ranks() {
    let whole = matrix("elasticity:10x5x5");
    let expected = by_ranks(&Config::default(), &whole, 3, 1);
    for ranks in [2, 3] {
        let found = by_ranks(&Config::default(), &whole, 3, ranks);
        let messages = &found.messages;
        assert_has(&messages[0], "3 unknowns a node");
        assert_eq!(found.outcome.iterations, expected.outcome.iterations);
    }
    let whole = matrix("poisson5:20");
    let expected = by_ranks(&Config::default(), &whole, 1, 2);
    let minus = whole.scale(-1.0).unwrap();
    let found = by_ranks(&Config::default(), &minus, 1, 2);
    assert!(found.messages[0].starts_with("every diagonal entry is negative"));
    assert_eq!(found.outcome.iterations, expected.outcome.iterations);
}

#[test]
fn the_null_space_is_removed_over_ranks() {
    let whole = neumann(20);
    let mut iterations = Vec::new();
    for ranks in [1, 2, 3] {
        let mut solved = threads::run(ranks, |team| {
            let rank = rank_of(&team)?;
            let (system, _) = part(&rank, &whole, 1)?;
            let a = system.matrix.shared().expect("rows of a rank");
            let own = a.rows().range(team.rank());
            let b = Vector::from_column(&rank, own.map(|row| row as f64 / 100.0).collect());
            let ws = Workspace::new();
            let named = config("nullspace=constant");
            assert!(solve_system(&named, &system, &b, &ws)?.outcome.converged());
            let solution = solve_system(&Config::default(), &system, &b, &ws)?;
            let (outcome, messages) = (&solution.outcome, &solution.messages);
            assert_eq!(outcome.status, Status::Inconsistent, "{outcome}");
            assert!((outcome.relative_residual - 3f64.sqrt() / 2.0).abs() < 1e-2);
            assert!((outcome.relative_residual - outcome.outside_range).abs() < 1e-8);
            assert_has(
                &messages[0],
                "singular: A annihilates constants; b has a component",
            );
            assert_has(messages.concat(), "cycles in double precision");
            let mut mean = [solution.x.to_vec().iter().sum::<f64>()];
            team.sum(&mut mean)?;
            assert!(mean[0].abs() < 1e-8);
            Ok(solution.outcome.iterations)
        });
        iterations.push(solved.as_mut().unwrap().swap_remove(0));
    }
    let near = |count: &usize| count.abs_diff(iterations[0]) <= 1;
    assert!(iterations.iter().all(near), "{iterations:?}");
}

#[cfg(feature = "direct")]
#[test]
fn rank_0_factorises_for_all() {
    let whole = matrix("convdiff7:6,20");
    let expected = alone(&config("solver=direct"), &whole);
    let solution = by_ranks(&config("solver=direct"), &whole, 1, 3);
    assert_eq!(chosen(&solution.config), "direct+none");
    assert_eq!(solution.outcome.iterations, expected.outcome.iterations);
    assert_has(&solution.messages[0], "direct: rank 0 of 3 solves for all");
    assert!(solution.multigrid.is_none());
}

#[test]
fn stencils_are_solved_by_the_same_method_on_any_number_of_ranks() {
    for spec in ["poisson7:17", "convdiff7:17,10"] {
        let whole = matrix(spec);
        let expected = alone(&Config::default(), &whole);
        assert_eq!(expected.config.preconditioner.name(), "struct-mg");
        for ranks in [1, 3] {
            let found = by_ranks(&Config::default(), &whole, 1, ranks);
            assert_eq!(found.config.preconditioner, expected.config.preconditioner);
            let counts = [&found, &expected].map(|solved| solved.outcome.iterations);
            assert!(counts[0].abs_diff(counts[1]) <= 1, "{spec}: {counts:?}");
        }
    }
    let small = by_ranks(&Config::default(), &matrix("poisson7:6"), 1, 2);
    assert_eq!(small.config.preconditioner.name(), "amg");
}

#[test]
fn the_rules_hold_over_ranks() {
    let dominant = matrix("poisson5:20").add(1.0, 8.0, &Csr::identity(&Executor::cpu(), 400));
    let solution = by_ranks(&Config::default(), &dominant.unwrap(), 1, 2);
    let (found, messages) = (chosen(&solution.config), &solution.messages);
    assert_eq!(found, "cg+jacobi", "{messages:?}");
    let given = config("preconditioner=schwarz:ilu0");
    let general = by_ranks(&given, &matrix("convdiff7:8,20"), 1, 2);
    assert_eq!(chosen(&general.config), "gmres+schwarz");
}

#[test]
fn a_solve_over_ranks_that_cannot_fit_is_refused() {
    if Executor::reference().available_memory().is_none() {
        return;
    }
    let whole = matrix("poisson5:4");
    let config = config("solver=gmres:1000000000000 preconditioner=jacobi");
    assert_has(solved(&config, &whole).unwrap_err(), "solver `gmres`");
}

#[test]
fn other_values_renew_the_levels_of_all_ranks() {
    // The cells of a grid are found first, or given, or rank 0 has them all; values may be negative.
    for (spec, given, factor) in [
        ("poisson5:40", "auto", -2.0),
        ("poisson7:17", "struct-mg", 2.0),
        ("poisson7:17", "auto", 2.0),
        ("poisson7:17", "struct-mg:gather-cells=9999", 2.0),
    ] {
        let whole = matrix(spec);
        let config = config(&format!("preconditioner={given}"));
        threads::run(2, |team| {
            let (system, b) = part(&rank_of(&team)?, &whole, 1)?;
            let ws = Workspace::new();
            let mut prepared = Prepared::new(config.clone(), system, &ws)?;
            let first = prepared.solve(&b, None, &config.stop, &ws)?;
            update(&mut prepared, factor)?;
            assert_has(
                prepared.messages().concat(),
                "levels of an earlier set-up reused",
            );
            let second = prepared.solve(&b, None, &config.stop, &ws)?;
            assert_eq!(second.outcome.iterations, first.outcome.iterations);
            for (x, y) in first.x.to_vec().into_iter().zip(second.x.to_vec()) {
                assert!((x - factor * y).abs() <= 1e-6 * x.abs().max(1.0));
            }
            assert!(prepared.matrix().with_values(vec![1.0]).is_err());
            Ok(())
        })
        .unwrap();
    }
}

/// Every value times a factor.
fn update(prepared: &mut Prepared<f64>, factor: f64) -> Result<()> {
    let before = prepared.matrix().shared().expect("rows of a rank");
    let values = before.local().values().iter().map(|value| factor * value);
    let matrix = prepared.matrix().with_values(values.collect())?;
    prepared.update_values(matrix, &Workspace::new())
}

/// Ranks that use the same device share a grid where that is asked for.
#[test]
fn structured_multigrid_takes_other_values_on_the_devices_of_ranks() {
    let Some(device) = device() else { return };
    let whole = matrix("poisson7:5x6x13");
    let config = config("preconditioner=struct-mg:gather-cells=0,coarsest-cells=30");
    threads::run(2, |team| {
        let (system, b) = part(&device.with_team(&team)?, &whole, 1)?;
        let ws = Workspace::new();
        let mut prepared = Prepared::new(config.clone(), system, &ws)?;
        assert!(!prepared.messages().concat().contains("solves for all"));
        let first = prepared.solve(&b, None, &config.stop, &ws)?;
        assert!(first.outcome.converged() && first.outcome.iterations < 9);
        let report = first.multigrid.expect("levels that are shared");
        assert!(report.levels[0].part.is_some());
        update(&mut prepared, 2.0)?;
        let second = prepared.solve(&b, None, &config.stop, &ws)?;
        assert_eq!(second.outcome.iterations, first.outcome.iterations);
        Ok(())
    })
    .unwrap();
}

#[test]
fn other_vectors_on_one_rank_are_refused_on_all() {
    let whole = matrix("poisson5:8");
    let devices = vcycle_core::testing::device();
    let places = [Executor::cpu_with_threads(1).unwrap()].into_iter();
    for place in places.chain(devices) {
        threads::run(2, |team| {
            let rank = place.with_team(&team)?;
            let (system, _) = part(&rank, &whole, 1)?;
            let ws = Workspace::new();
            let prepared = Prepared::new(Config::default(), system, &ws)?;
            let of = |rows| Vector::filled(&rank, rows, 1, 1.0);
            let short = 32 - team.rank();
            assert!(prepared.apply(&of(short)?, &mut of(32)?, &ws).is_err());
            assert!(prepared.apply(&of(32)?, &mut of(short)?, &ws).is_err());
            let stop = &prepared.config().stop;
            assert!(prepared.solve(&of(short)?, None, stop, &ws).is_err());
            let (one, several) = (of(32)?, Vector::filled(&rank, 32, 1 + team.rank(), 1.0)?);
            let guess = Some(&one).filter(|_| team.rank() == 0);
            for refused in [
                prepared.solve(&several, None, stop, &ws),
                prepared.solve(&one, guess, stop, &ws),
            ] {
                assert_has(
                    refused.unwrap_err(),
                    "ranks have different numbers of right-hand sides",
                );
            }
            prepared.apply(&of(32)?, &mut of(32)?, &ws)
        })
        .unwrap();
    }
}

/// The rows of this rank of elasticity.
fn body(rank: &Executor, problem: &Problem) -> Result<(System, Vector<f64>)> {
    let (mut system, _) = part(rank, &problem.matrix, 3)?;
    let a = system.matrix.shared().expect("rows of a rank");
    let own = a.rows().range(a.team().rank());
    let own = own.start as usize..own.end as usize;
    let near = problem.near_nullspace.as_ref().expect("rigid bodies");
    let vectors = near.vectors().iter();
    let vectors = vectors.map(|vector| vector[own.clone()].to_vec()).collect();
    system.near_nullspace = Some(NearNullspace::new(3, vectors)?);
    Ok((system, Vector::from_column(rank, problem.rhs[own].to_vec())))
}

#[test]
fn ranks_of_one_device_get_what_it_solves_alone() {
    let Some(device) = device() else { return };
    let problem = gallery::build("elasticity:6x3x3", &Executor::cpu()).unwrap();
    let config = config("solver=cg preconditioner=amg:mis2,smoother=jacobi,precision=dp");
    let ws = Workspace::new();
    let mut whole = System::new(Arc::new(problem.matrix.copy_to(&device).unwrap()));
    whole.near_nullspace = problem.near_nullspace.clone();
    let b = Vector::from_column(&device, problem.rhs.clone());
    let alone = Prepared::new(config.clone(), whole, &ws).unwrap();
    let expected = alone.solve(&b, None, &config.stop, &ws).unwrap();
    let mut applied = Vector::zeros_like(&b).unwrap();
    alone.apply(&b, &mut applied, &ws).unwrap();
    threads::run(2, |team| {
        let (system, b) = body(&device.with_team(&team)?, &problem)?;
        let a = system.matrix.shared().expect("rows of a rank").clone();
        let whole = |x: &Vector<f64>| a.gathered_values(&x.to_vec());
        let (leads, ws) = (team.rank() == 0, Workspace::new());
        let once = solve_system(&config, &system, &b, &ws)?;
        let mut kept = Prepared::new(config.clone(), system.clone(), &ws)?;
        let again = kept.solve(&b, None, &config.stop, &ws)?;
        for found in [&once, &again] {
            let first = |message: &&String| message.contains("rank 0 solves for all");
            assert_eq!(found.messages.iter().filter(first).count(), 1);
            assert!(found.outcome.history == expected.outcome.history);
            assert_eq!(found.config.preconditioner, expected.config.preconditioner);
            assert_eq!(found.multigrid.is_some(), leads);
            let x = whole(&found.x)?;
            assert!(!leads || x == expected.x.to_vec());
        }
        let mut z = Vector::zeros_like(&b)?;
        kept.apply(&b, &mut z, &ws)?;
        let z = whole(&z)?;
        assert!(!leads || z == applied.to_vec());
        update(&mut kept, 2.0)?;
        let half = kept.solve(&b, None, &config.stop, &ws)?;
        let once = once.x.to_vec();
        let size = once.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let mut pairs = half.x.to_vec().into_iter().zip(once);
        assert!(pairs.all(|(half, x)| (2.0 * half - x).abs() < 1e-6 * size));
        Ok(())
    })
    .unwrap();
}
