//! What the entries of a matrix show beyond what was given, and the system that is solved for it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vcycle_core::matrix::WorkingScalar;

use super::case::SMALL;
use super::entries::{largest, power_of_two_below};
use super::modes;
use super::reduction::Reduction;
use super::{Solution, System, SystemMatrix, Wide};
use crate::configuration::{Config, Nullspace, SolverConfig, Sort};
use crate::error::Result;
use crate::matrix::{Nodes, Numbering};
use crate::multigrid::NearNullspace;
use crate::programs;
use crate::scalar::Scalar;
use crate::stop::Status;
use crate::vector::{Coefficient, Vector};

/// A system as the automatic choice solves it.
///
/// Where entries are larger than 1e30 or smaller than 1e-30, the matrix is multiplied by a power of two. Where the solver or the
/// preconditioner is `auto`:
/// - `A x = b` is solved as `-A x = -b` where every diagonal entry is negative, as those of a negative definite matrix are.
/// - Rows and columns with one entry are solved by substitution, and taken out with rows and columns of zeros.
/// - The unknowns of a node are [found](Nodes::find), or taken from the vectors of the near-nullspace, and
///   numbered node by node.
///
/// What was found is in [`messages`](Self::messages). Solution, residuals and history are those of the
/// system that was given.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{config::{Analysis, Config, System}, executor::Executor, gallery};
/// let a = gallery::build("poisson5:8", &Executor::cpu())?.matrix.scale(-1.0)?;
/// let system = System::new(Arc::new(a));
/// let analysis = Analysis::new(&Config::default(), &system)?;
/// assert!(analysis.messages()[0].starts_with("every diagonal entry is negative"));
/// assert_eq!(analysis.system().matrix.whole()?.entry(0, 0), Some(4.0));
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Analysis<'s, T> {
    given: &'s System<T>,
    /// What takes its place.
    better: Option<System<T>>,
    pub(super) transform: SystemTransform,
    /// What is substituted before all else.
    pub(super) reduction: Option<Arc<Reduction<T>>>,
    messages: Vec<String>,
    pub(super) time: Duration,
}

/// How vectors become those of the system that takes the place of the one that was given.
#[derive(Clone, Debug, Default)]
pub(super) struct SystemTransform {
    /// Whether solver or preconditioner is `auto`.
    automatic: bool,
    negated: bool,
    /// What the matrix is multiplied by.
    factor: Option<f64>,
    /// How the unknowns are numbered anew.
    nodes: Option<Nodes>,
}

impl SystemTransform {
    /// Whether solutions are those of the system that was given.
    pub fn keeps_solutions(&self) -> bool {
        self.nodes.is_none() && self.factor.is_none()
    }

    /// A right-hand side.
    pub fn right_hand_side<'b, T: WorkingScalar>(
        &self,
        b: &'b Vector<T>,
    ) -> Result<Cow<'b, Vector<T>>> {
        let mut b = self.gathered(b)?;
        if self.negated {
            b.to_mut().scale(-Coefficient::one())?;
        }
        Ok(b)
    }

    /// An initial guess.
    pub fn guess<'x, T: WorkingScalar>(&self, x: &'x Vector<T>) -> Result<Cow<'x, Vector<T>>> {
        let mut x = self.gathered(x)?;
        if let Some(factor) = self.factor {
            x.to_mut().scale(Coefficient::real(factor.recip()))?;
        }
        Ok(x)
    }

    fn gathered<'x, T: WorkingScalar>(&self, x: &'x Vector<T>) -> Result<Cow<'x, Vector<T>>> {
        Ok(match &self.nodes {
            None => Cow::Borrowed(x),
            Some(nodes) => Cow::Owned(nodes.gather(x)?),
        })
    }

    /// A solution of the system that was given.
    pub fn solution<T: WorkingScalar>(&self, x: Vector<T>) -> Result<Vector<T>> {
        let mut x = match &self.nodes {
            None => x,
            Some(nodes) => nodes.scatter(&x)?,
        };
        if let Some(factor) = self.factor {
            x.scale(Coefficient::real(factor))?;
        }
        Ok(x)
    }

    /// The solution of the system that was given, and what is wrong with that where it was not found.
    pub fn undo<T: WorkingScalar>(
        &self,
        given: &System<T>,
        mut solution: Solution<T>,
    ) -> Result<Solution<T>> {
        solution.x = self.solution(solution.x)?;
        if self.factor.is_some() {
            solution.outcome.check_finite(&largest(&solution.x)?);
        }
        let indefinite = matches!(solution.outcome.status, Status::Indefinite(_));
        if !self.automatic && indefinite && given.matrix.is_negative()? {
            let why = "every diagonal entry of the matrix is negative: solve -A x = -b, as is done where solver or \
                       preconditioner is `auto`";
            solution.messages.push(why.to_owned());
        }
        // Before a solve on a device this would take the host longer than the solve.
        let on_device = given.matrix.executor().is_device();
        if self.automatic && on_device && !solution.outcome.converged() {
            solution.messages.extend(given.matrix.defects());
        }
        Ok(solution)
    }
}

impl<'s, T: Wide> Analysis<'s, T> {
    /// Looks at a system that is solved as `config` says.
    ///
    /// # Errors
    /// When memory is short or a device fails.
    pub fn new(config: &Config, given: &'s System<T>) -> Result<Self> {
        let begin = Instant::now();
        programs::expect(given.matrix.executor());
        let mut analysis = Self {
            given,
            better: None,
            transform: SystemTransform {
                automatic: config.solver.is_auto() || config.preconditioner.is_auto(),
                ..SystemTransform::default()
            },
            reduction: None,
            messages: Vec::new(),
            time: Duration::ZERO,
        };
        if may_reduce(config, given) {
            analysis.look_for_single_entries(config)?;
        }
        analysis.look_for_size()?;
        let size = given.matrix.size();
        if analysis.transform.automatic && size.rows == size.cols {
            analysis.look_for_signs()?;
            // Over ranks there are no levels for nodes of complex unknowns.
            let has_levels = given.matrix.shared().is_none() || !T::KIND.is_complex();
            if takes_nodes(config) && has_levels {
                analysis.look_for_nodes()?;
            }
        }
        analysis.time = begin.elapsed();
        Ok(analysis)
    }

    /// The system to solve.
    pub fn system(&self) -> &System<T> {
        self.better.as_ref().unwrap_or(self.given)
    }

    /// What was found, a sentence each.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// Takes out rows and columns with one entry, unless a stencil would be lost by it.
    fn look_for_single_entries(&mut self, config: &Config) -> Result<()> {
        let given = self.given;
        let Some(reduction) = Reduction::find(given.matrix.whole()?)? else {
            return Ok(());
        };
        let is_needed = reduction.has_zeros();
        if !is_needed && given.matrix.rows() <= SMALL {
            return Ok(());
        }
        let better = reduction.system(given)?;
        let is_stencil = |system: &System<T>| system.matrix.stencil(config).is_some();
        if !is_needed && is_stencil(given) && !is_stencil(&better) {
            return Ok(());
        }
        self.messages.extend(reduction.messages());
        (self.better, self.reduction) = (Some(better), Some(Arc::new(reduction)));
        Ok(())
    }

    /// Multiplies the matrix by a power of two, which changes no digit, where entries are so large or small that products of
    /// them may be no numbers.
    fn look_for_size(&mut self) -> Result<()> {
        let system = self.system();
        let Some(largest) = system.matrix.extreme_entry()? else {
            return Ok(());
        };
        let factor = power_of_two_below(largest).recip();
        let mut better = System {
            matrix: system.matrix.scaled(factor)?,
            ..system.clone()
        };
        self.transform.factor = Some(factor);
        let guess = better.guess.as_ref();
        let guess = guess.map(|guess| self.transform.guess(guess)).transpose()?;
        better.guess = guess.map(Cow::into_owned);
        self.better = Some(better);
        let message =
            format!("entries of up to {largest:.0e}: the matrix is multiplied by a power of two");
        self.messages.push(message);
        Ok(())
    }

    fn look_for_signs(&mut self) -> Result<()> {
        let system = self.system();
        let a = &system.matrix;
        if a.is_negative()? {
            let minus = System {
                matrix: a.scaled(-1.0)?,
                ..system.clone()
            };
            (self.better, self.transform.negated) = (Some(minus), true);
            let message = "every diagonal entry is negative: solved as -A x = -b";
            self.messages.push(message.to_owned());
        } else if !a.executor().is_device() {
            let defects = a.defects();
            self.messages.extend(defects);
        }
        Ok(())
    }

    fn look_for_nodes(&mut self) -> Result<()> {
        let system = self.system();
        let near = system.near_nullspace.as_ref();
        let given = near.map_or(1, NearNullspace::block_size);
        if given > 1 && system.matrix.shared().is_some() {
            // Rows that ranks share are not renumbered.
            return Ok(());
        }
        let vectors = near.filter(|near| !near.vectors().is_empty());
        let fits = vectors.is_none_or(|near| fits(near, system.matrix.rows()));
        let vectors = match system.matrix.any(!fits)? {
            true => None,
            false => vectors,
        };
        let (found, source) = match (system.matrix.nodes()?, vectors) {
            (Some(nodes), _) => (nodes, "as the entries of the matrix show".to_owned()),
            (None, Some(near)) if given == 1 => {
                let Some(nodes) = system.matrix.implied_nodes(near)? else {
                    return Ok(());
                };
                let count = near.vectors().len();
                (
                    nodes,
                    format!("as {count} vectors of the near-nullspace show"),
                )
            }
            (None, _) => return Ok(()),
        };
        // What was given is kept, but for the order of the rows.
        let is_in_order = found.numbering() == Numbering::NodeByNode;
        if given > 1 && (given != found.block_size() || is_in_order) {
            return Ok(());
        }
        let better = system.matrix.agree(numbered(system, &found, vectors))?;
        let (size, numbering) = (found.block_size(), found.numbering());
        let added = match found.missing() {
            0 => String::new(),
            missing => format!("; {missing} unknowns that nodes lack are added"),
        };
        self.messages.push(format!(
            "{size} unknowns a node, numbered {numbering}, {source}{added}"
        ));
        self.better = Some(better);
        self.transform.nodes = (!is_in_order).then_some(found);
        Ok(())
    }

    /// Adds the messages and the time to those of the solution.
    pub(super) fn report(self, solution: &mut Solution<T>) {
        solution.messages.splice(..0, self.messages);
        solution.setup += self.time;
    }
}

/// Whether rows and columns may be taken out: where the host has all of them, and nothing that was given is for the matrix as
/// it is.
fn may_reduce<T: Scalar>(config: &Config, given: &System<T>) -> bool {
    let SystemMatrix::Whole(a) = &given.matrix else {
        return false;
    };
    let near = given.near_nullspace.as_ref();
    let fits = near.is_none_or(|near| near.block_size() == 1 && fits(near, a.size().rows));
    let is_open =
        config.preconditioner.is_auto() && !matches!(config.solver, SolverConfig::Direct(_));
    let is_square = a.size().rows == a.size().cols;
    is_open && config.nullspace == Nullspace::Auto && fits && is_square && !a.executor().is_device()
}

/// Whether the preconditioner may be multigrid for nodes.
fn takes_nodes(config: &Config) -> bool {
    match config.preconditioner.sort() {
        Sort::Auto => true,
        Sort::Amg(amg) => amg.block_size == 1,
        Sort::None | Sort::StructMg(_) | Sort::Iterations | Sort::OfEntries => false,
    }
}

/// Whether vectors have so many rows; otherwise the set-up says so.
fn fits(near: &NearNullspace, rows: usize) -> bool {
    near.vectors().iter().all(|vector| vector.len() == rows)
}

/// The system with its rows numbered node by node.
fn numbered<T: Scalar>(
    system: &System<T>,
    nodes: &Nodes,
    vectors: Option<&NearNullspace>,
) -> Result<System<T>> {
    let size = nodes.block_size();
    let renumbered = nodes.numbering() != Numbering::NodeByNode;
    let vectors = match vectors {
        None if nodes.missing() == 0 => Vec::new(),
        None => (0..size)
            .map(|component| nodes.constant(component))
            .collect(),
        // Modes made from coordinates are numbered node by node, whatever the matrix.
        Some(near)
            if !renumbered || modes::numbering(near, size) == Some(Numbering::NodeByNode) =>
        {
            near.vectors().to_vec()
        }
        Some(near) => {
            let vectors = near.vectors().iter();
            vectors.map(|vector| nodes.gather_rows(vector, 1)).collect()
        }
    };
    let near = NearNullspace::new(size, vectors)?;
    if !renumbered {
        return Ok(system.clone().with_near_nullspace(near));
    }
    Ok(System {
        matrix: system.matrix.renumbered(nodes)?,
        near_nullspace: Some(near),
        guess: match &system.guess {
            None => None,
            Some(guess) => Some(nodes.gather(guess)?),
        },
        single: system.single,
    })
}

#[cfg(test)]
mod tests;
