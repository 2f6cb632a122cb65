//! What is tried over ranks, the best first.

use std::any::Any;

use super::analysis::Analysis;
use crate::configuration::{Config, PreconditionerConfig, SolverConfig};
use crate::driver::auto::Attempt;
use crate::error::Result;
use crate::matrix::Distributed;
use crate::registration::Symmetry;
use crate::structured::{StencilMatrix, StructMg};
use vcycle_core::matrix::WorkingScalar;

/// The combinations to try.
#[derive(Debug)]
pub(super) struct Choice {
    pub attempts: Vec<Attempt>,
    /// The near cells of this rank, where that had to be known and structured multigrid is tried.
    pub stencil: Option<StencilMatrix<f64>>,
}

/// A solver, and a preconditioner for it.
type Pair = [&'static str; 2];

impl Choice {
    /// For what a configuration leaves open. All ranks call it together.
    pub fn new<T: WorkingScalar>(config: &Config, analysis: &Analysis<T>) -> Result<Self> {
        let (solver, preconditioner) = (&config.solver, &config.preconditioner);
        if !solver.is_auto() && !preconditioner.is_auto() {
            let given = Attempt::new(solver.clone(), preconditioner.clone(), String::new());
            return Ok(Self {
                attempts: vec![given],
                stencil: None,
            });
        }
        let a = analysis.system.matrix.as_ref();
        let stencil = stencil_of(config, a);
        let facts = match &stencil {
            Some(stencil) if stencil.is_symmetric_and_positive()? => [true; 2],
            _ => a.symmetric_and_positive()?,
        };
        let is_double = config.precision.unwrap_or_default().is_double();
        let is_regular = is_double && !analysis.is_singular();
        let on_grid = stencil.is_some() && preconditioner.is_auto() && is_regular;
        // Short recurrences ask for a preconditioner that is symmetric, too.
        let is_symmetric =
            preconditioner.is_auto() || preconditioner.symmetry() == Symmetry::Symmetric;
        let (kind, pairs) = pairs(facts, on_grid, is_symmetric);
        let kind = match T::KIND.is_complex() {
            true => kind.replace("symmetric", "Hermitian"),
            false => kind.to_owned(),
        };
        let rows = a.rows().total();
        let mut attempts: Vec<Attempt> = Vec::new();
        for [iteration, with] in pairs {
            let iteration: SolverConfig = match solver.is_auto() {
                true => iteration.parse()?,
                false => solver.clone(),
            };
            let with: PreconditionerConfig = match preconditioner.is_auto() {
                true => with.parse()?,
                false => preconditioner.clone(),
            };
            let is_new =
                |other: &Attempt| other.solver != iteration || other.preconditioner != with;
            if attempts.iter().all(is_new) {
                let (s, p) = (iteration.name(), with.name());
                let reason = format!("auto: {rows} rows over ranks, {kind} → {s} with {p}");
                attempts.push(Attempt::new(iteration, with, reason));
            }
        }
        let is_structured = |one: &Attempt| one.preconditioner.name() == "struct-mg";
        let stencil = stencil.filter(|_| attempts.iter().any(is_structured));
        Ok(Self { attempts, stencil })
    }
}

/// What the facts of a matrix are in words, and what is tried for them.
fn pairs(
    [symmetric, positive]: [bool; 2],
    on_grid: bool,
    is_symmetric: bool,
) -> (&'static str, Vec<Pair>) {
    let (kind, on_grids, others): (_, &[Pair], &[Pair]) = match (symmetric, positive) {
        (true, _) if !is_symmetric => (
            "symmetric, its preconditioner not",
            &[],
            &[["fgmres", ""], ["gmres", ""]],
        ),
        (true, true) => (
            match on_grid {
                true => "a stencil on a grid, symmetric, positive diagonal",
                false => "symmetric, positive diagonal",
            },
            &[["cg", "struct-mg"]],
            &[
                ["cg", "amg"],
                ["minres", "l1-jacobi"],
                ["gmres", "l1-jacobi"],
            ],
        ),
        (true, false) => (
            "symmetric",
            &[],
            &[["minres", "l1-jacobi"], ["gmres", "l1-jacobi"]],
        ),
        // As alone: cycles are rounded, and few vectors are kept.
        (false, true) => (
            match on_grid {
                true => "a stencil on a grid, not symmetric",
                false => "not symmetric",
            },
            &[["fgmres:20", "struct-mg"]],
            GENERAL,
        ),
        (false, false) => ("not symmetric", &[], GENERAL),
    };
    let on_grids = if on_grid { on_grids } else { &[] };
    (kind, [on_grids, others].concat())
}

const GENERAL: &[Pair] = &[
    ["fgmres", "amg"],
    ["gmres", "l1-jacobi"],
    ["bicgstab", "l1-jacobi"],
];

/// The near cells of a matrix on a grid, if the solver is to be chosen for structured multigrid. What is wrong with other
/// matrices is told where they are set up.
fn stencil_of<T: WorkingScalar>(config: &Config, a: &Distributed<T>) -> Option<StencilMatrix<f64>> {
    let a = (a as &dyn Any).downcast_ref::<Distributed<f64>>()?;
    let parameters = match &config.preconditioner {
        PreconditionerConfig::StructMg(parameters) => parameters,
        PreconditionerConfig::Auto(_) => &StructMg::default(),
        _ => return None,
    };
    let found = config
        .solver
        .is_auto()
        .then(|| parameters.stencil_of_ranks(a));
    found?.ok()?
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::communicator::threads;
    use crate::config::{Config, SharedSystem, System, solve_shared, solve_system};
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::matrix::{Distributed, Partition};
    use crate::vector::Vector;

    /// The preconditioner and the iterations of a problem, over ranks or without.
    fn solved(spec: &str, ranks: Option<usize>) -> (&'static str, usize) {
        let problem = gallery::build(spec, &Executor::cpu()).unwrap();
        let rows = problem.rhs.len();
        let (config, ws) = (Config::default(), Workspace::new());
        let Some(ranks) = ranks else {
            let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
            let system = System::new(Arc::new(problem.matrix));
            let solution = solve_system(&config, &system, &b, &ws).unwrap();
            let name = solution.config.preconditioner.name();
            return (name, solution.outcome.iterations);
        };
        let all = threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let even = Partition::even(rows as u64, 1, ranks);
            let own = even.range(team.rank());
            let b = problem.rhs[own.start as usize..own.end as usize].to_vec();
            let a = Distributed::part_of(&rank, &problem.matrix, even)?;
            let system = SharedSystem::new(Arc::new(a));
            let b = Vector::from_column(&rank, b);
            let solution = solve_shared(&config, &system, &b, &Workspace::new())?;
            assert!(solution.outcome.converged());
            let name = solution.config.preconditioner.name();
            Ok((name, solution.outcome.iterations))
        });
        all.unwrap()[0]
    }

    #[test]
    fn stencils_are_solved_by_the_same_method_on_any_number_of_ranks() {
        for spec in ["poisson7:17", "convdiff7:17,10"] {
            let alone = solved(spec, None);
            assert_eq!(alone.0, "struct-mg");
            for ranks in [1, 3] {
                let (name, iterations) = solved(spec, Some(ranks));
                assert_eq!(name, "struct-mg", "{spec}");
                assert!(iterations.abs_diff(alone.1) <= 1, "{spec}: {iterations}");
            }
        }
    }

    #[test]
    fn small_grids_are_left_to_algebraic_multigrid() {
        assert_eq!(solved("poisson7:6", Some(2)).0, "amg");
    }
}
