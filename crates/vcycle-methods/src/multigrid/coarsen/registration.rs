//! The input of coarsenings, and their registrations.

use std::fmt::Debug;

use super::CoarseUnknowns;
use super::choice::Choice;
use super::nearby::Nearby;
use crate::multigrid::own::limits;
use crate::operations::HostStage;
use crate::prelude::*;

/// The input of a coarsening.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Graph<'g> {
    /// The matrix of the level, or that of its nodes.
    pub a: &'g Csr<f64>,
    /// Its strong couplings.
    pub strength: &'g Arc<Pattern>,
    /// Members of a group, for coarsenings with this option.
    pub aggregate_size: usize,
    /// Whether weak couplings form pairs as well, for groups of pairs.
    pub weak_pairs: bool,
    /// The seed of random numbers that break ties.
    pub seed: u64,
    /// The rows of other ranks.
    pub(in crate::multigrid) near: &'g Nearby,
    /// The executor of the matrix of all ranks.
    pub(in crate::multigrid) rank: &'g Executor,
}

/// A user-defined coarsening: [`Coarsening::own`](super::Coarsening::own) and
/// [`Coarsening::register`](super::Coarsening::register) take it.
pub trait Coarsen: Debug + Send + Sync {
    /// Its name in reports, and in options and files once it is registered.
    fn name(&self) -> &'static str;

    /// Whether it forms groups of unknowns instead of choosing some.
    fn groups(&self) -> bool;

    /// Chooses or groups the unknowns of a level.
    ///
    /// # Errors
    /// When that fails; the set-up ends with it.
    fn coarsen(&self, graph: &Graph<'_>) -> Result<CoarseUnknowns>;
}

/// The properties of a coarsening, declared in its file. Options, help, errors and messages are made from them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoarseningRegistration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it forms groups of unknowns instead of choosing some.
    pub groups: bool,
    /// The options of multigrid that it reads.
    pub reads: &'static [&'static str],
    /// Whether interpolation of complex matrices can use it.
    pub complex: bool,
    /// Stages that run on the host for matrices of a device.
    pub on_host: &'static [HostStage],
    /// Whether it works over ranks, which call it together, each for its own rows.
    pub over_ranks: bool,
    pub(in crate::multigrid) coarsen: fn(&Graph<'_>) -> Result<Choice>,
}

impl CoarseningRegistration {
    /// Its limits, as text for help.
    pub fn limits(&self) -> String {
        limits(self.over_ranks, self.complex, self.on_host)
    }
}
