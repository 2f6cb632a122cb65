//! What the set-up of an attempt over ranks leaves, whatever the precision it computes in.

use std::sync::Arc;

use vcycle_core::matrix::WorkingScalar;

use super::Solve;
use crate::configuration::PreconditionerConfig;
use crate::driver::auto::Attempt;
use crate::driver::ready::Iteration;
use crate::driver::sequence::Kept;
use crate::driver::storage::{Wide, store_shared};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::multigrid::{Amg, NearNullspace, Report};
use crate::scalar::Kind;
use crate::solver::{Solver, SolverFactory};
use crate::structured::StructMg;
use crate::vector::Vector;

/// What is set up.
#[derive(Debug)]
pub struct Ready<T: Wide> {
    pub(super) iteration: Box<dyn Iteration<T>>,
    pub(super) multigrid: Option<Report>,
    pub(super) bytes: usize,
}

impl<T: Wide> Ready<T> {
    /// What was given, or what full multigrid finds, or zero.
    pub(super) fn first(
        &self,
        guess: Option<&Vector<T>>,
        b: &Vector<T>,
        ws: &Workspace,
    ) -> Result<Vector<T>> {
        let start = match guess {
            Some(guess) => Some(guess.clone()),
            None => self.iteration.start(b, ws)?,
        };
        start.map_or_else(|| Vector::zeros_like(b), Ok)
    }
}

/// The solver of an attempt and its multigrid.
struct Made<W: WorkingScalar> {
    solver: Solver<W>,
    multigrid: Option<Report>,
    /// What finds the initial guess, if that is not zero.
    start: Option<Arc<dyn LinOp<W>>>,
}

/// Sets up an attempt for vectors of `W`. All ranks call it together.
pub(in crate::driver) fn set_up<T: Wide, W: WorkingScalar<Wide = T>>(
    solve: &mut Solve<'_, T>,
    attempt: &mut Attempt,
) -> Result<Ready<T>> {
    let made = made::<T, W>(solve, attempt)?;
    Ok(Ready {
        bytes: made.solver.footprint().held,
        iteration: Box::new((made.solver, made.start)),
        multigrid: made.multigrid,
    })
}

fn made<T: Wide, W: WorkingScalar<Wide = T>>(
    solve: &mut Solve<'_, T>,
    attempt: &mut Attempt,
) -> Result<Made<W>> {
    attempt.check()?;
    let a = store_shared::<W>(&solve.system.matrix, solve.precision().matrix)?;
    let factory = SolverFactory {
        method: attempt.solver.method()?,
        preconditioner: None,
        stop: solve.config.stop.stop()?,
    };
    match attempt.preconditioner.clone() {
        PreconditionerConfig::Amg(amg) => multigrid(solve, attempt, &amg, (&factory, &a)),
        PreconditionerConfig::StructMg(parameters) => {
            structured(solve, attempt, &parameters, (&factory, &a))
        }
        _ => {
            let solver = factory.solver(&a, solve.ws)?;
            let solver = match attempt.preconditioner_factory()? {
                None => solver,
                Some(factory) => solver.with_preconditioner(factory.generate(&a, solve.ws)?)?,
            };
            Ok(Made {
                solver,
                multigrid: None,
                start: None,
            })
        }
    }
}

/// What makes a solver, and the matrix in the precision of products.
type Parts<'p, W> = (&'p SolverFactory<W>, &'p Arc<dyn LinOp<W>>);

fn multigrid<T: Wide, W: WorkingScalar<Wide = T>>(
    solve: &mut Solve<'_, T>,
    attempt: &mut Attempt,
    amg: &Amg,
    (factory, a): Parts<'_, W>,
) -> Result<Made<W>> {
    let solver = factory.solver(a, solve.ws)?;
    let components = NearNullspace::components(amg.block_size)?;
    let near = solve.system.near_nullspace.as_ref().unwrap_or(&components);
    let (hierarchy, told) = match &mut solve.kept {
        None => (amg.hierarchy_with(a, near, solve.ws)?, None),
        Some(kept) => kept.hierarchy(amg, a, near, solve.ws)?,
    };
    solve.messages.extend(told);
    let report = hierarchy.report().clone();
    solve.messages.extend(report.stalled.clone());
    solve.messages.extend(report.notes.clone());
    attempt.preconditioner = PreconditionerConfig::Amg(hierarchy.amg().clone());
    let start = amg.fmg_start;
    let start = start.then(|| Arc::clone(hierarchy.full_multigrid()));
    Ok(Made {
        solver: solver.with_preconditioner(hierarchy.shared())?,
        multigrid: Some(report),
        start,
    })
}

fn structured<T: Wide, W: WorkingScalar<Wide = T>>(
    solve: &mut Solve<'_, T>,
    attempt: &mut Attempt,
    parameters: &StructMg,
    (factory, a): Parts<'_, W>,
) -> Result<Made<W>> {
    // As alone: cells in double precision are for vectors in double precision.
    let near = solve.stencil.take().filter(|_| W::KIND == Kind::F64);
    let mut anew = Kept::default();
    let kept = solve.kept.as_mut().unwrap_or(&mut anew);
    let (made, told) = kept.structured_of_ranks(parameters, a, near, solve.ws)?;
    solve.messages.extend(told);
    solve.messages.extend(made.report.notes.clone());
    attempt.preconditioner = PreconditionerConfig::StructMg(made.parameters);
    // Products are those of the stencil, too.
    let solver = factory.solver(made.matrix.as_ref().unwrap_or(a), solve.ws)?;
    Ok(Made {
        solver: solver.with_preconditioner(made.operator)?,
        multigrid: Some(made.report),
        start: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::config::{
        SharedPrepared, SharedSystem, Solution, System, solve_shared, solve_system,
    };
    use crate::configuration::Config;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::matrix::{Csr, Distributed, Partition};
    use crate::scalar::Real;

    fn config(text: &str) -> Config {
        Config::from_toml(text).unwrap()
    }

    fn alone<T: Wide>(config: &Config, a: &Csr<T>) -> Solution<T> {
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let system = System::new(Arc::new(a.clone()));
        solve_system(config, &system, &b, &Workspace::new()).unwrap()
    }

    /// Solves on so many ranks, at once and with a set-up that is kept; the solution of rank 0.
    fn by_ranks<T: Wide>(config: &Config, whole: &Csr<T>, ranks: usize) -> Solution<T> {
        let mut all = threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let rows = Partition::even(whole.size().rows as u64, 1, ranks);
            let a = Arc::new(Distributed::part_of(&rank, whole, rows)?);
            let b = Vector::filled(&rank, a.size().rows, 1, 1.0)?;
            let (system, ws) = (SharedSystem::new(Arc::clone(&a)), Workspace::new());
            let solution = solve_shared(config, &system, &b, &ws)?;
            let mut r = Vector::zeros_like(&b)?;
            a.residual(&b, &solution.x, &mut r, &ws)?;
            let (r, b_norm) = (r.norms()?[0].to_f64(), b.norms()?[0].to_f64());
            let limit = 1.1 * config.stop.stop()?.rhs_tolerance.unwrap() * b_norm;
            assert!(
                solution.outcome.converged() && r <= limit,
                "{}",
                solution.outcome
            );
            let kept = SharedPrepared::new(config, system, &ws)?;
            let again = kept.solve(&b, None, &config.stop, &ws)?;
            assert_eq!(again.outcome.iterations, solution.outcome.iterations);
            assert_eq!(again.x.to_vec(), solution.x.to_vec());
            Ok(solution)
        })
        .unwrap();
        all.swap_remove(0)
    }

    #[test]
    fn every_precision_is_refined_over_ranks_as_alone() {
        let whole = gallery::build("poisson5:16", &Executor::cpu())
            .unwrap()
            .matrix;
        let of_ranks = [
            ("sp", &[1, 2, 3, 7][..]),
            ("dp/sp", &[3]),
            ("sp/hp", &[2]),
            ("dp/bf", &[7]),
        ];
        for (precision, all) in of_ranks {
            let config = config(&format!(
                "solver = \"cg\"\npreconditioner = \"amg:mis2,gather-rows=20,coarsest-rows=20\"\nprecision = \"{precision}\"\n[stop]\nrtol = 1e-11"
            ));
            let expected = alone(&config, &whole).outcome.iterations;
            for &ranks in all {
                let found = by_ranks(&config, &whole, ranks);
                let apart = found.outcome.iterations.abs_diff(expected);
                assert!(apart <= 2, "{precision}: {} {expected}", found.outcome);
                assert_eq!(found.config.precision, config.precision);
            }
        }
    }

    #[test]
    fn stencils_are_solved_in_single_precision_over_ranks_as_alone() {
        let whole = gallery::build("poisson7:17", &Executor::cpu())
            .unwrap()
            .matrix;
        let config = config("solver = \"cg\"\npreconditioner = \"struct-mg\"\nprecision = \"sp\"");
        let expected = alone(&config, &whole);
        let found = by_ranks(&config, &whole, 2);
        let apart = found
            .outcome
            .iterations
            .abs_diff(expected.outcome.iterations);
        assert!(apart <= 1, "{} {}", found.outcome, expected.outcome);
    }

    #[test]
    fn complex_systems_are_solved_over_ranks_as_alone() {
        for (spec, solver) in [("magnetic:16,0.05", "cg"), ("helmholtz:16,5,0.5", "fgmres")] {
            let whole = gallery::build_complex(spec, &Executor::cpu())
                .unwrap()
                .matrix;
            for (precision, all) in [("dp", &[1, 2, 3, 7][..]), ("sp", &[2])] {
                let amg = "amg:pmis,gather-rows=20,coarsest-rows=20";
                let given = config(&format!(
                    "solver = \"{solver}\"\npreconditioner = \"{amg}\"\nprecision = \"{precision}\""
                ));
                let expected = alone(&given, &whole).outcome.iterations;
                for &ranks in all {
                    let found = by_ranks(&given, &whole, ranks);
                    let apart = found.outcome.iterations.abs_diff(expected);
                    assert!(apart <= 1, "{spec}: {} {expected}", found.outcome);
                }
            }
            let automatic = by_ranks(&Config::default(), &whole, 2);
            assert_eq!(automatic.config.solver.name(), solver);
            let told = automatic.messages.concat();
            assert!(told.contains("Hermitian"), "{told}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_place_in_the_whole_matrix() {
        let whole = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, 2.0, 3.0, 1e9]);
        let config = config("solver = \"cg\"\npreconditioner = \"none\"\nprecision = \"sp/hp\"");
        let failed = threads::run(2, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let a = Distributed::part_of(&rank, &whole, Partition::even(4, 1, 2))?;
            let b = Vector::filled(&rank, 2, 1, 1.0)?;
            solve_shared(
                &config,
                &SharedSystem::new(Arc::new(a)),
                &b,
                &Workspace::new(),
            )
        });
        let told = failed.err().unwrap().to_string();
        assert!(told.contains("entry (3, 3) overflows"), "{told}");
    }

    #[test]
    fn where_a_set_up_fails_the_next_is_tried() {
        // Levels in single precision cannot hold such values; one rank finds out.
        let whole = gallery::build("poisson5:12", &Executor::cpu()).unwrap();
        let whole = whole.matrix.scale(1e40).unwrap();
        let found = by_ranks(&Config::default(), &whole, 2);
        let told = found.messages.concat();
        assert!(told.contains("set-up failed"), "{told}");
        assert_eq!(found.config.preconditioner.name(), "l1-jacobi");
    }
}
