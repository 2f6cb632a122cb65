//! From a configuration and a system to a solution.

use std::sync::Arc;

use super::analysis::Analysis;
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
/// stagnation. What happened is told in [`Solution::messages`].
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
    if let Some(a) = system.matrix.shared()
        && root::should_gather(config, a)?
    {
        return root::solve(config, system, a, b, ws);
    }
    let analysis = Analysis::new(config, system)?;
    let tries = Tries::new(config, analysis.system(), None, ws)?;
    let b = analysis.transform().right_hand_side(b)?;
    let solution = tries.solve(&b)?;
    analysis.undo(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::linop::Size;
    use crate::matrix::Duplicates;

    /// Blocks `[1 off; off 1]` on the diagonal, and a right-hand side of 1, 2, 3...
    fn blocks(off: f64, count: usize) -> (Arc<Csr<f64>>, Vector<f64>) {
        let host = Executor::reference();
        let n = 2 * count;
        let a = Csr::from_arrays(
            &host,
            Size::square(n),
            (0..=n).map(|row| 2 * row).collect(),
            (0..count as u32)
                .flat_map(|k| [2 * k, 2 * k + 1, 2 * k, 2 * k + 1])
                .collect(),
            [1.0, off, off, 1.0].repeat(count),
            Duplicates::Refuse,
        );
        let b = (1..=n).map(|value| value as f64).collect();
        (Arc::new(a.unwrap()), Vector::from_column(&host, b))
    }

    fn solve_with(config: &str, off: f64) -> Solution<f64> {
        let (a, b) = blocks(off, 8);
        let config = Config::from_toml(config).unwrap();
        solve(&config, &a, &b, &Workspace::new()).unwrap()
    }

    #[test]
    fn auto_leaves_cg_when_the_matrix_is_indefinite_and_says_so() {
        let solution = solve_with("preconditioner = \"none\"", 2.0);
        assert!(solution.outcome.converged());
        assert_eq!(solution.config.solver.name(), "minres");
        let told = solution.messages.join("\n");
        assert!(
            told.contains("→ cg") && told.contains("cg: indefinite") && told.contains("→ minres")
        );
    }

    #[test]
    fn the_best_of_all_tries_is_handed_over() {
        // Inconsistent: nothing solves it, and some methods make it worse.
        let host = Executor::reference();
        let n = 24;
        let columns = (0..n as u32).map(|row| (row + 1) % n as u32).collect();
        let mut values: Vec<f64> = (1..=n).map(|row| row as f64).collect();
        values[7] = 0.0;
        let (offsets, size) = ((0..=n).collect(), Size::square(n));
        let a = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
        let b = Vector::filled(&host, n, 1, 1.0).unwrap();
        let config = Config::default();
        let solution = solve(&config, &Arc::new(a.unwrap()), &b, &Workspace::new()).unwrap();
        assert!(!solution.outcome.converged());
        let told = &solution.messages;
        let residual = |told: &String| -> Option<f64> {
            let (_, residual) = told.split_once("iterations, residual ")?;
            residual.parse().ok()
        };
        let tried: Vec<f64> = told.iter().filter_map(residual).collect();
        assert!(!tried.is_empty(), "{told:?}");
        let best = solution.outcome.relative_residual;
        assert!(
            tried.iter().all(|&other| best <= 1.1 * other),
            "{best}: {told:?}"
        );
        assert!(
            told.last()
                .unwrap()
                .starts_with("the best answer is that of"),
            "{told:?}"
        );
    }

    #[test]
    fn zeros_on_the_diagonal_are_moved_away() {
        let host = Executor::reference();
        let n = 24;
        let columns = (0..n as u32).map(|row| (row + 1) % n as u32).collect();
        let values = (1..=n).map(|row| row as f64).collect();
        let (offsets, size) = ((0..=n).collect(), Size::square(n));
        let a = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
        let (a, b) = (
            Arc::new(a.unwrap()),
            Vector::filled(&host, n, 1, 1.0).unwrap(),
        );
        let solve = |text: &str| {
            let config = Config::from_toml(text).unwrap();
            solve(&config, &a, &b, &Workspace::new())
        };
        for text in [
            "solver = \"gmres\"",
            "preconditioner = \"ilu0\"",
            "solver = \"bicgstab\"\npreconditioner = \"jacobi\"",
            "preconditioner = \"ilu0\"\nmatch = \"mc64\"",
            "preconditioner = \"amg\"\nmatch = \"mc64\"\nreorder = \"rcm\"",
        ] {
            let solution = solve(text).unwrap();
            let told = solution.messages.join("\n");
            assert!(solution.outcome.converged(), "{text}: {told}");
            assert!(solution.outcome.iterations <= 2, "{text}: {told}");
            assert!(told.contains("mc64: 24 rows moved"), "{told}");
        }
        for text in [
            "preconditioner = \"ilu0\"\nmatch = \"none\"",
            "solver = \"cg\"\npreconditioner = \"jacobi\"",
        ] {
            let refused = solve(text).unwrap_err();
            assert!(matches!(
                refused,
                Error::ZeroDiagonal { .. } | Error::BadPivot { .. }
            ));
        }
        for text in ["none", "struct-mg"]
            .map(|name| format!("solver = \"gmres\"\npreconditioner = \"{name}\""))
        {
            let refused = solve(&format!("{text}\nmatch = \"mc64\"")).unwrap_err();
            let told = refused.to_string();
            assert!(told.contains("are for preconditioners"), "{told}");
        }
    }

    #[test]
    fn a_stencil_is_solved_by_structured_multigrid() {
        for (problem, solver) in [("poisson5:60", "cg"), ("convdiff7:16,20", "fgmres")] {
            let a = crate::gallery::build(problem, &Executor::cpu()).unwrap();
            let b = Vector::from_column(a.matrix.executor(), a.rhs);
            let a = Arc::new(a.matrix);
            let solution = solve(&Config::default(), &a, &b, &Workspace::new()).unwrap();
            let config = &solution.config;
            assert_eq!(
                (config.solver.name(), config.preconditioner.name()),
                (solver, "struct-mg")
            );
            assert!(solution.outcome.converged() && solution.outcome.iterations < 20);
            assert!(solution.messages[0].contains("a stencil on a grid"));
        }
    }

    #[test]
    fn a_guess_is_where_it_starts() {
        let (a, b) = blocks(0.5, 8);
        for config in ["precision = \"dp\"", "precision = \"sp\""] {
            let text = format!("solver = \"cg\"\npreconditioner = \"jacobi\"\n{config}");
            let config = Config::from_toml(&text).unwrap();
            let solve = |system: System<f64>| solve_system(&config, &system, &b, &Workspace::new());
            let from_zero = solve(System::new(Arc::clone(&a))).unwrap();
            assert!(from_zero.outcome.iterations > 0);
            let near = System::new(Arc::clone(&a)).with_guess(from_zero.x.clone());
            let again = solve(near).unwrap();
            assert!(again.outcome.converged() && again.outcome.iterations == 0);
            assert_eq!(again.x.to_vec(), from_zero.x.to_vec());
        }
        let short = Vector::from_column(a.executor(), vec![1.0; 3]);
        let solved = solve_system(
            &Config::default(),
            &System::new(Arc::clone(&a)).with_guess(short),
            &b,
            &Workspace::new(),
        );
        assert!(solved.unwrap_err().to_string().contains("initial guess"));
    }

    #[test]
    fn what_a_device_leaves_to_the_host_is_told_once() {
        let Some(device) = vcycle_core::testing::device() else {
            return;
        };
        let (a, b) = blocks(0.3, 8);
        let a = Arc::new(a.copy_to(&device).unwrap());
        let b = b.copy_to(&device).unwrap();
        let told = |preconditioner: &str| {
            let config = format!("solver = \"cg\"\npreconditioner = \"{preconditioner}\"");
            let config = Config::from_toml(&config).unwrap();
            let solution = solve(&config, &a, &b, &Workspace::new()).unwrap();
            assert!(solution.outcome.converged(), "{preconditioner}");
            solution.messages
        };
        assert!(told("jacobi").is_empty());
        // The host finds the values; the device makes triangles of them.
        let messages = told("ic0");
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("ic0 set-up"), "{messages:?}");
    }

    #[test]
    fn a_chosen_solver_is_not_replaced() {
        let solution = solve_with("solver = \"cg\"\npreconditioner = \"none\"", 2.0);
        assert_eq!(solution.config.solver.name(), "cg");
        assert_eq!(solution.outcome.status.name(), "indefinite");
        assert!(solution.messages.is_empty());
    }

    #[test]
    fn refinement_reaches_more_than_the_low_precision_holds() {
        for precision in ["sp", "dp/sp", "sp/hp", "dp/bf"] {
            let config = format!(
                "solver = \"cg\"\npreconditioner = \"jacobi\"\nprecision = \"{precision}\"\n[stop]\nrtol = 1e-13"
            );
            let solution = solve_with(&config, 0.3);
            let outcome = solution.outcome;
            assert!(outcome.converged(), "{precision}: {outcome}");
            assert!(outcome.relative_residual <= 1e-13);
            assert!(outcome.history.len() == outcome.iterations + 1);
        }
    }

    #[test]
    fn full_multigrid_is_a_start_for_any_solver_and_precision() {
        let a = crate::gallery::build("poisson5:64", &Executor::cpu()).unwrap();
        let b = Vector::from_column(a.matrix.executor(), a.rhs);
        let a = Arc::new(a.matrix);
        for (solver, precision) in [("cg", "dp"), ("gmres", "dp"), ("cg", "sp"), ("cg", "dp/sp")] {
            let solve = |start| {
                let config = format!(
                    "solver = \"{solver}\"\nprecision = \"{precision}\"\n\
                     preconditioner = {{ name = \"amg\", cycle = \"w\", fmg-start = {start} }}"
                );
                let config = Config::from_toml(&config).unwrap();
                let solution = solve(&config, &a, &b, &Workspace::new()).unwrap();
                assert!(
                    solution.outcome.converged(),
                    "{solver}: {}",
                    solution.outcome
                );
                solution
            };
            let (with, without) = (solve(true), solve(false));
            assert!(with.outcome.history[0] < 0.5, "{}", with.outcome.history[0]);
            assert_eq!(without.outcome.history[0], 1.0);
            assert!(with.outcome.iterations < without.outcome.iterations);
            let told = with.messages.concat();
            assert!(told.contains("full multigrid start: relative"), "{told}");
        }
    }

    #[test]
    fn a_zero_right_hand_side_needs_no_refinement() {
        let (a, b) = blocks(0.3, 2);
        let b = Vector::zeros_like(&b).unwrap();
        let config =
            Config::from_toml("solver = \"cg\"\npreconditioner = \"none\"\nprecision = \"sp\"");
        let solution = solve(&config.unwrap(), &a, &b, &Workspace::new()).unwrap();
        assert!(solution.outcome.converged());
        assert_eq!(solution.outcome.iterations, 0);
    }

    #[test]
    fn a_right_hand_side_of_another_length_is_named() {
        let (a, _) = blocks(0.3, 2);
        let b = Vector::filled(&Executor::reference(), 5, 1, 1.0).unwrap();
        for precision in ["dp", "sp"] {
            let config = Config::from_toml(&format!("precision = \"{precision}\"")).unwrap();
            let error = solve(&config, &a, &b, &Workspace::new()).unwrap_err();
            assert_eq!(
                error.to_string(),
                "right-hand side: expected 4 x 1, found 5 x 1"
            );
        }
    }

    #[test]
    fn a_failed_last_set_up_is_an_error() {
        let host = Executor::reference();
        let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0]));
        let b = Vector::filled(&host, 2, 1, 1.0).unwrap();
        let config = Config::from_toml("solver = \"cg\"\npreconditioner = \"jacobi\"").unwrap();
        let error = solve(&config, &a, &b, &Workspace::new()).unwrap_err();
        assert!(matches!(error, crate::Error::ZeroDiagonal { row: 1, .. }));
    }
}
