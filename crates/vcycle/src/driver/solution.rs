//! A solved system.

use std::time::Duration;

use crate::communicator::Traffic;
use crate::configuration::Config;
use crate::multigrid::Report;
use crate::stop::Outcome;
use crate::vector::Vector;

/// A solved system and how it was solved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution<T> {
    /// The solution, or the best guess: look at the outcome.
    pub x: Vector<T>,
    /// How the last attempt ended.
    pub outcome: Outcome,
    /// The configuration with every `auto` decided.
    pub config: Config,
    /// What `auto` chose, what failed and what was done about it.
    pub messages: Vec<String>,
    /// Time of all set-ups.
    pub setup: Duration,
    /// Time of all iterations.
    pub solving: Duration,
    /// Bytes of the stored matrix and of the preconditioner.
    pub bytes: usize,
    /// The levels, where the preconditioner is multigrid.
    pub multigrid: Option<Report>,
    /// What this rank has sent in all set-ups and in all iterations, where ranks share the system.
    pub traffic: Option<[Traffic; 2]>,
}
