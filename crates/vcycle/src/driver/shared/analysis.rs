//! What the entries of a matrix that ranks share tell that nobody has told.

use std::borrow::Cow;
use std::sync::Arc;

use super::system::SharedSystem;
use crate::configuration::Config;
use crate::driver::analysis::takes_nodes;
use crate::driver::implied;
use crate::error::Result;
use crate::matrix::{Distributed, Numbering};
use crate::multigrid::NearNullspace;
use crate::vector::{Coefficient, Vector};

/// A system as the automatic choice solves it over ranks: as on one, as far as rows need no other numbers for it.
#[derive(Debug)]
pub(super) struct Analysis {
    /// The system to solve.
    pub system: SharedSystem,
    /// What was found, a sentence each.
    pub messages: Vec<String>,
    negated: bool,
}

impl Analysis {
    /// Looks at a system that is solved as `config` says. All ranks call it together.
    pub fn new(config: &Config, given: &SharedSystem) -> Result<Self> {
        let mut analysis = Self {
            system: given.clone(),
            messages: Vec::new(),
            negated: false,
        };
        if config.solver.is_auto() || config.preconditioner.is_auto() {
            analysis.look_for_signs()?;
            if takes_nodes(config) {
                analysis.look_for_nodes()?;
            }
        }
        Ok(analysis)
    }

    fn look_for_signs(&mut self) -> Result<()> {
        let a = &self.system.matrix;
        if !is_negative(a)? {
            return Ok(());
        }
        self.system.matrix = Arc::new(a.team().agree(a.scale(-1.0))?);
        self.negated = true;
        let told = "every diagonal entry is negative: solved as -A x = -b";
        self.messages.push(told.to_owned());
        Ok(())
    }

    fn look_for_nodes(&mut self) -> Result<()> {
        let near = self.system.near_nullspace.as_ref();
        if near.map_or(1, NearNullspace::block_size) > 1 {
            return Ok(());
        }
        let a = &self.system.matrix;
        let vectors = near.map_or(&[][..], NearNullspace::vectors);
        let found = match a.unknowns_of_a_node()? {
            Some(size) => Some((size, "as the entries of the matrix show".to_owned())),
            None if vectors.is_empty() => None,
            None => implied_size(a, near)?.map(|size| {
                let count = vectors.len();
                (
                    size,
                    format!("as {count} vectors of the near-nullspace show"),
                )
            }),
        };
        let Some((size, source)) = found else {
            return Ok(());
        };
        let near = NearNullspace::new(size, vectors.to_vec());
        self.system.near_nullspace = Some(a.team().agree(near)?);
        let numbering = Numbering::NodeByNode;
        let told = format!("{size} unknowns a node, numbered {numbering}, {source}");
        self.messages.push(told);
        Ok(())
    }

    /// The right-hand side of that system.
    pub fn right_hand_side<'b>(&self, b: &'b Vector<f64>) -> Result<Cow<'b, Vector<f64>>> {
        let mut b = Cow::Borrowed(b);
        if self.negated {
            b.to_mut().scale(-Coefficient::one())?;
        }
        Ok(b)
    }
}

/// Whether every diagonal entry of every rank is negative.
fn is_negative(a: &Distributed<f64>) -> Result<bool> {
    let diagonal = a.local().diagonal_from(a.columns().own().start);
    let other = diagonal
        .iter()
        .take(a.size().rows)
        .any(|&entry| entry >= 0.0);
    Ok(a.rows().total() > 0 && !a.team().any(other)?)
}

/// The unknowns of a node that own rows of vectors are for, if those of all ranks say the same.
fn implied_size(a: &Distributed<f64>, near: Option<&NearNullspace>) -> Result<Option<usize>> {
    let nodes = near.and_then(implied::nodes);
    let nodes = nodes.filter(|nodes| nodes.numbering() == Numbering::NodeByNode);
    let own = nodes.map_or(0, |nodes| nodes.block_size());
    let is_empty = a.size().rows == 0;
    let all = a
        .team()
        .all_numbers(if is_empty { u64::MAX } else { own as u64 })?;
    let mut told = all.into_iter().filter(|&size| size != u64::MAX);
    let first = told.next().unwrap_or(0);
    Ok((first > 0 && told.all(|size| size == first)).then_some(first as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::config::solve_shared;
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::matrix::{Csr, Partition};

    /// Solves on so many ranks what only the entries of a matrix tell: messages, iterations.
    fn solved(whole: &Csr<f64>, block: u64, ranks: usize) -> (Vec<String>, usize) {
        let mut of_all = threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let even = Partition::even(whole.size().rows as u64, block, ranks);
            let a = Distributed::part_of(&rank, whole, even)?;
            let b = Vector::filled(&rank, a.size().rows, 1, 1.0)?;
            let system = SharedSystem::new(Arc::new(a));
            let ws = Workspace::new();
            let solution = solve_shared(&Config::default(), &system, &b, &ws)?;
            assert!(solution.outcome.converged());
            // The residual of what was given, not of what was solved in its place.
            let mut r = Vector::zeros_like(&b)?;
            crate::linop::LinOp::residual(system.matrix.as_ref(), &b, &solution.x, &mut r, &ws)?;
            assert!(r.norms()?[0] <= 1e-7 * b.norms()?[0]);
            Ok((solution.messages, solution.outcome.iterations))
        })
        .unwrap();
        of_all.swap_remove(0)
    }

    #[test]
    fn unknowns_of_a_node_are_found_over_ranks() {
        let whole = gallery::build("elasticity:10x5x5", &Executor::cpu())
            .unwrap()
            .matrix;
        let (_, alone) = solved(&whole, 3, 1);
        for ranks in [2, 3] {
            let (messages, iterations) = solved(&whole, 3, ranks);
            assert!(messages[0].starts_with("3 unknowns a node"), "{messages:?}");
            assert_eq!(iterations, alone);
        }
    }

    #[test]
    fn negative_definite_matrices_are_turned_over_ranks() {
        let whole = gallery::build("poisson5:20", &Executor::cpu())
            .unwrap()
            .matrix;
        let (_, expected) = solved(&whole, 1, 2);
        let (messages, iterations) = solved(&whole.scale(-1.0).unwrap(), 1, 2);
        assert!(messages[0].starts_with("every diagonal entry is negative"));
        assert_eq!(iterations, expected);
    }
}
