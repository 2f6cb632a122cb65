//! The memory that a solve takes, estimated before it begins from what its components say of themselves.

use super::{Attempt, System};
use crate::configuration::{Config, PreconditionerConfig, SolverConfig};
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::Extent;
use crate::multigrid::{Amg, NearNullspace};
use crate::registration::{Memory, MemoryOf, Need as Wants};
use crate::scalar::Scalar;
use crate::structured::StructMg;

/// Bytes of the program itself, with what a solve of nothing takes.
const PROGRAM: usize = 10_000_000;

/// Bytes an entry that products on a device take for an arrangement of their own.
const ARRANGED: usize = 12;

/// Bytes of what a component takes beside the vectors.
fn bytes(memory: Memory, extent: Extent) -> usize {
    let entries = extent.entries.saturating_mul(memory.entry);
    let both = entries.saturating_add(extent.rows.saturating_mul(memory.row));
    both.saturating_mul(extent.value_bytes / size_of::<f64>())
}

/// An estimate of the memory of a solve, in bytes.
///
/// ```
/// use vcycle::{config::{Config, MemoryNeed}, executor::Executor, gallery};
/// let extent = gallery::extent("poisson7:1000")?;
/// let need = MemoryNeed::expected(&Config::default(), extent, 1, &Executor::cpu());
/// assert!(need.total() > 150_000_000_000);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryNeed {
    /// The matrix as it is given.
    pub matrix: usize,
    /// The preconditioner and its set-up.
    pub preconditioner: usize,
    /// Right-hand side, solution and the vectors of the solver.
    pub vectors: usize,
    /// What the host needs where a device solves: the matrix, and what it sets up for the device.
    pub host: usize,
}

impl MemoryNeed {
    /// What a configuration needs for a matrix of which the size alone is known, and so many right-hand sides. Where
    /// it leaves the choice open this is the least that would be chosen: `MemoryNeed::of` estimates what is chosen once the
    /// matrix is known.
    pub fn expected(config: &Config, extent: Extent, columns: usize, executor: &Executor) -> Self {
        let open = config.preconditioner.is_auto();
        let chosen = [
            PreconditionerConfig::Amg(Amg::default()),
            PreconditionerConfig::StructMg(StructMg::default()),
        ];
        let chosen = match (open, &config.solver) {
            (true, SolverConfig::Direct(_)) => vec![PreconditionerConfig::None(Default::default())],
            (true, _) => chosen.to_vec(),
            (false, _) => vec![config.preconditioner.clone()],
        };
        let solver = match config.solver.is_auto() {
            true => SolverConfig::Cg(Default::default()),
            false => config.solver.clone(),
        };
        let need = |preconditioner| {
            let reason = String::new();
            let attempt = Attempt {
                solver: solver.clone(),
                preconditioner,
                preprocessing: Default::default(),
                preset: None,
                reason,
                seconds: None,
                most_iterations: None,
            };
            Self::of(&attempt, extent, columns, None, executor)
        };
        let least = chosen.into_iter().map(need).min_by_key(Self::total);
        least.expect("there is a choice")
    }

    /// What an attempt needs for a matrix of that size; `known` says how many unknowns a node has. Factors of the
    /// direct solver are not counted: their size shows when it orders the unknowns, and is compared then.
    pub fn of(
        attempt: &Attempt,
        extent: Extent,
        columns: usize,
        known: Option<&NearNullspace>,
        executor: &Executor,
    ) -> Self {
        let nodes = known.is_some_and(|known| known.block_size() > 1);
        Self::estimated(attempt, extent, columns, (nodes, executor.is_device()))
    }

    fn estimated(
        attempt: &Attempt,
        extent: Extent,
        columns: usize,
        (nodes, on_device): (bool, bool),
    ) -> Self {
        let matrix = extent.bytes();
        let memory = |on_device| {
            let of = MemoryOf {
                symmetric: attempt.solver.has_need(Wants::SymmetricMatrix),
                nodes,
                on_device,
            };
            let preconditioner = attempt.preconditioner.memory(of);
            preconditioner.and(attempt.solver.memory(of))
        };
        let mut memory_here = memory(on_device);
        let vectors = memory_here.vectors.saturating_add(2);
        let vectors = vectors.saturating_mul(extent.rows).saturating_mul(columns);
        let host = match (on_device, memory_here.made_on_host) {
            (false, _) => 0,
            (true, false) => matrix,
            (true, true) => matrix.saturating_add(bytes(memory(false), extent)),
        };
        if on_device && !memory_here.replaces_matrix {
            memory_here.entry = memory_here.entry.saturating_add(ARRANGED);
        }
        Self {
            matrix,
            preconditioner: bytes(memory_here, extent),
            vectors: vectors.saturating_mul(extent.value_bytes),
            host,
        }
    }

    /// Of the whole process.
    pub fn total(&self) -> usize {
        self.beside_matrix()
            .saturating_add(self.matrix)
            .saturating_add(PROGRAM)
    }

    fn beside_matrix(&self) -> usize {
        self.preconditioner.saturating_add(self.vectors)
    }

    /// Fails where a solve that has not begun to make or read its matrix cannot fit: on a device, where that solves,
    /// and on the host, which makes the matrix either way.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`](crate::Error::NotEnoughMemory) with both numbers.
    pub fn check(&self, executor: &Executor, what: &str) -> Result<()> {
        if executor.is_device() {
            let matrix = || format!("the matrix of {what}");
            executor.on_host().check_need(matrix, self.host)?;
        }
        executor.check_need(|| format!("a solve of {what}"), self.total())
    }
}

/// What an attempt needs for the rows of a system that are here.
pub(super) fn need_of<T: Scalar>(
    attempt: &Attempt,
    system: &System<T>,
    columns: usize,
) -> MemoryNeed {
    let a = &system.matrix;
    let extent = Extent {
        rows: a.rows(),
        entries: a.nonzeros(),
        value_bytes: size_of::<T>(),
    };
    let near = system.near_nullspace.as_ref();
    MemoryNeed::of(attempt, extent, columns, near, a.executor())
}

/// Fails where the set-up and the vectors of an attempt do not fit beside the matrix. Ranks of one machine share its memory.
pub(super) fn check_attempt<T: Scalar>(
    attempt: &Attempt,
    system: &System<T>,
    columns: usize,
) -> Result<()> {
    let a = &system.matrix;
    let need = need_of(attempt, system, columns);
    let (solver, preconditioner) = (attempt.solver.name(), attempt.preconditioner.name());
    let what = || match preconditioner {
        "none" => format!("solver `{solver}`"),
        _ => format!("solver `{solver}` with preconditioner `{preconditioner}`"),
    };
    // The right-hand side is there.
    let there = size_of::<T>() * a.rows() * columns;
    let needed = need.beside_matrix().saturating_sub(there);
    let ranks = match a.executor().is_device() {
        true => 1,
        false => a.ranks_here()?,
    };
    a.agree(a.executor().check_need(what, needed.saturating_mul(ranks)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_has, matrix, ones, solve, system};
    use super::*;
    use crate::gallery;

    fn attempt(solver: &str, preconditioner: &str) -> Attempt {
        Attempt {
            solver: solver.parse().unwrap(),
            preconditioner: preconditioner.parse().unwrap(),
            preprocessing: Default::default(),
            preset: None,
            reason: String::new(),
            seconds: None,
            most_iterations: None,
        }
    }

    /// What the program holds on a host is compared by a test of the program.
    #[test]
    fn estimates_for_devices_are_near_what_was_measured() {
        // The most that solves have held on an H200, in MB.
        let on_device = [
            ("poisson7:128", "cg", "amg", 1355.9),
            ("poisson7:300", "cg", "amg", 12947.1),
            ("poisson27:160", "cg", "amg", 4322.7),
            ("aniso5:3000,0.001", "cg", "amg", 3369.3),
            ("elasticity:100x40x40", "cg", "amg", 1678.6),
            ("poisson7:200", "cg", "amg:pmis", 5196.8),
            ("convdiff7:128,10", "gmres", "amg", 2706.3),
            ("poisson7:300", "cg", "struct-mg", 8011.4),
            ("aniso5:3000,0.001", "cg", "struct-mg", 2011.1),
            ("poisson7:128", "cg", "jacobi", 468.3),
        ];
        for (problem, solver, preconditioner, measured) in on_device {
            let extent = gallery::extent(problem).unwrap();
            let nodes = problem.starts_with("elasticity");
            let attempt = attempt(solver, preconditioner);
            let need = MemoryNeed::estimated(&attempt, extent, 1, (nodes, true));
            let ratio = need.total() as f64 / 1e6 / measured;
            assert!(
                (0.7..1.3).contains(&ratio),
                "{problem} {preconditioner}: {ratio}"
            );
            assert!(need.host >= need.matrix);
        }
    }

    #[test]
    fn a_solve_that_cannot_fit_is_refused_with_both_numbers() {
        let a = system(matrix("poisson5:4"));
        let solved = solve("solver=gmres:1000000000000", &a, &ones(&a.matrix));
        if Executor::cpu().available_memory().is_some() {
            let expected = "solver `gmres` with preconditioner|needs about 128.0 TB";
            assert_has(solved.unwrap_err(), expected);
        }
    }

    #[test]
    fn nothing_is_too_large_to_be_estimated() {
        let extent = Extent::real(usize::MAX, usize::MAX);
        let gmres = attempt("gmres:1000", "amg");
        let need = MemoryNeed::of(&gmres, extent, usize::MAX, None, &Executor::reference());
        assert_eq!(need.total(), usize::MAX);
        let refused = need.check(&Executor::reference(), "everything");
        assert!(refused.is_err() || Executor::reference().available_memory().is_none());
    }
}
