//! What the entries of a matrix that ranks share tell that nobody has told.

use std::borrow::Cow;
use std::sync::Arc;

use super::constants;
use super::system::SharedSystem;
use crate::configuration::Config;
use crate::driver::implied;
use crate::error::Result;
use crate::matrix::{Distributed, Numbering};
use crate::multigrid::NearNullspace;
use crate::scalar::{Field, Scalar};
use crate::vector::{Coefficient, Vector};
use vcycle_core::matrix::WorkingScalar;

/// A system as the automatic choice solves it over ranks: as on one, as far as rows need no other numbers for it.
#[derive(Debug)]
pub(super) struct Analysis<T> {
    /// The system to solve.
    pub system: SharedSystem<T>,
    /// What was found, a sentence each.
    pub messages: Vec<String>,
    negated: bool,
    /// Whether constants are left out.
    singular: bool,
}

impl<T: WorkingScalar> Analysis<T> {
    /// Looks at a system that is solved as `config` says. All ranks call it together.
    pub fn new(config: &Config, given: &SharedSystem<T>) -> Result<Self> {
        let mut analysis = Self {
            system: given.clone(),
            messages: Vec::new(),
            negated: false,
            singular: constants::are_left_out(config.nullspace, &given.matrix)?,
        };
        if analysis.singular {
            let told = "singular: the matrix annihilates constants, which are left out of the right-hand side and of the solution";
            analysis.messages.push(told.to_owned());
        }
        if config.solver.is_auto() || config.preconditioner.is_auto() {
            analysis.look_for_signs()?;
            // Nobody has made levels for nodes of complex unknowns.
            if implied::takes_nodes(config) && !T::KIND.is_complex() {
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
        self.system.matrix = Arc::new(a.team().agree(a.scale(T::Arith::from_f64(-1.0)))?);
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

    /// Whether constants are left out.
    pub fn is_singular(&self) -> bool {
        self.singular
    }

    /// The right-hand side of that system.
    pub fn right_hand_side<'b>(&self, b: &'b Vector<T>) -> Result<Cow<'b, Vector<T>>> {
        let mut b = Cow::Borrowed(b);
        if self.negated {
            b.to_mut().scale(-Coefficient::one())?;
        }
        if self.singular {
            constants::take_out_of_rhs(&self.system.matrix, b.to_mut())?;
        }
        Ok(b)
    }

    /// Makes a solution of that system one of the system that was given.
    pub fn finish(&self, x: &mut Vector<T>) -> Result<()> {
        match self.singular {
            true => constants::take_out(&self.system.matrix, x),
            false => Ok(()),
        }
    }
}

/// Whether every diagonal entry of every rank is negative.
fn is_negative<T: Scalar>(a: &Distributed<T>) -> Result<bool> {
    let diagonal = a.local().diagonal_from(a.columns().own().start);
    let other = diagonal
        .iter()
        .take(a.size().rows)
        .any(|entry| entry.to_c64().re >= 0.0);
    Ok(a.rows().total() > 0 && !a.team().any(other)?)
}

/// The unknowns of a node that own rows of vectors are for, if those of all ranks say the same.
fn implied_size<T: Scalar>(
    a: &Distributed<T>,
    near: Option<&NearNullspace>,
) -> Result<Option<usize>> {
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

    /// A square of points with Neumann conditions all around.
    fn neumann(side: usize) -> Csr<f64> {
        let whole = gallery::poisson5([side, side], &Executor::cpu()).unwrap();
        let a = whole.matrix;
        let (offsets, columns) = (a.offsets().to_vec(), a.columns().to_vec());
        let value = |row: usize, place: usize| match columns[place] as usize == row {
            true => (a.row(row).0.len() - 1) as f64,
            false => -1.0,
        };
        let values = (0..a.size().rows).flat_map(|row| {
            let places = offsets[row]..offsets[row + 1];
            places.map(move |place| (row, place))
        });
        let values = values.map(|(row, place)| value(row, place)).collect();
        Csr::with_pattern(a.pattern(), values).unwrap()
    }

    #[test]
    fn constants_are_left_out_over_ranks() {
        let whole = neumann(20);
        let mut iterations = Vec::new();
        for ranks in [1, 2, 3] {
            let mut solved = threads::run(ranks, |team| {
                let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                let even = Partition::even(400, 1, ranks);
                let own = even.range(team.rank());
                let a = Arc::new(Distributed::part_of(&rank, &whole, even)?);
                let b = own.map(|row| row as f64 / 100.0).collect();
                let b = Vector::from_column(&rank, b);
                let system = SharedSystem::new(Arc::clone(&a));
                let ws = Workspace::new();
                let solution = solve_shared(&Config::default(), &system, &b, &ws)?;
                assert!(solution.outcome.converged(), "{}", solution.outcome);
                assert!(solution.messages[0].starts_with("singular"));
                let mean: f64 = solution.x.to_vec().iter().sum();
                let mut mean = [mean];
                a.team().sum(&mut mean)?;
                assert!(mean[0].abs() < 1e-8);
                Ok(solution.outcome.iterations)
            });
            iterations.push(solved.as_mut().unwrap().swap_remove(0));
        }
        assert!(
            iterations
                .iter()
                .all(|&count| count.abs_diff(iterations[0]) <= 1)
        );
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
