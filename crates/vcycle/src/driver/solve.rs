//! From a configuration and a system to a solution.

use std::sync::Arc;

use super::analysis::Analysis;
use super::reduction::around;
use super::root;
use super::tries::Tries;
use super::{Solution, System, Wide};
use crate::configuration::Config;
use crate::error::Result;
use crate::executor::Workspace;
use crate::matrix::Csr;
use crate::vector::Vector;

/// Solves `A x = b` as `config` says, from a zero guess; [`System::with_guess`] has another.
///
/// Where it says `auto`, the combinations of [`attempts`](super::attempts) are tried in order: the next one after
/// a failed set-up, another solver after an indefinite matrix, a breakdown, divergence or
/// stagnation. What happened is in [`Solution::messages`].
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{config::{self, Config}, executor::{Executor, Workspace}, matrix::Csr, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let config = Config::from_toml(r#"
///     solver = "cg"
///     preconditioner = "jacobi"
/// "#)?;
/// let solution = config::solve(&config, &a, &b, &Workspace::new())?;
/// assert!(solution.outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// When the configuration does not fit the matrix, operands do not fit each other, or no
/// attempt's set-up succeeds. Not converging is no error.
pub fn solve<T: Wide>(
    config: &Config,
    a: &Arc<Csr<T>>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    solve_system(config, &System::new(Arc::clone(a)), b, ws)
}

/// [`solve`] for a system of which more is known than its matrix, or whose rows ranks share.
///
/// Ranks call it together, with the same configuration and their own rows of everything. Every rank gets its rows of the
/// solution, and the same outcome. Where all of them use the same device, rank 0 solves for all as it does alone, unless
/// `gather-rows` of multigrid is 0; then it has the levels to show, and its log the observers.
///
/// # Errors
/// As [`solve`], and when what is known does not fit the matrix; over ranks for what is not made for them, with what to use
/// instead, and when another rank has failed.
pub fn solve_system<T: Wide>(
    config: &Config,
    system: &System<T>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    system.check(b, system.guess.as_ref())?;
    if let Some(a) = root::gathering(config, &system.matrix)? {
        return root::solve(config, system, a, b, ws);
    }
    let analysis = Analysis::new(config, system)?;
    let mut tries = Tries::new(config, analysis.system(), None, ws)?;
    let (stop, transform) = (tries.setting.stop.clone(), &analysis.transform);
    let reduction = analysis.reduction.as_deref();
    let mut solution = around(reduction, system, b, stop, ws, |b, stop| {
        tries.setting.stop = stop;
        let b = transform.right_hand_side(b)?;
        transform.undo(system, tries.solve(&b)?)
    })?;
    analysis.report(&mut solution);
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        assert_has, blocks, chosen, config, counted, cycle, device, matrix, ones, solve, solved,
        system, triplets,
    };
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;

    #[test]
    fn what_fails_is_replaced_unless_it_was_chosen() {
        let blocks = system(blocks(2.0, 8));
        let b = counted(&blocks.matrix);
        let solution = solved("preconditioner=none", &blocks, &b);
        assert_eq!(chosen(&solution.config), "minres+none");
        assert_has(solution.messages.join("\n"), "→ cg|cg: indefinite|→ minres");
        let solution = solve("solver=cg preconditioner=none", &blocks, &b).unwrap();
        assert_eq!(chosen(&solution.config), "cg+none");
        assert_eq!(solution.outcome.status.name(), "indefinite");
        assert!(solution.messages.is_empty());
    }

    #[test]
    fn the_best_of_all_tries_is_handed_over() {
        // Inconsistent: nothing solves it, and some methods make it worse.
        let mut a = cycle(24);
        a.values_mut()[7] = 0.0;
        let a = system(a);
        let solution = solve("", &a, &ones(&a.matrix)).unwrap();
        assert!(!solution.outcome.converged());
        let messages = &solution.messages;
        let residual = |message: &String| -> Option<f64> {
            let (_, residual) = message.split_once("iterations, residual ")?;
            residual.parse().ok()
        };
        let tried: Vec<f64> = messages.iter().filter_map(residual).collect();
        let best = solution.outcome.relative_residual;
        let is_best = tried.iter().all(|&other| best <= 1.1 * other);
        assert!(!tried.is_empty() && is_best, "{best}: {messages:?}");
        assert_has(messages.last().unwrap(), "the best answer is that of");
    }

    #[test]
    fn rounding_costs_no_symmetry() {
        let mut rounded = matrix("poisson5:50");
        rounded.values_mut()[1] *= 1.0 + 4e-16;
        let exact = system(matrix("poisson5:50"));
        let b = ones(&exact.matrix);
        let rounded = system(rounded);
        for options in ["", "solver=direct", "preconditioner=amg"] {
            let [exact, found] = [&exact, &rounded].map(|system| solved(options, system, &b));
            assert_eq!(found.config, exact.config);
            assert_eq!(found.outcome.iterations, exact.outcome.iterations);
            // Factors without symmetry are twice as large.
            let matrix = rounded.matrix.whole().unwrap().bytes();
            assert!(found.bytes <= exact.bytes + matrix, "{options}");
            let messages = found.messages.join("\n");
            assert_has(
                messages,
                "opposite by up to 1e-16 of the largest: solved as (A + A^T)/2",
            );
        }
        assert!(
            solved("solver=cg preconditioner=amg", &rounded, &b)
                .messages
                .is_empty()
        );
    }

    #[test]
    fn a_set_up_that_lacks_digits_is_repeated_in_double() {
        let a = system(triplets(2, &[(0, 0, 1.0), (1, 1, 1e-39)]));
        let options = "solver=cg preconditioner=jacobi precision=sp";
        let solution = solved(options, &a, &ones(&a.matrix));
        let expected =
            "cg with jacobi: set-up failed|not finite|cg with jacobi again, in double precision";
        assert_has(solution.messages.join("\n"), expected);
        let precision = solution.config.precision;
        assert!(precision.is_some_and(|precision| precision.is_double()));
        let indefinite = system(triplets(2, &[(0, 0, 1.0), (1, 1, -1.0)]));
        let options = "solver=cg preconditioner=ic0 precision=sp";
        let refused = solve(options, &indefinite, &ones(&a.matrix)).unwrap_err();
        assert!(matches!(refused, Error::BadPivot { .. }));
    }

    #[test]
    fn zeros_on_the_diagonal_are_moved_away() {
        let a = system(cycle(24));
        let b = ones(&a.matrix);
        for options in [
            "solver=gmres",
            "preconditioner=ilu0",
            "solver=bicgstab preconditioner=jacobi",
            "preconditioner=ilu0 match=mc64",
            "preconditioner=amg match=mc64 reorder=rcm",
        ] {
            let solution = solved(options, &a, &b);
            assert!(solution.outcome.iterations <= 2, "{options}");
            assert_has(solution.messages.join("\n"), "mc64: 24 rows moved");
        }
        for options in [
            "preconditioner=ilu0 match=none",
            "solver=cg preconditioner=jacobi",
        ] {
            let refused = solve(options, &a, &b).unwrap_err();
            let is_zero = matches!(refused, Error::ZeroDiagonal { .. } | Error::BadPivot { .. });
            assert!(is_zero, "{options}: {refused}");
        }
        for name in ["none", "struct-mg"] {
            let options = format!("solver=gmres preconditioner={name} match=mc64");
            let refused = solve(&options, &a, &b).unwrap_err();
            assert_has(refused, "are for preconditioners");
        }
    }

    #[test]
    fn a_stencil_is_solved_by_structured_multigrid() {
        for (problem, expected) in [
            ("poisson5:60", "cg+struct-mg"),
            ("convdiff7:16,20", "fgmres+struct-mg"),
        ] {
            let a = system(matrix(problem));
            let solution = solved("", &a, &ones(&a.matrix));
            assert_eq!(chosen(&solution.config), expected);
            assert!(solution.outcome.iterations < 20);
            assert_has(&solution.messages[0], "a stencil on a grid");
        }
    }

    #[test]
    fn a_guess_is_where_it_starts() {
        let a = system(blocks(0.5, 8));
        let b = counted(&a.matrix);
        for precision in ["dp", "sp"] {
            let options = format!("solver=cg preconditioner=jacobi precision={precision}");
            let from_zero = solved(&options, &a, &b);
            assert!(from_zero.outcome.iterations > 0);
            let near = a.clone().with_guess(from_zero.x.clone());
            let again = solved(&options, &near, &b);
            assert_eq!(again.outcome.iterations, 0);
            assert_eq!(again.x.to_vec(), from_zero.x.to_vec());
        }
        let short = Vector::from_column(b.executor(), vec![1.0; 3]);
        let refused = solve("", &a.with_guess(short), &b).unwrap_err();
        assert_has(refused, "initial guess");
    }

    #[test]
    fn what_a_device_leaves_to_the_host_is_reported_once() {
        let Some(device) = device() else { return };
        let a = system(blocks(0.3, 8).copy_to(&device).unwrap());
        let b = counted(&a.matrix);
        let messages_of =
            |name| solved(&format!("solver=cg preconditioner={name}"), &a, &b).messages;
        assert!(messages_of("jacobi").is_empty());
        // The host finds the values; the device makes triangles of them.
        let messages = messages_of("ic0");
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_has(&messages[0], "ic0 set-up");
    }

    #[test]
    fn refinement_reaches_more_than_the_low_precision_holds() {
        let a = system(blocks(0.3, 8));
        let b = counted(&a.matrix);
        for precision in ["sp", "dp/sp", "sp/hp", "dp/bf"] {
            let options = format!("solver=cg preconditioner=jacobi precision={precision}");
            let outcome = solved(&format!("{options} rtol=1e-13"), &a, &b).outcome;
            assert!(outcome.relative_residual <= 1e-13);
            assert!(outcome.history.len() == outcome.iterations + 1);
            let nothing = solved(&options, &a, &Vector::zeros_like(&b).unwrap());
            assert_eq!(nothing.outcome.iterations, 0);
        }
    }

    #[test]
    fn full_multigrid_is_a_start_for_any_solver_and_precision() {
        let a = system(matrix("poisson5:64"));
        let b = ones(&a.matrix);
        for (solver, precision) in [("cg", "dp"), ("gmres", "dp"), ("cg", "sp"), ("cg", "dp/sp")] {
            let solve = |start| {
                let multigrid = format!("preconditioner=amg:cycle=w,fmg-start={start}");
                let options = format!("solver={solver} precision={precision} {multigrid}");
                solved(&options, &a, &b)
            };
            let (with, without) = (solve(true), solve(false));
            assert!(with.outcome.history[0] < 0.5, "{}", with.outcome.history[0]);
            assert_eq!(without.outcome.history[0], 1.0);
            assert!(with.outcome.iterations < without.outcome.iterations);
            assert_has(with.messages.concat(), "full multigrid start: relative");
        }
    }

    #[test]
    fn what_does_not_fit_and_a_failed_last_set_up_are_errors() {
        let a = system(blocks(0.3, 2));
        let b = Vector::filled(&Executor::cpu(), 5, 1, 1.0).unwrap();
        for precision in ["dp", "sp"] {
            let error = solve(&format!("precision={precision}"), &a, &b).unwrap_err();
            let expected = "right-hand side: expected 4 x 1, found 5 x 1";
            assert_eq!(error.to_string(), expected);
        }
        let host = Executor::reference();
        let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0]));
        let b = Vector::filled(&host, 2, 1, 1.0).unwrap();
        let config = config("solver=cg preconditioner=jacobi");
        let error = super::solve(&config, &a, &b, &Workspace::new()).unwrap_err();
        assert!(matches!(error, Error::ZeroDiagonal { row: 1, .. }));
    }
}
