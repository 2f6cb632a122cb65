//! What coarsenings look at, and say of themselves.

use std::fmt::Debug;
use std::sync::Arc;

use super::CoarseUnknowns;
use super::choice::Choice;
use super::nearby::Nearby;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::{Csr, Pattern};
use crate::multigrid::own::limits;
use crate::operations::HostStage;

/// What a coarsening looks at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Graph<'g> {
    /// The matrix of the level, or that of its nodes.
    pub a: &'g Csr<f64>,
    /// Its strong couplings.
    pub strength: &'g Arc<Pattern>,
    /// Members of a group, where that can be chosen.
    pub aggregate_size: usize,
    /// Whether weak couplings make pairs, too, where groups are made of pairs.
    pub weak_pairs: bool,
    /// Of random numbers that break ties.
    pub seed: u64,
    /// Which of the rows are those of other ranks.
    pub(in crate::multigrid) near: &'g Nearby,
    /// Where the matrix of all ranks is.
    pub(in crate::multigrid) rank: &'g Executor,
}

/// A coarsening of one's own: [`Coarsening::own`](super::Coarsening::own) and
/// [`Coarsening::register`](super::Coarsening::register) take it.
pub trait Coarsen: Debug + Send + Sync {
    /// Its name in reports, and in options and files once it is registered.
    fn name(&self) -> &'static str;

    /// Whether it groups unknowns, and does not choose among them.
    fn groups(&self) -> bool;

    /// Chooses or groups the unknowns of a level.
    ///
    /// # Errors
    /// When that fails; the set-up ends with it.
    fn coarsen(&self, graph: &Graph<'_>) -> Result<CoarseUnknowns>;
}

/// What a coarsening says of itself, in its own file. Every field is asked for: options, help, refusals and messages are
/// made of them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoarseningRegistration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it groups unknowns, and does not choose among them.
    pub groups: bool,
    /// The options of multigrid that it reads.
    pub reads: &'static [&'static str],
    /// Whether interpolation of complex matrices can go by it.
    pub complex: bool,
    /// What of it the host does for matrices of a device.
    pub on_host: &'static [HostStage],
    /// Whether it is for own rows of a matrix that ranks share, which call it together.
    pub over_ranks: bool,
    pub(in crate::multigrid) coarsen: fn(&Graph<'_>) -> Result<Choice>,
}

impl CoarseningRegistration {
    /// What it does not declare to be for, in words for help.
    pub fn limits(&self) -> String {
        limits(self.over_ranks, self.complex, self.on_host)
    }
}
